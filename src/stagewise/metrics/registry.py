"""The metrics by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import InvalidParameterError
from stagewise.exact_sums import mean_rows
from stagewise.metrics.explained import (
    ExplainedShare,
    average,
    explained,
    median_rate,
    rate_of_deviance,
)
from stagewise.metrics.metric import FitFacts, Function, Metric
from stagewise.metrics.ordinal import quadratic_kappa, rank_mae, ranked_probability_score
from stagewise.metrics.probabilistic import PROBABILISTIC_METRICS
from stagewise.metrics.queries import RANKING_NAMES, QueryMetric, parse_ranking_name
from stagewise.metrics.ranking import RankedRows, roc_auc
from stagewise.metrics.row_losses import (
    CLASSIFICATION_ROW_LOSSES,
    REGRESSION_ROW_LOSSES,
    RowLoss,
    cross_entropy,
    unit_deviance,
)
from stagewise.metrics.survival import c_index, uno_c_index

__all__ = ["METRICS", "metric_by_name", "registered_metric"]

Vector = npt.NDArray[np.float64]

LARGEST_EXPONENT = 1000
"""Below 2^1000, deviances and sums of a few numbers do not overflow."""


def _mean(row_loss: RowLoss) -> Function:
    """Return the mean of a loss of rows."""

    def of(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
        return mean_rows(np.ascontiguousarray(row_loss(y, predicted)), weight)

    return of


def _accuracy(y: npt.NDArray[Any], p: Vector, weight: Vector | None) -> float:
    return mean_rows((p.argmax(axis=1) == y).astype(np.float64), weight)


def _by_class(area: Function) -> Function:
    """Return the area of the second of two classes, or the mean over classes against the rest.

    Classes that no row has are left out; NaN: all rows are of one class.
    """

    def of(y: npt.NDArray[Any], p: Vector, weight: Vector | None) -> float:
        columns = [1] if p.shape[1] == 2 else range(p.shape[1])
        masks = [(k, y == k) for k in columns]
        found = [
            area(mask, np.ascontiguousarray(p[:, k]), weight)
            for k, mask in masks
            if 0 < np.count_nonzero(mask) < len(y)
        ]
        return float(np.mean(found)) if found else math.nan

    return of


def _average_precision(positive: npt.NDArray[Any], score: Vector, weight: Vector | None) -> float:
    ranked = RankedRows.of(score, positive, weighted=weight is not None)
    return ranked.average_precision(weight)


def _f1(y: npt.NDArray[Any], p: Vector, weight: Vector | None) -> float:
    """Return F1 of the second of two classes, or the mean over the classes that y or p have."""
    k, chosen = p.shape[1], p.argmax(axis=1)
    hit, known, taken = (
        np.bincount(codes, weights=own, minlength=k)
        for codes, own in (
            (y[chosen == y], None if weight is None else weight[chosen == y]),
            (y, weight),
            (chosen, weight),
        )
    )
    either = known + taken
    scores = 2.0 * hit / np.where(either > 0, either, 1.0)
    return float(scores[1] if k == 2 else scores[either > 0].mean())


def _by_target(function: Function) -> Function:
    """Return the metric of one target, or the mean over several."""

    def of(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
        if y.ndim == 1:
            return function(y, predicted, weight)
        return float(
            np.mean([function(*own, weight) for own in zip(y.T, predicted.T, strict=True)])
        )

    return of


def _exponent(*columns: npt.NDArray[Any]) -> int:
    """Return the least e with |x| < 2^e for all numbers; 0 if all are 0, or one is not finite."""
    largest = max(float(np.abs(column).max(initial=0.0)) for column in columns)
    return math.frexp(largest)[1] if largest < math.inf else 0


def _in_range(function: Function, degree: float = 1.0) -> Function:
    """Return a metric of one target, computed where sums of two numbers do not overflow.

    Near the largest float64 the metric of y/c and prediction/c is multiplied by c^degree.
    """

    def of(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
        excess = max(_exponent(y, predicted) - LARGEST_EXPONENT, 0)
        if excess == 0:
            return function(y, predicted, weight)
        found = function(np.ldexp(y, -excess), np.ldexp(predicted, -excess), weight)
        return float(found * 2.0 ** (degree * excess))

    return of


@_by_target
@_in_range
def _rmse(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
    residual = np.ascontiguousarray(y - predicted)
    exponent = _exponent(residual)  # squares neither overflow nor vanish
    return math.ldexp(math.sqrt(mean_rows(np.ldexp(residual, -exponent) ** 2, weight)), exponent)


def _unscaled(function: Function) -> Function:
    """Return a metric of one target without a unit, computed in a unit near to y."""

    def of(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
        exponent = -_exponent(y)
        with np.errstate(over="ignore"):  # a worse value than any float64 is infinite
            return function(np.ldexp(y, exponent), np.ldexp(predicted, exponent), weight)

    return of


def _row_deviance(power: float) -> RowLoss:
    """Return the deviance of rows; it raises ValueError outside its domain."""

    def of(y: npt.NDArray[Any], mean: Vector) -> Vector:
        if bool((y <= 0.0 if power == 2.0 else y < 0.0).any()):
            raise ValueError(
                f"The deviance of power {power:g} needs y {'>' if power == 2.0 else '≥'} 0; the "
                f"least one is {y.min():g}. Use another metric, such as 'rmse'."
            )
        if bool((mean <= 0.0).any()):
            raise ValueError(
                f"The deviance of power {power:g} needs predictions > 0; the least one is "
                f"{mean.min():g}. Use a loss with a log link, such as 'poisson', or another metric."
            )
        return unit_deviance(y, mean, power)

    return of


def _row_cross_entropy(y: npt.NDArray[Any], predicted: Vector) -> Vector:
    """Return the cross-entropy of rows; it raises ValueError outside its domain."""
    for name, numbers in (("targets", y), ("predictions", predicted)):
        outside = (numbers < 0.0) | (numbers > 1.0)
        if outside.any():
            remedy = "loss='cross_entropy', or" if name == "predictions" else ""
            raise ValueError(
                f"The metric 'cross_entropy' needs {name} from 0 to 1; one is "
                f"{numbers[np.argmax(outside)]:g}. Use {remedy}{' ' if remedy else ''}another "
                "metric, such as 'rmse'."
            )
    return cross_entropy(y, predicted)


def _deviance(power: float) -> Function:
    return _by_target(_in_range(_mean(_row_deviance(power)), degree=2.0 - power))


def _d2(power: float) -> Function:
    mean, scaled = _mean(_row_deviance(power)), partial(_in_range, degree=0.0)
    return ExplainedShare(mean, rate_of_deviance(power), scaled)


def _registered(task: str, **functions: tuple[Function, bool]) -> dict[str, Metric]:
    return {
        name: Metric(name, function, larger, task, of_codes=True, of_levels=False)
        for name, (function, larger) in functions.items()
    }


def _unbound(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
    raise TypeError("A Tweedie deviance depends on the power of a loss; call bind first.")


def _of_power(name: str, of: Callable[[float], Function], larger: bool) -> dict[str, Metric]:
    """Return a metric that has the power of the loss."""

    def for_fit(facts: FitFacts) -> Function:
        if facts.power is None:
            raise InvalidParameterError(
                f"eval_metric={name!r} has the power of the loss, and loss={facts.loss!r} has none."
                " Use loss='tweedie', or the metric 'poisson_deviance' or 'gamma_deviance'."
            )
        return of(facts.power)

    own = Metric(name, _unbound, larger, "regression", True, for_fit, of_levels=False)
    return {name: own}


def _of_times(name: str, of: Callable[..., float]) -> dict[str, Metric]:
    """Return a metric of times until an event, which has the causes of the loss."""

    def for_fit(facts: FitFacts) -> Function:
        return partial(of, causes=facts.causes, earlier=facts.larger_is_earlier)

    return {name: Metric(name, of, True, "survival", of_codes=True, for_fit=for_fit)}


_SQUARED, _ABSOLUTE = (REGRESSION_ROW_LOSSES[f"{name}_error"] for name in ("squared", "absolute"))

METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        **_registered(
            "classification",
            error_rate=(_mean(CLASSIFICATION_ROW_LOSSES["error"]), False),
            accuracy=(_accuracy, True),
            log_loss=(_mean(CLASSIFICATION_ROW_LOSSES["log_loss"]), False),
            brier=(_mean(CLASSIFICATION_ROW_LOSSES["brier"]), False),
            auc=(_by_class(roc_auc), True),
            average_precision=(_by_class(_average_precision), True),
            f1=(_f1, True),
            ranked_probability_score=(ranked_probability_score, False),
            quadratic_kappa=(quadratic_kappa, True),
            rank_mae=(rank_mae, False),
            hamming_loss=(_mean(CLASSIFICATION_ROW_LOSSES["error"]), False),
            subset_accuracy=(_accuracy, True),
            macro_auc=(_by_class(roc_auc), True),
        ),
        **_registered(
            "regression",
            rmse=(_rmse, False),
            mae=(_by_target(_in_range(_mean(_ABSOLUTE))), False),
            r2=(_by_target(_unscaled(explained(_mean(_SQUARED), average))), True),
            poisson_deviance=(_deviance(1.0), False),
            gamma_deviance=(_deviance(2.0), False),
            cross_entropy=(_by_target(_mean(_row_cross_entropy)), False),
            d2_absolute_error=(
                ExplainedShare(_mean(_ABSOLUTE), median_rate, _unscaled, True),
                True,
            ),
            d2_poisson_deviance=(_d2(1.0), True),
            d2_gamma_deviance=(_d2(2.0), True),
        ),
        **_registered("ranking", **{name: (QueryMetric(name), True) for name in RANKING_NAMES}),
        **_of_power("tweedie_deviance", _deviance, larger=False),
        **_of_power("d2_tweedie_deviance", _d2, larger=True),
        **PROBABILISTIC_METRICS,
        **_of_times("c_index", c_index),
        **_of_times("uno_c_index", uno_c_index),
    }
)
"""The metrics by name. Those of scores of several classes are means over the classes, and those of
several targets of classes are means over the targets (`metric_of_targets`)."""


@lru_cache(maxsize=256)
def metric_by_name(name: str) -> Metric | None:
    """Return the metric of a name, such as "rmse" or "ndcg@10"; None: there is none.

    Equal names give the same object.
    """
    found = parse_ranking_name(name)
    if found is None or name in METRICS:
        return METRICS.get(name)
    return Metric(name, QueryMetric(*found), True, "ranking", of_codes=True)


def registered_metric(name: str) -> Metric:
    """Return the metric of a name."""
    metric = metric_by_name(name)
    if metric is None:
        raise KeyError(name)
    return metric
