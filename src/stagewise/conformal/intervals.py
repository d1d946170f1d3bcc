"""Prediction intervals from conformity scores.

`Centres` are what a model predicts for new rows: the mean (and the unit of a score), or quantiles.
A model of CV+ has one for each fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise.conformal.conformity import Conformity
from stagewise.conformal.ranks import union_quantile

__all__ = ["Centres", "intervals", "nearest_levels"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Centres:
    """The predictions of new rows from which intervals extend.

    Attributes
    ----------
    low, high : float64 array of shape (n_rows,)
        The mean, or two quantiles.
    unit : float64 array of shape (n_rows,)
        The unit of a score: an interval extends by unit · threshold.
    """

    low: Vector
    high: Vector
    unit: Vector

    @classmethod
    def of_mean(cls, mean: Vector, unit: Vector | None = None) -> Centres:
        """Return the centres of a mean."""
        return cls(mean, mean, np.ones(len(mean)) if unit is None else unit)

    def part(self, rows: npt.NDArray[np.bool_]) -> Centres:
        """Return the centres of some rows."""
        return Centres(self.low[rows], self.high[rows], self.unit[rows])


def nearest_levels(levels: Vector, coverage: float) -> tuple[int, int]:
    """Return the places of the quantiles that are nearest to (1 ± coverage) / 2."""
    low = int(np.argmin(np.abs(levels - (1 - coverage) / 2)))
    high = int(np.argmin(np.abs(levels - (1 + coverage) / 2)))
    return low, high


def _values(conformity: Conformity, coverage: float) -> Vector:
    """Return one score per row: of quantiles, how far y is outside of the nearest two."""
    if conformity.kind != "quantile":
        return conformity.values
    low, high = nearest_levels(conformity.levels, coverage)
    beyond = conformity.values.reshape(conformity.n_rows, -1)
    return np.maximum(-beyond[:, low], beyond[:, high])


def intervals(
    conformity: Conformity,
    centres: Sequence[Centres],
    coverage: float,
    keys: Vector | None = None,
) -> Matrix:
    """Return the lower and the upper bound of every row, shape (n_rows, 2).

    Parameters
    ----------
    conformity : Conformity
        The scores.
    centres : sequence of Centres
        The predictions of the model; for CV+ those of the model of each fold.
    coverage : float
        The probability that an interval contains y.
    keys : float64 array or None
        The groups of the rows.
    """
    conformity.check_coverage(coverage)
    if keys is None:
        return _of_rows(conformity, centres, coverage)
    found = np.empty((len(keys), 2))
    for rows, part in conformity.of_groups(keys, coverage):
        found[rows] = _of_rows(part, [own.part(rows) for own in centres], coverage)
    return found


def _of_rows(conformity: Conformity, centres: Sequence[Centres], coverage: float) -> Matrix:
    values = _values(conformity, coverage)
    if conformity.method != "cv+":
        own = centres[0]
        reach = own.unit * conformity.sorted(values).quantile(coverage)
        bounds = np.column_stack([own.low - reach, own.high + reach])
    else:
        assert conformity.fold is not None
        parts = []
        for k in range(len(centres)):
            rows = conformity.fold == k
            parts.append(conformity.part(rows).sorted(values[rows]))
        unit = np.array([own.unit for own in centres])
        low = union_quantile(parts, -np.array([own.low for own in centres]), unit, coverage)
        high = union_quantile(parts, np.array([own.high for own in centres]), unit, coverage)
        bounds = np.column_stack([-low, high])
    # Quantiles whose threshold is negative may cross; such an interval is one point.
    crossed = bounds[:, 0] > bounds[:, 1]
    bounds[crossed] = bounds[crossed].mean(axis=1, keepdims=True)
    return bounds
