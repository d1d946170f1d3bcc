"""Metrics of predicted quantiles and distributions: pinball loss, CRPS, log score, coverage.

They are proper scores: their expectation is smallest for the true quantiles, or distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import weighted_quantile
from stagewise.errors import InvalidParameterError
from stagewise.exact_sums import mean_rows
from stagewise.metrics.metric import FitFacts, Function, Metric

__all__ = ["PROBABILISTIC_METRICS", "coverage", "crps_of_quantiles", "d2_pinball", "pinball"]

Vector = npt.NDArray[np.float64]


def pinball(
    y: npt.ArrayLike, predicted: npt.ArrayLike, levels: Sequence[float], weight: Any = None
) -> float:
    """Return the mean pinball loss of predicted quantiles, over rows and levels.

        L_τ(y, Q) = τ (y - Q) if y > Q, else (1 - τ) (Q - y)

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The targets.
    predicted : array-like of shape (n_rows, n_levels)
        The quantiles.
    levels : sequence of float
        τ of each column.
    weight : array-like of shape (n_rows,) or None
        The weights of the rows.
    """
    return float(np.mean(_pinballs(y, predicted, levels, weight)))


def d2_pinball(
    y: npt.ArrayLike, predicted: npt.ArrayLike, levels: Sequence[float], weight: Any = None
) -> float:
    """Return D² of the pinball loss, 1 - L_τ / L_τ(τ-quantile of y), its mean over the levels.

    It is 1 for quantiles without errors and 0 for those of y, as `sklearn.metrics.d2_pinball_score`
    of each level; NaN for one row. Parameters as of `pinball`.
    """
    largest = max(np.abs(np.asarray(each)).max(initial=0.0) for each in (y, predicted))
    exponent = -int(np.frexp(largest)[1])  # so that sums are finite
    values, found = (np.ldexp(np.asarray(each, np.float64), exponent) for each in (y, predicted))
    own = None if weight is None else np.asarray(weight, dtype=np.float64)
    if (len(values) if own is None else np.count_nonzero(own)) < 2:
        return float("nan")
    constant = [weighted_quantile(values, own, tau) for tau in levels]
    left = _pinballs(values, found, levels, own)
    whole = _pinballs(values, np.tile(constant, (len(values), 1)), levels, own)
    none_left = np.where(left == 0, 1.0, 0.0)  # of constant targets, as in scikit-learn
    explained = np.divide(whole - left, whole, out=none_left, where=whole > 0)
    return float(explained.mean())


def crps_of_quantiles(
    y: npt.ArrayLike, predicted: npt.ArrayLike, levels: Sequence[float], weight: Any = None
) -> float:
    """Return the CRPS of quantiles, 2 ∫ L_τ dτ, with a share of (0, 1) around each level.

    The share of a level ends half-way to its neighbours, and at 0 and 1. Parameters as of
    `pinball`.
    """
    own = np.asarray(levels, dtype=np.float64)
    ends = np.concatenate([[0.0], (own[1:] + own[:-1]) / 2.0, [1.0]])
    return float(2.0 * np.sum(np.diff(ends) * _pinballs(y, predicted, levels, weight)))


def coverage(y: npt.ArrayLike, interval: npt.ArrayLike, weight: Any = None) -> float:
    """Return the share of rows with y inside of intervals of shape (n_rows, 2), ends included."""
    values, ends = np.asarray(y, dtype=np.float64), np.asarray(interval, dtype=np.float64)
    inside = (ends[:, 0] <= values) & (values <= ends[:, 1])
    return mean_rows(inside.astype(np.float64), weight)


def _pinballs(
    y: npt.ArrayLike, predicted: npt.ArrayLike, levels: Sequence[float], weight: Any
) -> Vector:
    """Return the mean loss of each level."""
    found = np.asarray(predicted, dtype=np.float64)
    values = np.asarray(y, dtype=np.float64)
    if found.shape != (len(values), len(levels)):
        raise ValueError(
            f"predicted has the shape {found.shape}; expected {(len(values), len(levels))}, a "
            "column for each level."
        )
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    return np.array(
        [
            mean_rows(np.maximum(tau * r, (tau - 1.0) * r), weight)
            for tau, r in ((t, values - found[:, k]) for k, t in enumerate(levels))
        ]
    )


def _of_distributions(score: str) -> Function:
    def of(y: npt.NDArray[Any], predicted: Any, weight: Vector | None) -> float:
        return mean_rows(np.ascontiguousarray(getattr(predicted, score)(y)), weight)

    return of


def _unbound(y: npt.NDArray[Any], predicted: Any, weight: Vector | None) -> float:
    raise TypeError("This metric depends on the loss of a fit; call bind first.")


def _pinball_for(facts: FitFacts) -> Function:
    levels = facts.levels
    if facts.quantile is not None:
        one = [facts.quantile]
        return lambda y, predicted, weight: pinball(y, predicted[:, np.newaxis], one, weight)
    if levels is None:
        raise InvalidParameterError(
            f"eval_metric='pinball' is for quantiles, and loss={facts.loss!r} predicts "
            "one number, or distributions. Use 'crps' for distributions, or pass a list as "
            "quantile."
        )
    return lambda y, predicted, weight: pinball(y, predicted, levels, weight)


def _crps_for(facts: FitFacts) -> Function:
    levels = facts.levels
    if levels is None:
        return _of_distributions("crps")
    return lambda y, predicted, weight: crps_of_quantiles(y, predicted, levels, weight)


def _nll_for(facts: FitFacts) -> Function:
    if facts.levels is not None:
        raise InvalidParameterError(
            f"eval_metric='nll' needs densities, and loss={facts.loss!r} predicts "
            "levels. Use 'pinball' or 'crps'."
        )
    return _of_distributions("nll")


PROBABILISTIC_METRICS: dict[str, Metric] = {
    name: Metric(
        name,
        _unbound,
        task="regression",
        of_codes=True,
        for_fit=for_fit,
        of_distribution=True,
        of_quantile=name == "pinball",
    )
    for name, for_fit in (("pinball", _pinball_for), ("crps", _crps_for), ("nll", _nll_for))
}
"""The metrics of predicted quantiles and distributions by name."""
