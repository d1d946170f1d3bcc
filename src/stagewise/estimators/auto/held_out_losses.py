"""The losses of held-out rows: their mean, its standard error, and paired differences."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["HeldOutLosses"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldOutLosses:
    """The losses of held-out rows.

    Attributes
    ----------
    values : float64 array
        The loss of every training row; NaN: the row was not held out.
    weight : float64 array
        The weights of the rows.
    unit : float
        The factor from these losses to those of the target.
    """

    values: Vector
    weight: Vector
    unit: float = 1.0

    @property
    def mean(self) -> float:
        """The weighted mean; NaN if no row was held out."""
        share, known = self._shares()
        return self.unit * float(share @ known) if len(known) else math.nan

    @property
    def standard_error(self) -> float:
        """The standard error of the mean."""
        share, known = self._shares()
        if not len(known):
            return math.nan
        return self.unit * float(np.sqrt(np.sum(share**2 * (known - share @ known) ** 2)))

    def minus(self, other: HeldOutLosses) -> HeldOutLosses:
        """Return the differences of the rows that both have."""
        return HeldOutLosses(self.values - other.values, self.weight, self.unit)

    def distance_to(self, other: HeldOutLosses) -> float:
        """Return the mean difference in standard errors; 0 if all differences are 0."""
        difference = self.minus(other)
        mean, error = difference.mean, difference.standard_error
        return mean / error if error > 0.0 else math.inf if mean > 0.0 else 0.0

    def at(self, rows: npt.NDArray[np.intp]) -> HeldOutLosses:
        """Return the losses of some rows only."""
        values = np.full_like(self.values, np.nan)
        values[rows] = self.values[rows]
        return HeldOutLosses(values, self.weight, self.unit)

    def _shares(self) -> tuple[Vector, Vector]:
        held = ~np.isnan(self.values)
        weight = self.weight[held]
        return weight / weight.sum(), self.values[held]
