"""Errors for arguments of functions: unknown names, which suggest the right ones, and values."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from stagewise.errors import InvalidParameterError
from stagewise.validation.foreign_callbacks import foreign_callback
from stagewise.validation.foreign_calls import call_hint
from stagewise.validation.foreign_names import FIT_ARGUMENTS, FOREIGN_NAMES
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import name_hint, nearest_name
from stagewise.validation.rules import Rule

__all__ = ["check_argument", "routing_is_enabled", "suggests_arguments", "unknown_arguments"]

P = ParamSpec("P")
R = TypeVar("R")

FOREIGN_ARGUMENTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "alpha": ("confidence_level", "confidence_level=1 - alpha"),
        "base_margin": ("offset", ""),
        "eval_group": ("query_sizes_val", "X_val=..., y_val=..., query_sizes_val=[10, 25, ...]"),
        "eval_qid": ("qid_val", "X_val=..., y_val=..., qid_val=..."),
        "confidence_level": ("coverage", ""),
        "base_margin_eval_set": ("offset_val", ""),
        "baseline": ("offset", ""),
        "eval_init_score": ("offset_val", ""),
        "eval_names": ("eval_set", "eval_set={name: (X, y), ...}"),
        "eval_sample_weight": ("eval_set", "eval_set=[(X, y, weight), ...]"),
        "eval_set": ("X_val", "X_val=..., y_val=..."),
        "eval_X": ("X_val", "X_val=..., y_val=..."),
        "eval_y": ("y_val", "X_val=..., y_val=..."),
        "evals": ("eval_set", "eval_set=[(X, y), ...]"),
        "sample_weight_eval_set": ("eval_set", "eval_set=[(X, y, weight), ...]"),
        "data": ("background", ""),
        "decay_rate": ("decay", ""),
        "feature_perturbation": ("kind", ""),
        "group": ("query_sizes", "numbers of rows; qid for the query of each row"),
        "group_id": ("qid", ""),
        "groups": ("qid", "the query of each row"),
        "validation_data": ("eval_set", "eval_set=[(X, y)]"),
        "group_val": ("query_sizes_val", ""),
        "init_score": ("offset", ""),
        "sample_size": ("max_samples", ""),
        "n_samples": ("n_rows", ""),
        "random_state": ("seed", ""),
        "scoring": ("loss", "a loss, smaller is better"),
        "subsample": ("max_samples", ""),
        "max_display": ("top", ""),
        "max_num_features": ("top", ""),
        "w": ("sample_weight", ""),
        "weights": ("sample_weight", ""),
    }
)
"""Arguments of other libraries that are not similar to ours, and ours."""

DATE_FORMATS = frozenset(("dayfirst", "errors", "format", "utc", "yearfirst"))
"""Arguments of `pandas.to_datetime`, which reads other dates than `parse_dates`."""

ERROR_RATE = {"coverage": "coverage=1 - alpha, such as 0.9 for alpha=0.1"}
"""Arguments that replace `alpha` besides the first one of the table."""


def check_argument(name: str, rule: Rule, value: Any) -> Any:
    """Return an argument as validated by its rule, or raise an error that names it."""
    try:
        return rule(value)
    except ValueError as error:
        raise InvalidParameterError(f"{name} must be {error}; got {short_repr(value)}.") from None


def suggests_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function: the error for a wrong argument suggests the right one.

    If the function has further arguments (``**metadata``), scikit-learn's metadata routing decides
    about them, where it is enabled.
    """
    every = inspect.signature(function).parameters.values()
    parameters = [p for p in every if p.kind is not p.VAR_KEYWORD]
    known, routes = [p.name for p in parameters], len(parameters) < len(every)
    by_position = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    is_method = known[:1] == ["self"]

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        unknown = {name: value for name, value in kwargs.items() if name not in known}
        if unknown and not (routes and routing_is_enabled()):
            kind = type(args[0]) if is_method and args else None
            raise unknown_arguments(unknown, function.__name__, known, kind)
        if len(args) > len(by_position):
            others = ", ".join(n for n in known if n not in by_position and n not in kwargs)
            given, allowed = len(args) - is_method, len(by_position) - is_method
            positional = ", ".join(by_position[is_method:])
            remedy = f"Pass the others by name: {others}" if others else f"They are {positional}"
            raise TypeError(
                f"{function.__name__}() takes at most {allowed} arguments by position; got "
                f"{given}. {remedy}."
            )
        return function(*args, **kwargs)

    return wrapper


def _callbacks_hint(name: str, value: Any) -> str:
    """Return sentences with the parameters that replace callbacks of other libraries."""
    values = value if isinstance(value, (list, tuple)) else [value]
    found = [foreign_callback(each) for each in values] if name == "callbacks" else []
    return "".join(f" {hint}." for hint in dict.fromkeys(found) if hint)


def routing_is_enabled() -> bool:
    """Return whether scikit-learn routes metadata."""
    from sklearn import get_config  # imported when needed

    return bool(get_config().get("enable_metadata_routing"))


def unknown_arguments(
    unknown: Mapping[str, Any], function_name: str, known: Sequence[str], kind: type | None
) -> TypeError:
    """Return the error for unknown arguments, which suggests the right ones.

    Parameters
    ----------
    unknown : mapping of str
        The arguments that were passed, with their values; at least one.
    function_name : str
        The function.
    known : sequence of str
        Its arguments.
    kind : type or None
        The class that has the function as a method.
    """
    own = [other for other in known if other != "self"]
    hints = {}
    for name, value in unknown.items():
        hint = _callbacks_hint(name, value)
        if not hint and kind is not None and function_name != "fit":
            hint = call_hint(name, kind, function_name, value)
        hints[name] = hint or _hint(name, function_name, own, kind)
    names = ", ".join(map(repr, hints))
    start = f"{function_name}() has no argument{'s' if len(hints) > 1 else ''} {names}."
    if len({*hints.values()}) == 1:
        return TypeError(start + next(iter(hints.values())))
    lines = [f"  {name}:{hint}" for name, hint in hints.items()]
    return TypeError("\n".join([start, *lines]))


def _hint(name: str, function_name: str, known: list[str], kind: type | None) -> str:
    """Return a sentence with the right argument, or with the right parameter of the estimator.

    Parameters
    ----------
    name : str
        The argument that was passed.
    function_name : str
        The function.
    known : list of str
        Its arguments.
    kind : type or None
        The class that has the function as a method.
    """
    ours, note = FOREIGN_ARGUMENTS.get(name, ("", ""))
    if name == "alpha" and ours not in known:
        ours = next((each for each in ERROR_RATE if each in known), ours)
        note = ERROR_RATE.get(ours, note)
    if name in DATE_FORMATS and function_name == "parse_dates":
        return (
            " Dates in another format than ISO 8601 are converted by "
            f"X[column] = pandas.to_datetime(X[column], {name}=...)."
        )
    if name in ("qid", "query_sizes") and "y" in known:
        if kind is not None and function_name == "fit":
            return " Queries are those of GradientBoostingRanker."
        return f" Pass the queries with y: y=stagewise.ranking_target(y, {name}=...)."
    if ours in known:
        return f" Here it is {ours}{f' ({note})' if note else ''}."
    parameters = [] if kind is None else list(inspect.signature(kind).parameters)
    if kind is not None and name in parameters:
        return f" It is a parameter of {kind.__name__}: set it in the constructor."
    if kind is not None and name in FOREIGN_NAMES:
        where = (
            ""
            if FOREIGN_NAMES[name].ours in FIT_ARGUMENTS
            else " Set parameters in the constructor."
        )
        return f"{name_hint(name, kind, parameters)}{where}"
    parts = [n for n in known if name in n.split("_")]  # grid: grid_resolution
    if len(parts) == 1:
        return f" Did you mean {parts[0]!r}?"
    return nearest_name(name, known) or f" Its arguments are {', '.join(known)}."
