"""Outliers of numeric columns: by which rule, in which rows, and what their removal changes.

A rule is an interval around the middle of a column; values outside are outliers. An outlier is a
value to check, not necessarily an error: removal is compared, never made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from stagewise.inspection.tables.association import pearson
from stagewise.linear.reduction import Reduction

__all__ = ["RULES", "ColumnStatistics", "find_outliers"]

Vector = npt.NDArray[np.float64]
Fences = tuple[float, float]

FENCE = 1.5
"""The number of interquartile ranges beyond the quartiles (Tukey 1977)."""
DEVIATIONS = 3.0
"""The number of robust standard deviations from the median."""
NORMAL = 1.4826
"""The standard deviation of a normal distribution divided by its median absolute deviation."""


def iqr_fences(finite: Vector) -> Fences:
    """Return q1 - 1.5 (q3 - q1) and q3 + 1.5 (q3 - q1), the rule of box plots (Tukey 1977)."""
    if not len(finite):
        return float("nan"), float("nan")
    low, high = np.quantile(finite, [0.25, 0.75])
    reach = FENCE * (high - low)
    return float(low - reach), float(high + reach)


def mad_fences(finite: Vector) -> Fences:
    """Return median ± 3 · 1.4826 · median |x - median| (Hampel 1974)."""
    if not len(finite):
        return float("nan"), float("nan")
    middle = float(np.median(finite))
    reach = DEVIATIONS * NORMAL * float(np.median(np.abs(finite - middle)))
    return middle - reach, middle + reach


RULES: Mapping[str, Callable[[Vector], Fences]] = MappingProxyType(
    {"iqr": iqr_fences, "mad": mad_fences}
)
"""The rules by name."""


def find_outliers(values: Vector, rule: str) -> tuple[Fences, npt.NDArray[np.bool_]]:
    """Return the fences of a column, and whether each value is outside; NaN is not.

    Parameters
    ----------
    values : float64 array
        The column. Infinite values are outliers and do not change the fences.
    rule : {"iqr", "mad"}
        A name in `RULES`.
    """
    fences = RULES[rule](values[np.isfinite(values)])
    with np.errstate(invalid="ignore"):
        return fences, (values < fences[0]) | (values > fences[1])


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of a column, and of the least-squares line y = intercept + slope · x.

    Attributes
    ----------
    mean, deviation : float
        Mean and standard deviation of the finite values.
    pearson, slope, intercept, r2 : float
        Of the rows with finite x and y; NaN without a numeric target.
    """

    mean: float
    deviation: float
    pearson: float = float("nan")
    slope: float = float("nan")
    intercept: float = float("nan")
    r2: float = float("nan")

    @classmethod
    def of(cls, x: Vector, y: Vector | None) -> ColumnStatistics:
        """Return the statistics of a column, with a numeric target or without."""
        finite = x[np.isfinite(x)]
        nothing = float("nan")
        mean = float(finite.mean()) if len(finite) else nothing
        deviation = float(finite.std(ddof=1)) if len(finite) > 1 else nothing
        if y is None:
            return cls(mean, deviation)
        both = np.isfinite(x) & np.isfinite(y)
        if both.sum() < 2 or not np.ptp(x[both]) > 0:
            return cls(mean, deviation)
        line = Reduction.of(x[np.newaxis, both].copy(), y[both], None, intercept=True).fit([0])
        intercept, slope = line.estimate
        return cls(mean, deviation, pearson(x, y), float(slope), float(intercept), line.r2)
