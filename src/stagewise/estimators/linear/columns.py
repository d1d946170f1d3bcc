"""Reads X into the design matrix of a linear model.

Tables are read as for trees, with the same names, categories and errors. Missing values, infinite
values and unknown categories are errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data import Features, Table, UnknownCategories
from stagewise.data.bins import core_columns
from stagewise.data.reading.column import Array
from stagewise.data.reading.frame import open_frame
from stagewise.data.reading.sparse import SparseCells
from stagewise.linear.componentwise import is_constant
from stagewise.linear.design import Design
from stagewise.model.model import Model
from stagewise.training.reading.feature_reader import FeatureReader
from stagewise.training.reading.row_set import RowSet, rows_with_weight
from stagewise.training.reading.target_reader import NumberReader
from stagewise.training.specs import InputSpec
from stagewise.validation.messages import short_repr

__all__ = ["LinearRows", "linear_reader", "match_linear", "read_linear"]


@dataclass(frozen=True)
class LinearRows:
    """The rows of a fit of a linear model.

    Parameters
    ----------
    design : Design
        The columns that have coefficients.
    matrix : float64 array of shape (n_columns, n_rows)
        Their values in the rows of positive weight.
    rows : RowSet
        Target and weights of these rows.
    y : float64 array
        The targets of all rows that were passed.
    constant : list of str
        The features with one value.
    """

    design: Design
    matrix: npt.NDArray[np.float64]
    rows: RowSet
    y: npt.NDArray[np.float64]
    constant: list[str]


def linear_reader(
    params: Mapping[str, Any], caller: str, previous: Model | None = None
) -> FeatureReader:
    """Return the reader of X for linear models.

    A category that only validation rows have gets no dummy variable.
    """
    spec = InputSpec(categorical_features=params["categorical_features"], handle_unknown="prior")
    return FeatureReader(spec, caller, None if previous is None else previous.features)


def read_linear(
    X: Any, y: Any, sample_weight: Any, params: Mapping[str, Any], caller: str
) -> LinearRows:
    """Read the arguments of `fit`; X=None is a table without columns.

    Raises
    ------
    ValueError, TypeError
        If X or y cannot be read; the message names the column, the row and the remedy.
    """
    reader = linear_reader(params, caller)
    table = reader.read(X) if X is not None else Table(np.empty((_length(y), 0)), _length(y), 0)
    target = NumberReader(caller).read(y, sample_weight, table.n_rows)
    rows = rows_with_weight(target.weight)
    features, columns, _ = reader.learn(table, target.weight, rows, None)
    design = Design.of(features)
    chosen = RowSet.choose(columns, rows, target.y, target.weight)
    matrix = design.matrix(chosen.table(), rows)
    design.check_spread(matrix)
    constant = [
        name
        for name, places in zip(design.feature_names(), design.places, strict=True)
        if all(is_constant(matrix[place]) for place in places)
    ]
    return LinearRows(design, matrix, chosen, target.y, constant)


def match_linear(features: Features, X: Any, caller: str) -> Array | list[Array] | SparseCells:
    """Return the columns of new rows, which have finite numbers and known categories.

    A model without features ignores the columns of X.
    """
    if not features.n:
        frame = open_frame(X, caller)
        return np.empty((_length(X) if frame is None else frame.shape[0], 0))
    unknown = UnknownCategories("error")
    values = features.columns(features.read(X, caller), unknown)
    unknown.refuse(features.names, "leave these rows out: such a category has no coefficient")
    Design.of(features).check(core_columns(values))
    return values


def _length(rows: Any) -> int:
    """Return the number of rows of an array or a sequence."""
    shape = np.shape(rows)
    if not shape:
        raise ValueError(
            "A model without features needs the number of rows: pass an array, a list or a data "
            f"frame with one row for each; got {short_repr(rows)}."
        )
    if not shape[0]:
        raise ValueError("A model without features needs at least one row; y has none.")
    return int(shape[0])
