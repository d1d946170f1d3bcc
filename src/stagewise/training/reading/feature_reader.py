"""Reading X into columns with names and types, which the model keeps.

A fit learns the columns from its training rows alone. A fit that is continued matches X to the
columns of its model, as new data are matched.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

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
from stagewise.training.reading.training_data import ReadTable
from stagewise.training.specs import InputSpec

__all__ = ["FeatureReader"]

Indices = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class FeatureReader:
    """Reads tables of numbers and categories.

    Parameters
    ----------
    spec : InputSpec
        Which values are missing, which columns are categorical, how unknown categories are handled.
    caller : str
        The estimator's name, for messages.
    known : Features or None
        The columns of the model that the fit continues.
    """

    spec: InputSpec
    caller: str
    known: Features | None = None

    def read(self, X: Any) -> Table:
        """Return the table of X.

        Raises
        ------
        ValueError
            If X cannot be read, or the parameters contradict the columns of a continued model.
        """
        known = self.known
        missing = MissingValues.of(self.spec.missing_values)
        categorical = CategoricalFeatures(self.spec.categorical_features)
        if known is None:
            return read_table(
                X, caller=self.caller, missing_values=missing, categorical=categorical
            )
        anew = "Fit with warm_start=False to start a new model."
        if missing != known.missing_values:
            raise ValueError(
                f"warm_start continues a model with missing_values="
                f"{list(known.missing_values.values)}, but now they are {list(missing.values)}. "
                f"{anew}"
            )
        self._check_categorical(categorical, known, anew)
        return known.read(X, self.caller)

    def _check_categorical(
        self, categorical: CategoricalFeatures, known: Features, anew: str
    ) -> None:
        """Raise ValueError if listed columns are not categorical in the model, or None is."""
        if categorical.selection is not None and not categorical.is_listed:
            return
        places = categorical.named_positions(known.names, known.n)
        if not places <= known.categorical or (categorical.selection is None and known.categorical):
            raise ValueError(
                "warm_start continues a model whose categorical columns are "
                f"{_listed(known, sorted(known.categorical))}, but categorical_features is "
                f"{_listed(known, sorted(places))}. {anew}"
            )

    def learn(
        self,
        table: Table,
        weight: npt.NDArray[np.float64] | None,
        rows: Indices | None,
        held: Indices | None,
    ) -> ReadTable:
        """Return the columns of the training table.

        Parameters
        ----------
        table : Table
            As `read` returned it.
        weight : float64 array or None
            The weights of its rows.
        rows, held : uint32 array or None
            The rows to learn from (None: all), and the held-out rows (None: none).
        """
        rule, known = self.spec.handle_unknown, self.known
        if known is None:
            features = Features.learn(table, max_bins=self.spec.max_bins, rows=rows, weight=weight)
            # Only rows that the fit itself holds out can have unknown categories, which it accepts.
            unknown = UnknownCategories(rule, NO_ROWS if held is None else held)
            columns = core_columns(features.columns(table, unknown))
            return ReadTable(features, columns, unknown.rows_per_column)
        counted = rows if rows is None or held is None else np.concatenate([rows, held])
        unknown = UnknownCategories(rule, counted)
        columns = core_columns(known.columns(table, unknown))
        unknown.refuse(known.names)
        return ReadTable(known, columns, unknown.rows_per_column)

    def read_validation(self, X: Any, features: Features) -> Table:
        """Return the table of evaluation rows."""
        return features.read(X, self.caller)

    def match(self, table: Table, features: Features, rows: Indices | None) -> ReadTable:
        """Return the columns of evaluation rows."""
        unknown = UnknownCategories(self.spec.handle_unknown, rows)
        columns = core_columns(features.columns(table, unknown))
        unknown.refuse(features.names)
        unknown.warn_if_many(features.names, "evaluation rows")
        return ReadTable(features, columns, unknown.rows_per_column)

    def missing_counts(self, table: Table) -> Counter[int]:
        """Return the number of values that were taken as missing, by column."""
        return Counter(table.taken_as_missing)


def _listed(features: Features, places: list[int]) -> str:
    names = features.names
    return str([place if names is None else names[place] for place in places])
