"""The rule of the parameter `callbacks`, with messages about callbacks of other libraries.

They are recognised by the module of their class; no other library is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["callbacks", "foreign_callback"]

_STOPS, _LINES = "early_stopping=True, n_iter_no_change={}", "verbose=1"
_RECORD = "the attribute evals_result_"
_RATES = "no parameter: the learning rate of a fit is constant"

LIBRARIES: Mapping[str, str] = MappingProxyType(
    {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}
)
CALLBACKS: Mapping[tuple[str, str], tuple[str, str]] = MappingProxyType(
    {
        ("lightgbm", "_EarlyStoppingCallback"): ("lightgbm.early_stopping", _STOPS),
        ("lightgbm", "_LogEvaluationCallback"): ("lightgbm.log_evaluation", _LINES),
        ("lightgbm", "_RecordEvaluationCallback"): ("lightgbm.record_evaluation", _RECORD),
        ("lightgbm", "_ResetParameterCallback"): ("lightgbm.reset_parameter", _RATES),
        ("xgboost", "EarlyStopping"): ("xgboost.callback.EarlyStopping", _STOPS),
        ("xgboost", "EvaluationMonitor"): ("xgboost.callback.EvaluationMonitor", _LINES),
        ("xgboost", "LearningRateScheduler"): ("xgboost.callback.LearningRateScheduler", _RATES),
    }
)
"""Callbacks by the library and the class: the name that users write, and what replaces it."""

FUNCTIONS = "a function of a stagewise Progress, with round, n_rounds and metrics"


def foreign_callback(value: Any) -> str:
    """Return a sentence about a callback of another library; empty: it is none."""
    kind = value if isinstance(value, type) else type(value)
    # Functions that lightgbm.early_stopping of older versions returns have its module, too.
    module = getattr(value, "__module__", None) or kind.__module__
    library = str(module).partition(".")[0]
    if library not in LIBRARIES:
        return ""
    unknown = f"{library}'s {getattr(value, '__name__', kind.__name__)}"
    theirs, ours = CALLBACKS.get((library, kind.__name__), (unknown, FUNCTIONS))
    rounds = getattr(value, "stopping_rounds", getattr(value, "rounds", "..."))
    return f"{theirs} is a callback of {LIBRARIES[library]}; here it is {ours.format(rounds)}"


def callbacks(value: Any) -> tuple[Any, ...]:
    """Return the callbacks as a tuple, or raise ValueError with what is allowed."""
    if value is None:
        return ()
    plain = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
    found = (value,) if callable(value) or not plain else tuple(value)
    theirs = "; ".join(filter(None, dict.fromkeys(map(foreign_callback, found))))
    if theirs:
        raise ValueError(f"None, {FUNCTIONS}, or a list of these ({theirs})")
    if all(callable(each) for each in found):
        return found
    raise ValueError("None, a callable, or a list of callables")
