"""Coverage: how often prediction intervals, or prediction sets, contain the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stagewise.axes import DOTS, LINE, new_axes
from stagewise.display import Summary, Tabled, spread
from stagewise.estimators.bases.model_access import largest_coverage, read_validation_target
from stagewise.inspection.fitted_model import Vector, check_argument
from stagewise.inspection.quality.calibration import wilson_limits
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.rules import Number

__all__ = ["LEVELS", "Coverage", "coverage"]

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_SHARE = Number(0.0, 1.0, open_low=True, open_high=True)


@dataclass(frozen=True, eq=False, repr=False)
class Coverage(Tabled):
    """The observed coverage of intervals or sets of several nominal coverages.

    Attributes
    ----------
    nominal, observed : float64 arrays of shape (n_levels,)
        The nominal coverages, and the shares of the rows that were covered.
    low, high : float64 arrays of shape (n_levels,)
        Wilson confidence limits of the observed shares.
    size : float64 array of shape (n_levels,)
        The mean width of the intervals, or the mean number of classes in the sets.
    of_classes : bool
        Whether these are sets of classes.
    """

    nominal: Vector
    observed: Vector
    low: Vector
    high: Vector
    size: Vector
    of_classes: bool

    def _summary(self) -> Summary:
        table, kind = self.table(), "prediction sets" if self.of_classes else "intervals"
        rows = [table[i] for i in spread(len(table))]
        return Summary(f"Coverage of {kind}", rows=rows, n_rows=len(table))

    def table(self) -> list[dict[str, float]]:
        """Return one row per nominal coverage."""
        names = ("nominal", "observed", "low", "high", "size")
        columns = [getattr(self, name).tolist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def plot(self, ax: Any = None) -> Any:
        """Plot observed against nominal coverages, with limits; return the axes."""
        _, (ax,) = new_axes(1, ax, "plot")
        ax.plot([0.0, 1.0], [0.0, 1.0], color=LINE, lw=1, ls="--")
        ax.vlines(self.nominal, self.low, self.high, color=DOTS, lw=3, alpha=0.35)
        ax.plot(self.nominal, self.observed, "o-", color=DOTS, ms=5, lw=1.2)
        ax.set(xlabel="nominal coverage", ylabel="observed coverage")
        return ax


@suggests_arguments
def coverage(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    levels: Sequence[float] = LEVELS,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
    confidence_level: float = 0.95,
) -> Coverage:
    """Compare the coverage of prediction intervals, or sets, with the nominal one.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator with conformity scores; see docs/intervals.md.
    X, y : array-like or data frame, and array-like
        Rows and their targets, not used for training.
    levels : sequence of float
        The nominal coverages. Those for which the model has too few scores are left out.
    sample_weight : array-like or None
        Sample weights.
    offset, exposure : array-like, number, str or None
        As of `predict` of the estimator.
    confidence_level : float, default=0.95
        The confidence level of the limits of the observed coverage; see `calibration`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import RandomForestRegressor
    >>> from stagewise.inspection import coverage
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(conformal="oob").fit(X[:300], y[:300])
    >>> coverage(model, X[300:], y[300:]).observed.shape
    (6,)
    """
    if not hasattr(estimator, "conformalize"):
        raise TypeError(
            f"coverage is for gradient boosting and forests with the parameter conformal; got a "
            f"{type(estimator).__name__}."
        )
    checked = [check_argument("levels", _SHARE, level) for level in levels]
    share = check_argument("confidence_level", _SHARE, confidence_level)
    passed = {"offset": offset, "exposure": exposure}
    given = {name: value for name, value in passed.items() if value is not None}
    return _coverage_of(estimator, X, y, sample_weight, checked, given, share)


def _coverage_of(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    levels: Sequence[float],
    given: dict[str, Any],
    confidence_level: float,
) -> Coverage:
    """Return the coverage; the arguments have been checked."""
    of_classes = hasattr(estimator, "predict_set")
    predict = estimator.predict_set if of_classes else estimator.predict_interval
    most, found = largest_coverage(estimator), []
    for level in levels:
        if level > most:
            continue
        predicted = predict(X, coverage=level, **given)
        true, weight = read_validation_target(estimator, y, sample_weight, len(predicted))
        if of_classes:
            inside, size = predicted[np.arange(len(true)), true], predicted.sum(axis=1)
        else:
            inside = (predicted[:, 0] <= true) & (true <= predicted[:, 1])
            size = predicted[:, 1] - predicted[:, 0]
        w = np.ones(len(true)) if weight is None else weight
        n = w.sum() ** 2 / (w**2).sum()
        found.append((level, np.average(inside, weights=w), np.average(size, weights=w), n))
    nominal, observed, sizes, n_rows = np.array(found, dtype=np.float64).reshape(-1, 4).T
    low, high = wilson_limits(observed, n_rows, confidence_level)
    return Coverage(nominal, observed, low, high, sizes, of_classes)
