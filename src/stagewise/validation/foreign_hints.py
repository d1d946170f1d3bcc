"""Sentences about parameters of other libraries, for error messages.

A message names a parameter only if the estimator in hand accepts it as it is written there;
otherwise it names an estimator that does. If the value decides what replaces a parameter, the
message is about the value.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from stagewise.validation.foreign_names import FIT_ARGUMENTS, FOREIGN_NAMES, ForeignName

__all__ = ["argument_of_value", "foreign_name_hint", "foreign_value_hint", "is_true_of", "words_of"]


def foreign_name_hint(
    name: str, kind: type, known: Collection[str], rules: Mapping[str, Any]
) -> str:
    """Return a sentence about the parameter of another library; empty: it is not in the table.

    Parameters
    ----------
    name : str
        The name that was passed.
    kind : type
        The class of the estimator, or of the option.
    known : collection of str
        Its parameters.
    rules : mapping
        Their rules. A rule that allows options has `kinds`, their classes, and perhaps
        `unsupported`, the parameters of options that it refuses.
    """
    found = FOREIGN_NAMES.get(name)
    if found is None or name in known:
        return ""
    start = _start(name, found)
    own = _parameter_of_option(found, kind)
    if own:
        return f"{start} here it is {own}."
    entry: ForeignName | None = found
    while entry is not None:
        if is_true_of(entry, kind, known, rules):
            words = words_of(rules.get(entry.ours)) if not (entry.usage or entry.note) else ""
            here = f"it is {entry.remedy}" if entry.ours else entry.note
            return _sentence(f"{start} here {here}{words}")
        entry = entry.otherwise
    if not found.ours:
        return f"{start} no estimator of this library has such a parameter."
    return _sentence(
        f"{start} {kind.__name__} has no such parameter, but {found.of} has {found.remedy}"
    )


def foreign_value_hint(
    name: str, value: Any, kind: type, known: Collection[str], rules: Mapping[str, Any]
) -> str:
    """Return a sentence about a value of a parameter of another library; empty: there is none.

    `name`, `kind`, `known` and `rules` are as in `foreign_name_hint`.
    """
    found = FOREIGN_NAMES.get(name)
    if found is None or name in known:
        return ""
    ours = argument_of_value(found, value, kind, known, rules)
    if ours is None:
        return ""
    here = f"is {ours}" if ours else "is the default: leave it out"
    return f"{_start(name, found)} here {value!r} {here}."


def argument_of_value(
    entry: ForeignName, value: Any, kind: type, known: Collection[str], rules: Mapping[str, Any]
) -> str | None:
    """Return the argument, or the estimator, that replaces a value of another library.

    Empty: it is the default here. None: the table does not have the value, or the estimator does
    not accept the argument.
    """
    ours = dict(entry.values).get(str(value).lower()) if isinstance(value, str) else None
    if ours and "=" in ours:
        return ours if is_true_of(replace(entry, ours="", usage=ours), kind, known, rules) else None
    task = "Classifier" if kind.__name__.endswith("Classifier") else "Regressor"
    return None if ours is None else ours.format(task=task)


def _start(name: str, entry: ForeignName) -> str:
    """Return the beginning of a sentence: whose name it is."""
    *others, last = entry.libraries
    whose = " and ".join(filter(None, [", ".join(others), last]))
    return f" {name} is the name of {whose};"


def _sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends with an ellipsis."""
    return text if text.endswith("...") else f"{text}."


def words_of(rule: Any) -> str:
    """Return the words that a rule allows, after a colon; empty: it allows other values."""
    words = [*getattr(rule, "choices", ()), *getattr(rule, "words", ())]
    words = [f'"{word}"' for word in (*words, *getattr(rule, "options", ())) if word is not None]
    return f": {', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else ""


def _arguments(usage: str) -> dict[str, ast.expr]:
    """Return the arguments of a usage, by name."""
    call = ast.parse(f"f({usage})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {argument.arg: argument.value for argument in call.keywords if argument.arg}


def _parameter_of_option(entry: ForeignName, kind: type) -> str:
    """Return the parameter of an option class that a usage sets; empty: none."""
    for value in _arguments(entry.usage).values():
        if isinstance(value, ast.Call) and ast.unparse(value.func) == kind.__name__:
            return str(value.keywords[-1].arg)
    return ""


def is_true_of(
    entry: ForeignName, kind: type, known: Collection[str], rules: Mapping[str, Any]
) -> bool:
    """Return whether an estimator accepts what an entry of the table names."""
    if not set(entry.needs) <= set(known):
        return False
    if entry.ours in FIT_ARGUMENTS:
        return entry.ours in inspect.signature(getattr(kind, "fit", kind)).parameters
    if entry.ours and entry.ours not in known:
        return False
    return all(
        name in known and _accepts(rules.get(name), value)
        for name, value in _arguments(entry.usage).items()
    )


def _accepts(rule: Any, value: ast.expr) -> bool:
    """Return whether a rule accepts a value of a usage; None: there is no rule."""
    if rule is None or (isinstance(value, ast.Constant) and value.value is Ellipsis):
        return True
    if isinstance(value, ast.Call):
        option = ast.unparse(value.func)
        refused = getattr(rule, "unsupported", ())
        return option in [kind.__name__ for kind in getattr(rule, "kinds", ())] and not any(
            argument.arg in refused for argument in value.keywords
        )
    try:
        rule(ast.literal_eval(value))
    except ValueError:
        return False
    return True
