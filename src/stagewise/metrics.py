"""Metrics of predictions, by which a fit can stop.

A metric is a function of targets, predictions and weights. `eval_metric` of an estimator is the
name of one, a function, or a `Metric`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import InvalidParameterError
from stagewise.exact_sums import mean_rows
from stagewise.validation.messages import short_repr, warn_caller
from stagewise.validation.parameters import nearest_name

__all__ = ["METRICS", "Metric", "find_metric", "metric_name"]

Vector = npt.NDArray[np.float64]
Function = Callable[[npt.NDArray[Any], npt.NDArray[np.float64], Vector | None], float]


@dataclass(frozen=True)
class Metric:
    """A metric of predictions.

    Parameters
    ----------
    name : str
        The name in reports and messages.
    function : callable
        Takes y, the predictions and the weights (None: all ones), and returns a number. The
        predictions are those of `predict`, or of `predict_proba` for classes.
    larger_is_better : bool
        Whether larger values are better.
    task : {"regression", "classification"} or None
        The targets that the metric is defined for; None: any.
    of_codes : bool
        Whether y are the class codes 0, 1, …, in the order of the columns, rather than the labels.
    """

    name: str
    function: Function
    larger_is_better: bool = False
    task: str | None = None
    of_codes: bool = False

    def value(
        self, y: npt.NDArray[Any], predicted: npt.NDArray[np.float64], weight: Vector | None
    ) -> float:
        """Return the metric; raise ValueError if it is not a finite number."""
        returned = self.function(y, predicted, weight)
        try:
            found = float(returned)
        except (TypeError, ValueError):
            raise ValueError(
                f"The metric {self.name!r} must return a number; got {short_repr(returned)}."
            ) from None
        if not math.isfinite(found):
            raise ValueError(
                f"The metric {self.name!r} is {found} for these {len(y)} held-out rows, not a "
                "finite number. Hold out more rows, so that they have all classes, or use another "
                "metric."
            )
        return found

    def cost(self, value: float) -> float:
        """Return a value that is smaller where the metric is better."""
        return -value if self.larger_is_better else value


def _error_rate(y: npt.NDArray[Any], p: Vector, weight: Vector | None) -> float:
    return mean_rows((p.argmax(axis=1) != y).astype(np.float64), weight)


def _accuracy(y: npt.NDArray[Any], p: Vector, weight: Vector | None) -> float:
    return mean_rows((p.argmax(axis=1) == y).astype(np.float64), weight)


def _one_hot(y: npt.NDArray[Any], p: Vector) -> Vector:
    return np.asarray(y[:, np.newaxis] == np.arange(p.shape[1]), dtype=np.float64)


def _brier(y: npt.NDArray[Any], p: Vector, weight: Vector | None) -> float:
    """Return the mean of Σ_k (p_k - 1[y = k])²; for two classes half of it, (p - y)²."""
    squares = (p - _one_hot(y, p)) ** 2
    return mean_rows(squares[:, 1] if p.shape[1] == 2 else squares.sum(axis=1), weight)


def _log_loss(y: npt.NDArray[Any], p: Vector, weight: Vector | None) -> float:
    own = np.take_along_axis(p, y[:, np.newaxis].astype(np.intp), axis=1)[:, 0]
    return mean_rows(-np.log(np.maximum(own, np.finfo(np.float64).tiny)), weight)


def _of_scikit_learn(name: str) -> Callable[..., float]:
    """Return a metric of scikit-learn, whose metrics are imported when they are needed."""

    def of(*values: Any, **options: Any) -> float:
        from sklearn import metrics

        return float(getattr(metrics, name)(*values, **options))

    return of


def _by_class(area: Callable[..., float]) -> Function:
    """Return the area of the second of two classes, or the mean over classes against the rest."""

    def of(y: npt.NDArray[Any], p: Vector, weight: Vector | None) -> float:
        columns = [1] if p.shape[1] == 2 else range(p.shape[1])
        found = [
            area(y == k, p[:, k], sample_weight=weight)
            for k in columns
            if 0 < np.count_nonzero(y == k) < len(y)
        ]
        return float(np.mean(found)) if found else math.nan

    return of


def _f1(y: npt.NDArray[Any], p: Vector, weight: Vector | None) -> float:
    average = "binary" if p.shape[1] == 2 else "macro"
    chosen = p.argmax(axis=1)
    score = _of_scikit_learn("f1_score")
    return score(y, chosen, average=average, sample_weight=weight, zero_division=0.0)


def _by_target(function: Function) -> Function:
    """Return the metric of one target, or the mean over several."""

    def of(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
        if y.ndim == 1:
            return function(y, predicted, weight)
        return float(
            np.mean([function(*own, weight) for own in zip(y.T, predicted.T, strict=True)])
        )

    return of


@_by_target
def _rmse(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
    residual = np.ascontiguousarray(y - predicted)
    largest = float(np.abs(residual).max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return largest
    unit = math.ldexp(1.0, math.frexp(largest)[1])  # squares neither overflow nor vanish
    return unit * math.sqrt(mean_rows((residual / unit) ** 2, weight))


@_by_target
def _mae(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
    return mean_rows(np.ascontiguousarray(np.abs(y - predicted)), weight)


@_by_target
def _r2(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
    return _of_scikit_learn("r2_score")(y, predicted, sample_weight=weight)


def _deviance(power: float) -> Function:
    @_by_target
    def of(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
        deviance = _of_scikit_learn("mean_tweedie_deviance")
        return deviance(y, predicted, sample_weight=weight, power=power)

    return of


def _d2(power: float) -> Function:
    """Return the share of a deviance that is explained: 1 - D(y, prediction) / D(y, mean)."""

    @_by_target
    def of(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
        return _of_scikit_learn("d2_tweedie_score")(y, predicted, sample_weight=weight, power=power)

    return of


@_by_target
def _d2_absolute_error(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
    return _of_scikit_learn("d2_absolute_error_score")(y, predicted, sample_weight=weight)


def _registered(task: str, **functions: tuple[Function, bool]) -> dict[str, Metric]:
    return {
        name: Metric(name, function, larger, task, of_codes=True)
        for name, (function, larger) in functions.items()
    }


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        **_registered(
            "classification",
            error_rate=(_error_rate, False),
            accuracy=(_accuracy, True),
            log_loss=(_log_loss, False),
            brier=(_brier, False),
            auc=(_by_class(_of_scikit_learn("roc_auc_score")), True),
            average_precision=(_by_class(_of_scikit_learn("average_precision_score")), True),
            f1=(_f1, True),
        ),
        **_registered(
            "regression",
            rmse=(_rmse, False),
            mae=(_mae, False),
            r2=(_r2, True),
            poisson_deviance=(_deviance(1.0), False),
            gamma_deviance=(_deviance(2.0), False),
            d2_absolute_error=(_d2_absolute_error, True),
            d2_poisson_deviance=(_d2(1.0), True),
            d2_gamma_deviance=(_d2(2.0), True),
        ),
    }
)
"""The metrics by name. Those of scores of several classes are means over the classes."""


def find_metric(value: Any, task: str) -> Metric | None:
    """Return the metric of a task; None: there is none.

    Parameters
    ----------
    value : None, str, callable or Metric
        A metric, its name, or a function (y, prediction, weight) that is smaller where it is
        better.
    task : {"regression", "classification"}
        The task.
    """
    names = [name for name, metric in METRICS.items() if metric.task == task]
    if value is None:
        return None
    if isinstance(value, str):
        if value in names:
            return METRICS[value]
        hint = nearest_name(value, names)
        if value in METRICS:
            hint = f" {value!r} is a metric of {METRICS[value].task}."
        raise InvalidParameterError(
            f"The parameter 'eval_metric' must be one of {', '.join(map(repr, names))}, a function "
            f"(y, prediction, weight), or a Metric; got {value!r}.{hint}"
        )
    metric = value if isinstance(value, Metric) else None
    if metric is None and callable(value) and not isinstance(value, type):
        metric = Metric(getattr(value, "__name__", "metric"), value)
        _check_arguments(metric)
    if metric is None or metric.task not in (None, task):
        raise InvalidParameterError(
            f"The parameter 'eval_metric' must be a metric of {task}: one of "
            f"{', '.join(map(repr, names))}, a function (y, prediction, weight), or a Metric; got "
            f"{short_repr(value)}."
        )
    return metric


def metric_name(value: Any) -> str | None:
    """Return the name of a metric for a file; a function has none, and a warning is given."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Metric) and METRICS.get(value.name) is value:
        return value.name
    warn_caller(
        f"eval_metric={short_repr(value)} is a function, and a file holds no code: the loaded "
        "estimator has eval_metric=None."
    )
    return None


def _check_arguments(metric: Metric) -> None:
    """Raise InvalidParameterError unless a function takes three arguments."""
    try:
        signature = inspect.signature(metric.function)
    except (TypeError, ValueError):  # functions of extension modules may have none
        return
    try:
        signature.bind(None, None, None)
    except TypeError as error:
        raise InvalidParameterError(
            f"The function {metric.name!r} of 'eval_metric' must take (y, prediction, weight): "
            f"{error}."
        ) from None
