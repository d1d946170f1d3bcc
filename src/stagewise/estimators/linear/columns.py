"""From the X of a linear model to the columns that have coefficients.

The one idea: tables are read as for trees, with the same names, levels and errors; what a linear
model has no answer for (missing and infinite cells, levels it has not seen) is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data import Features, UnknownCategories, as_frequencies, check_weight, read_target
from stagewise.data.bins import core_columns
from stagewise.data.reading.column import Array
from stagewise.data.reading.sparse import SparseCells
from stagewise.linear.design import Design
from stagewise.training.columns import learn_columns, read_training
from stagewise.training.row_set import Sample, counted_rows

__all__ = ["READING", "LinearRows", "match_linear", "read_linear"]

READING: Mapping[str, Any] = MappingProxyType(
    {"missing_values": (), "on_unseen": "prior", "max_bins": 255}
)
"""How linear models read tables: a level that only rows to stop early by have gets no dummy."""


@dataclass(frozen=True)
class LinearRows:
    """The rows of a fit.

    Parameters
    ----------
    design : Design
        The columns that have coefficients.
    matrix : float64 array of shape (n_columns, n_rows)
        Their values in the rows that count.
    sample : Sample
        Target and weights of these rows.
    y : float64 array
        The targets of all rows that were given.
    """

    design: Design
    matrix: npt.NDArray[np.float64]
    sample: Sample
    y: npt.NDArray[np.float64]


def read_linear(
    X: Any, y: Any, sample_weight: Any, params: Mapping[str, Any], caller: str
) -> LinearRows:
    """Read what `fit` was given.

    Raises
    ------
    ValueError, TypeError
        Naming the column, the row and the remedy.
    """
    reading = {**params, **READING}
    table = read_training(X, reading, caller, None)
    target = read_target(y, table.n_rows, caller=caller)
    weight = check_weight(sample_weight, table.n_rows)
    weight = None if weight is None else as_frequencies(weight)
    rows = counted_rows(weight)
    features, columns, _ = learn_columns(table, reading, None, weight, rows, None)
    design = Design.of(features)
    sample = Sample.choose(columns, rows, target, weight)
    matrix = design.matrix(sample.table(), rows)
    design.check_spread(matrix)
    return LinearRows(design, matrix, sample, target)


def match_linear(features: Features, X: Any, caller: str) -> Array | list[Array] | SparseCells:
    """Return the columns of new rows, all of them with numbers and levels that are known."""
    unseen = UnknownCategories("error")
    values = features.columns(features.read(X, caller), unseen)
    unseen.refuse(features.names, "leave these rows out: such a level has no coefficient")
    Design.of(features).check(core_columns(values))
    return values
