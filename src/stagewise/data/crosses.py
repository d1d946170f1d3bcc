"""Feature crosses: columns that are the difference, ratio or product of two features.

A tree approximates a condition such as a > b by many splits of a and of b. With the column a - b it
is one split. Crosses are computed from the values of a row alone, so nothing is learned from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns

__all__ = ["OPERATIONS", "Cross"]

Vector = npt.NDArray[np.float64]

_FUNCTIONS: Mapping[str, Callable[[Vector, Vector], Any]] = MappingProxyType(
    {"difference": np.subtract, "ratio": np.divide, "product": np.multiply}
)
_SIGNS: Mapping[str, str] = MappingProxyType({"difference": "−", "ratio": "/", "product": "·"})

OPERATIONS = tuple(_FUNCTIONS)
"""The operations. A model file contains their positions, so new ones are added at the end."""


@dataclass(frozen=True)
class Cross:
    """A column that is computed from two numeric features.

    Parameters
    ----------
    operation : {"difference", "ratio", "product"}
        How the column is computed.
    sources : tuple of two ints
        The positions of the features.
    """

    operation: str
    sources: tuple[int, int]

    n_columns = 1

    def columns(self, table: Columns) -> list[Vector]:
        """Return the column of a table; a result that is not finite is missing."""
        first, second = (np.asarray(table.column(source)) for source in self.sources)
        with np.errstate(all="ignore"):
            found = np.asarray(_FUNCTIONS[self.operation](first, second))
        found[~np.isfinite(found)] = np.nan
        return [found]

    def label(self, names: Sequence[str]) -> str:
        """Return the name of the column, from the names of its sources."""
        return f" {_SIGNS[self.operation]} ".join(names)
