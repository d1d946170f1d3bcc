"""From the X that `fit` was given to features and their columns.

The one idea: a fit learns what its columns are from the training rows alone, and a fit that is
continued is held to what the model already knows of them, as new data are. Must not know targets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, SparseColumns
from stagewise.data import (
    NO_ROWS,
    CategoricalFeatures,
    Features,
    MissingValues,
    Table,
    UnknownCategories,
    read_table,
)
from stagewise.data.bins import core_columns

__all__ = ["Learned", "learn_columns", "match_columns", "read_training"]

Indices = npt.NDArray[np.uint32]


class Learned(NamedTuple):
    """What a fit knows of its columns.

    Parameters
    ----------
    features : Features
        What the model will remember.
    columns : Columns or SparseColumns
        All rows, as the core reads them.
    unseen : Unseen
        Values that are no levels, and what became of them.
    """

    features: Features
    columns: Columns | SparseColumns
    unseen: UnknownCategories


def read_training(X: Any, params: dict[str, Any], caller: str, known: Features | None) -> Table:
    """Read X; where a model is continued, as the table that its features describe.

    Raises
    ------
    ValueError
        If X cannot be read, or the parameters contradict the features that are known.
    """
    missing = MissingValues.of(params["missing_values"])
    categorical = CategoricalFeatures(params["categorical_features"])
    if known is None:
        return read_table(X, caller=caller, missing_values=missing, categorical=categorical)
    anew = "Fit with warm_start=False to begin anew."
    if missing != known.missing_values:
        raise ValueError(
            f"warm_start continues a model with missing_values="
            f"{list(known.missing_values.values)}, but now they are {list(missing.values)}. {anew}"
        )
    if categorical.is_explicit:
        places = sorted(categorical.named_positions(known.names, known.n))
        if places != sorted(known.categorical):
            raise ValueError(
                "warm_start continues a model whose categorical columns are "
                f"{_listed(known, sorted(known.categorical))}, but categorical_features says "
                f"{_listed(known, places)}. {anew}"
            )
    return known.read(X, caller)


def learn_columns(
    table: Table,
    params: dict[str, Any],
    known: Features | None,
    weight: npt.NDArray[np.float64] | None,
    rows: Indices | None,
    held: Indices | None,
) -> Learned:
    """Learn the features of a table from some of its rows, unless they are known.

    Parameters
    ----------
    table : Table
        As `read_training` gave it.
    params : dict
        The estimator's parameters.
    known : Features or None
        Those of the model that is continued.
    weight : float64 array, or None
        How often each row of the table counts.
    rows, held : uint32 array, or None
        The rows to learn from (None: all), and those that the fit holds out (None: none).
    """
    rule = params["on_unseen"]
    if known is None:
        features = Features.learn(table, max_bins=params["max_bins"], rows=rows, weight=weight)
        # Of the rows that count, only one that is held out can hold a value that is no level. The
        # fit itself chose it, so it is not refused.
        unseen = UnknownCategories(rule, NO_ROWS if held is None else held)
        return Learned(features, core_columns(features.columns(table, unseen)), unseen)
    counted = rows if rows is None or held is None else np.concatenate([rows, held])
    unseen = UnknownCategories(rule, counted)
    columns = core_columns(known.columns(table, unseen))
    unseen.refuse(known.names)
    return Learned(known, columns, unseen)


def match_columns(
    table: Table, params: dict[str, Any], features: Features, rows: Indices | None
) -> Learned:
    """Hold a table of rows to stop early by, of which some count, to the features of a fit."""
    unseen = UnknownCategories(params["on_unseen"], rows)
    columns = core_columns(features.columns(table, unseen))
    try:
        unseen.refuse(features.names)
    except ValueError as error:
        raise ValueError(f"In X_val: {error}") from None
    return Learned(features, columns, unseen)


def _listed(features: Features, places: list[int]) -> str:
    names = features.names
    return str([place if names is None else names[place] for place in places])
