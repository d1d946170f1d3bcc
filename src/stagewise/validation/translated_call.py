"""The constructor call that replaces one with parameters of other libraries.

Each parameter of the table `FOREIGN_NAMES` becomes the parameter here, with its value where the
value means the same, or with a converted one. What cannot be converted is named beside the call.
This module must not validate parameters: it only tries whether a rule accepts a value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from stagewise.validation.foreign_hints import argument_of_value, is_true_of
from stagewise.validation.foreign_losses import LOSS_PARAMETERS, default_loss, loss_of_task, task_of
from stagewise.validation.foreign_metrics import foreign_metric
from stagewise.validation.foreign_names import FOREIGN_NAMES, LEFT_OUT, ForeignName
from stagewise.validation.foreign_trees import (
    OBJECTIVES,
    draws_no_rows,
    notes_about_defaults,
    tree_shape,
)

__all__ = ["changes_defaults", "translated_call"]

LONGEST_VALUE = 80
"""The largest number of characters of a value in a call; longer ones are shown as an ellipsis."""


class _DefaultError(Exception):
    """The value is the default here: nothing needs to be passed."""


class _UntranslatedError(Exception):
    """The value has no counterpart that follows from it alone."""


def _half(value: Any) -> Any:
    return _unless(value, 0) / 2


def _unless(value: Any, default: Any) -> Any:
    """Return a value, unless it is the one that means nothing here."""
    if value == default:
        raise _DefaultError
    return value


def _no_limit(value: Any) -> Any:
    """Return a depth, unless it means that there is no limit."""
    if value is not None and value <= 0:
        raise _DefaultError
    return value


def _drop(value: Any) -> Any:
    raise _DefaultError


def _same(value: Any) -> Any:
    return value


def _policy(value: Any) -> Any:
    """Return our name of a policy of growth."""
    return GROW_POLICIES.get(str(value).lower(), value)


def _lines(value: Any) -> Any:
    """Return verbose: a number of rounds between lines is 1 here."""
    return min(max(value, 0), 1) if isinstance(value, int) and value not in (0, 1, 2) else value


def _metrics(value: Any) -> Any:
    """Return our names of metrics; a name that only we have stays."""
    if isinstance(value, (list, tuple)):
        return [_metrics(each) for each in value]
    return (foreign_metric(value)[1] or value) if isinstance(value, str) else value


GROW_POLICIES: Mapping[str, str] = MappingProxyType(
    {"lossguide": "best_first", "depthwise": "depth_wise", "symmetrictree": "symmetric"}
)
"""Values of `grow_policy` of XGBoost and CatBoost in lower case."""

CONVERSIONS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "min_samples_split": lambda n: max(1, n // 2),
        **dict.fromkeys(("gamma", "min_split_loss", "min_split_gain", "min_gain_to_split"), _half),
        "max_delta_step": lambda value: _unless(value, 0),
        **dict.fromkeys(("bagging_freq", "subsample_freq"), _drop),
        **dict.fromkeys(("use_best_model", "enable_categorical", "first_metric_only"), _drop),
        **dict.fromkeys(("device", "task_type", "tree_learner", "copy_X"), _drop),
        **dict.fromkeys(("alpha", "depth", "bagging_fraction", "sub_row"), _same),
        **dict.fromkeys(LEFT_OUT, _drop),
        "metric": _metrics,
        "max_leaves": lambda value: _unless(value, 0),
        "verbosity": lambda value: int(value > 1),
        "silent": lambda value: int(not value),
        "logging_level": lambda value: int(value != "Silent"),
    }
)
"""Values here, of values of other libraries that mean something else."""


SAME_NAMES: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "max_depth": _no_limit,
        "verbose": _lines,
        "eval_metric": _metrics,
        "grow_policy": _policy,
    }
)
"""Values here, of parameters that other libraries have under the same name."""


def translated_call(
    kind: type, passed: Mapping[str, Any], known: Collection[str], rules: Mapping[str, Any]
) -> str:
    """Return lines with the call to paste; empty: nothing can be translated.

    Parameters
    ----------
    kind : type
        The class of the estimator, or of the option.
    passed : mapping of str
        The parameters that were passed, ours among them.
    known : collection of str
        Its parameters.
    rules : mapping
        Their rules.
    """
    if "alpha" in passed and {"lambda", "eta"} & set(passed):  # XGBoost's own configuration
        passed = {"reg_alpha" if name == "alpha" else name: v for name, v in passed.items()}
    passed, own_loss = _without_loss_parameters(passed, task_of(kind))
    arguments: dict[str, str] = {}
    options: dict[str, tuple[str, dict[str, str]]] = {}
    left = []
    for name in sorted(passed, key=lambda name: name not in known):  # ours take precedence
        try:
            ours, option, text = _translated(name, passed[name], kind, known, rules)
        except _DefaultError:
            continue
        except (_UntranslatedError, TypeError, ValueError):
            left.append(name)
            continue
        taken = ours in arguments and (ours not in options or options[ours][0] != option[0])
        if taken and text.startswith(f"{arguments[ours]}, "):
            arguments[ours] = text  # od_wait, besides od_type
        elif taken:
            same = f"{arguments[ours]}, ".startswith(f"{text}, ")
            left += [] if same else [name]
        elif option[0]:
            own = options.setdefault(ours, (option[0], {}))[1]
            own.setdefault(option[1], text)
            inside = ", ".join(f"{key}={each}" for key, each in own.items())
            arguments[ours] = f"{option[0]}({inside})"
        else:
            arguments[ours] = text
    arguments |= own_loss
    arguments |= tree_shape(passed, known, arguments)
    if draws_no_rows(passed, known):
        arguments.pop("subsample", None)
    if not arguments:
        return ""
    listed = ", ".join(f"{name}={text}" for name, text in arguments.items())
    rest = f" (without {', '.join(left)})" if left else ""
    names = sorted({option for option, _ in options.values()})
    imports = f"from stagewise import {', '.join(names)}\n" if names else ""
    imports = f"import stagewise\n{imports}" if "stagewise." in listed else imports
    notes = "".join(f"{note}\n" for note in notes_about_defaults(passed, known, arguments))
    return f"{notes}{imports}The call here{rest}: {kind.__name__}({listed})"


def changes_defaults(
    passed: Mapping[str, Any], known: Collection[str], depth: str = "max_depth"
) -> bool:
    """Return whether defaults of another library give a call another meaning."""
    given = {depth: ""} if {"depth", depth} & set(passed) else {}
    return bool(tree_shape(passed, known, given) or notes_about_defaults(passed, known, given))


def _without_loss_parameters(
    passed: Mapping[str, Any], task: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the parameters besides those of a loss with its own one, and the loss as an argument.

    LightGBM's alpha is Huber's δ in units of y, and 0.9 if it is not passed; of scikit-learn's
    loss="huber" it is the quantile.
    """
    rest = dict(passed)
    for objective in OBJECTIVES:
        loss = str(passed.get(objective)).lower()
        for (theirs, name), (ours, default) in LOSS_PARAMETERS.items():
            if task != "regression" or loss != theirs or "loss" in passed:
                continue
            if name not in passed and theirs != "huber":
                continue
            del rest[objective]
            return rest, {"loss": ours.format(_text(rest.pop(name, default)))}
    return rest, {}


def _our_loss(value: Any, kind: type) -> str:
    """Return our name of the loss of another library."""
    task = task_of(kind)
    ours = loss_of_task(value, task)
    if not ours:
        raise _UntranslatedError
    return str(_unless(ours, default_loss(task)))


def _translated(
    name: str, value: Any, kind: type, known: Collection[str], rules: Mapping[str, Any]
) -> tuple[str, tuple[str, str], str]:
    """Return our parameter, the option with its own parameter, and the text of the value."""
    if name in known:
        if name in SAME_NAMES:
            value = SAME_NAMES[name](value)
        return name, ("", ""), _accepted(value, rules.get(name))
    entry: ForeignName | None = FOREIGN_NAMES.get(name)
    while entry is not None and not is_true_of(entry, kind, known, rules):
        entry = entry.otherwise
    ours = None if entry is None else argument_of_value(entry, value, kind, known, rules)
    if ours is not None:
        return _argument(_unless(ours, ""))
    if name in OBJECTIVES:
        value = _our_loss(value, kind)
    elif name in CONVERSIONS:
        value = CONVERSIONS[name](value)
    if entry is None or entry.ours not in known or (entry.note and name not in CONVERSIONS):
        raise _UntranslatedError
    if not entry.usage or name in CONVERSIONS:
        return entry.ours, ("", ""), _accepted(value, rules.get(entry.ours))
    usage = ast.parse(f"f({entry.usage})", mode="eval").body
    assert isinstance(usage, ast.Call)
    if len(usage.keywords) != 1:
        return _with_condition(usage, entry.ours, value, rules)
    argument = usage.keywords[0].value
    if isinstance(argument, ast.Call) and len(argument.keywords) == 1:
        inner = argument.keywords[0]
        option = (ast.unparse(argument.func), str(inner.arg))
        return entry.ours, option, _filled(inner.value, value)
    return entry.ours, ("", ""), _filled(argument, value)


def _argument(text: str) -> tuple[str, tuple[str, str], str]:
    """Return the parts of an argument of the table of values, which may name an estimator."""
    ours, sign, value = text.partition("=")
    if not sign:
        raise _UntranslatedError
    return ours, ("", ""), repr(ast.literal_eval(value))


def _with_condition(
    usage: ast.Call, ours: str, value: Any, rules: Mapping[str, Any]
) -> tuple[str, tuple[str, str], str]:
    """Return the one argument of several that has the value; the others are written before it."""
    places = [k for k in usage.keywords if ast.unparse(k.value) == "..."]
    if len(places) != 1 or isinstance(usage.keywords[0].value, ast.Call):
        raise _UntranslatedError
    others = ", ".join(f"{k.arg}={ast.unparse(k.value)}" for k in usage.keywords[:-1])
    text = _accepted(value, rules.get(ours))
    first, _, words = others.partition("=")
    return first, ("", ""), f"{words}, {places[0].arg}={text}"


def _filled(argument: ast.expr, value: Any) -> str:
    """Return an argument with the value in the place of an ellipsis."""
    if isinstance(argument, ast.Constant) and argument.value is Ellipsis:
        return _text(value)
    if isinstance(argument, (ast.Call, ast.Dict)) and "..." in ast.unparse(argument):
        return ast.unparse(argument).replace("...", _text(value))
    if value is False or value is None:
        raise _DefaultError
    return ast.unparse(argument)


def _accepted(value: Any, rule: Any) -> str:
    """Return the text of a value that the rule of our parameter accepts."""
    if rule is not None:
        rule(value)
    return _text(value)


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE and not text.startswith("<") else "..."
