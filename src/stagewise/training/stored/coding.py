"""How the rows of a dataset become codes in a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import BinLayout
from stagewise.data import Features
from stagewise.training.stored.dataset_encoder import EncodedColumns
from stagewise.training.stored.dataset_rows import Codings
from stagewise.training.stored.fill_store import Append

__all__ = ["Coding", "ConstantFeatures"]


@dataclass(frozen=True)
class Coding:
    """How the rows of a dataset become codes.

    Attributes
    ----------
    features : Features
        The description of the columns.
    codings : list of arrays
        Of each column, cuts or the bins of categories.
    layout : BinLayout
        The codes of the training rows.
    encoded : EncodedColumns or None
        Their target-encoded columns; None: there are none.
    """

    features: Features
    codings: Codings
    layout: BinLayout
    encoded: EncodedColumns | None

    @property
    def append(self) -> Append:
        """Appends columns to those of a batch of training rows; see `fill_store`."""
        return _append_nothing if self.encoded is None else self.encoded.append

    def append_to_others(self, columns: Any, _present: Any, _first: int) -> Any:
        """Append columns to those of a batch of other rows."""
        return self.features.append_encoded(columns)


def _append_nothing(columns: Any, _present: Any, _first: int) -> Any:
    return columns


@dataclass(frozen=True)
class ConstantFeatures:
    """Which features have one value only, of rows that are not in memory.

    Parameters
    ----------
    layout : BinLayout
        The bins of the features.
    has_values : bool array
        Whether each feature has a value that is not missing.
    """

    layout: BinLayout
    has_values: npt.NDArray[np.bool_]

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.layout.n_features

    def value_bins(self, feature: int) -> int:
        """Return the number of bins, without that of missing values."""
        return self.layout.value_bins(feature)

    def has_missing(self, feature: int) -> bool:
        """Return whether a feature has missing values."""
        return self.layout.has_missing(feature)

    def is_constant(self, feature: int) -> bool:
        """Return whether all rows are in one bin; that of missing values counts."""
        if not self.has_values[feature]:
            return True
        return self.value_bins(feature) <= 1 and not self.has_missing(feature)
