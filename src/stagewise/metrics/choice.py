"""The metrics of the parameter `eval_metric`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from stagewise.errors import InvalidParameterError
from stagewise.metrics.metric import Metric
from stagewise.metrics.registry import METRICS, metric_by_name
from stagewise.metrics.scorers import is_scorer, is_scorer_name, metric_of_scorer
from stagewise.validation.foreign_metrics import foreign_metric
from stagewise.validation.messages import refused_word, short_repr, warn_caller
from stagewise.validation.parameters import nearest_name

__all__ = ["LOSS", "find_metrics", "metric_names"]

LOSS = "loss"
"""The name of the loss, which is measured besides the metrics."""

FORMS = "a scorer of scikit-learn, a function (y, prediction, weight), a Metric, or a list of these"
"""What `eval_metric` accepts besides names."""

SCORERS: Mapping[str, str] = MappingProxyType(
    {
        "mape": "neg_mean_absolute_percentage_error",
        "medae": "neg_median_absolute_error",
        "medianabsoluteerror": "neg_median_absolute_error",
        "rmsle": "neg_root_mean_squared_log_error",
        "msle": "neg_mean_squared_log_error",
        "balancedaccuracy": "balanced_accuracy",
        "mcc": "matthews_corrcoef",
    }
)
"""Metrics in lower case that are only scorers of scikit-learn."""


def find_metrics(value: Any, task: str, parameter: str = "eval_metric") -> tuple[Metric, ...]:
    """Return the metrics of a task; the first one decides when a fit stops.

    Parameters
    ----------
    value : None, str, callable, scorer, Metric, or a list of these
        A metric, its name, a scorer of scikit-learn, or a function (y, prediction, weight) that is
        smaller where it is better. None: there are no metrics.
    task : {"regression", "classification", "ranking", "survival"}
        The task.
    parameter : str
        The parameter that has the value, for messages.
    """
    if value is None:
        return ()
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    found = tuple(_find_metric(each, task, parameter) for each in values)
    names = [metric.name for metric in found]
    for place, name in enumerate(names):
        if name == LOSS or name in names[:place]:
            taken = "of the loss, which is always measured" if name == LOSS else "twice"
            raise InvalidParameterError(
                f"The parameter {parameter!r} has the name {name!r} {taken}. Leave it out, or give "
                "a function a name of its own: Metric(name, function)."
            )
    return found


def _find_metric(value: Any, task: str, parameter: str) -> Metric:
    names = [name for name, metric in METRICS.items() if metric.task == task]
    words = f"one of {', '.join(map(repr, names))}"
    if isinstance(value, str):
        known = metric_by_name(value)
        if known is not None and known.task == task:
            return known
        raise InvalidParameterError(
            refused_word(parameter, "", value, f"{words}, {FORMS}", _hint(value, names))
        )
    if is_scorer(value):
        return metric_of_scorer(value)
    metric = value if isinstance(value, Metric) else None
    if metric is None and callable(value) and not isinstance(value, type):
        metric = Metric(getattr(value, "__name__", "metric"), value)
        _check_arguments(metric, parameter)
    if metric is None or metric.task not in (None, task):
        raise InvalidParameterError(
            f"The parameter {parameter!r} must be a metric of {task}: {words}, a function "
            f"(y, prediction, weight), or a Metric; got {short_repr(value)}."
        )
    return metric


def _hint(name: str, names: list[str]) -> str:
    """Return a sentence about a name that is not one of the metrics of a task."""
    known = metric_by_name(name)
    library, ours = foreign_metric(name, METRICS)
    if known is not None and ours not in names:
        return f" {name!r} is a metric of {known.task}."
    scorer = ""
    if is_scorer_name(name):
        library, scorer = "scikit-learn", f"sklearn.metrics.get_scorer({name!r})"
    if ours:
        owner = f" {name!r} is the name of {library}; here" if library else " Here"
        other = "" if ours in names else f", a metric of {METRICS[ours].task}"
        either = f", or pass {scorer}" if scorer else ""
        return f"{owner} it is {ours!r}{other}{either}."
    if scorer:
        return f" {name!r} is a scorer of scikit-learn; pass {scorer}."
    if found := SCORERS.get(name.lower()):
        return f" For {name}, pass sklearn.metrics.get_scorer({found!r})."
    lower = metric_by_name(name.lower())
    if lower is not None and lower.task == METRICS[names[0]].task:
        return f" Did you mean {name.lower()!r}?"
    return nearest_name(name, names)


def metric_names(value: Any) -> Any:
    """Return the names of metrics for a file; functions have none, and a warning is given."""
    several = isinstance(value, (list, tuple))
    values = list(value) if several else [value]
    names = [_registered_name(each) for each in values if each is not None]
    known: Any = [name for name in names if name is not None]
    kept = (known if several else known[0]) if known else None
    if None in names:
        code = values[names.index(None)]
        warn_caller(
            f"eval_metric={short_repr(code)} is a function, and a file holds no code: the loaded "
            f"estimator has eval_metric={kept!r}."
        )
    return kept


def _registered_name(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    is_ours = isinstance(value, Metric) and metric_by_name(value.name) is value
    return value.name if is_ours else None


def _sklearn_hint(metric: Metric) -> str:
    """Return a sentence with what replaces a metric function of scikit-learn; empty: it is none."""
    if not str(getattr(metric.function, "__module__", "")).startswith("sklearn.metrics"):
        return ""
    smaller = metric.name.endswith(("error", "loss", "deviance"))
    scorer = f"make_scorer({metric.name}{', greater_is_better=False' if smaller else ''})"
    ours = foreign_metric(metric.name, METRICS)[1]
    word = f"{ours!r}, or " if ours else ""
    return f" Pass {word}sklearn.metrics.{scorer}."


def _check_arguments(metric: Metric, parameter: str) -> None:
    """Raise InvalidParameterError unless a function takes three arguments."""
    try:
        signature = inspect.signature(metric.function)
    except (TypeError, ValueError):  # functions of extension modules may have none
        return
    try:
        signature.bind(None, None, None)
    except TypeError as error:
        raise InvalidParameterError(
            f"The function {metric.name!r} of {parameter!r} must take (y, prediction, weight): "
            f"{error}.{_sklearn_hint(metric)}"
        ) from None
