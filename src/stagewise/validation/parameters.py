"""The checks of the parameters of estimators.

One table has one rule for each name. An error message has the name of the parameter, the allowed
values and the value that was passed. The checks do not depend on data.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from stagewise.errors import InvalidParameterError, UnknownLossError
from stagewise.validation import rules
from stagewise.validation.foreign_callbacks import callbacks
from stagewise.validation.foreign_hints import foreign_name_hint, foreign_value_hint
from stagewise.validation.foreign_losses import foreign_loss_hint, objective_hint
from stagewise.validation.foreign_trees import OBJECTIVES
from stagewise.validation.messages import refused_word, short_repr
from stagewise.validation.rules import Number, OneOf, Rule, flag
from stagewise.validation.translated_call import changes_defaults, translated_call
from stagewise.validation.uses import check_rows, check_uses

__all__ = [
    "RULES",
    "all_parameters",
    "check_parameter",
    "check_parameters",
    "default_parameters",
    "hint_with_value",
    "name_hint",
    "nearest_name",
    "nested_hint",
    "option_classes",
    "suggests_names",
    "unknown_loss",
    "unknown_parameters",
]

SIMILAR = 0.65
"""The least similarity of a name that is suggested: max_dept and max_depth have 0.94."""

ABSENT = object()
"""The value of an attribute that an estimator does not have."""

NO_LIMIT = ((-1, "LightGBM", "None"), (0, "LightGBM and XGBoost", "None"))
"""Numbers that mean no limit in other libraries."""

_share = Number(0.0, 1.0, open_low=True)
_inner_share = Number(0.0, 1.0, open_low=True, open_high=True)
_size = 2**31 - 1

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "init": rules.start,
        "class_order": rules.class_order,
        "response": OneOf(("newton", "gradient")),
        "step": OneOf(("auto", "newton", "region_optimum", "line_search")),
        "resample": flag,
        "corrective": OneOf((None, "each_round", "end")),
        "fit_intercept": flag,
        "algorithm": OneOf(("discrete", "real")),
        "criterion": OneOf(("misclassification", "gini", "entropy")),
        "z_max": Number(0.0, open_low=True),
        "learning_rate": Number(0.0, open_low=True),
        "n_estimators": Number(1, 10_000_000, whole=True),
        "max_leaf_nodes": Number(2, _size, whole=True, or_none=True, foreign=NO_LIMIT),
        "max_depth": Number(1, _size, whole=True, or_none=True, foreign=NO_LIMIT),
        "min_samples_leaf": rules.least_rows,
        "min_samples_split": rules.least_split,
        "min_weight_fraction_leaf": Number(0.0, 0.5),
        "min_hessian": Number(0.0),
        "l1_regularization": Number(0.0),
        "l2_regularization": Number(0.0),
        "min_gain": Number(0.0),
        "max_step": Number(0.0, open_low=True, or_none=True, foreign=NO_LIMIT[1:]),
        "grow_policy": OneOf(
            ("best_first", "depth_wise", "symmetric"),
            (
                ("lossguide", "XGBoost and CatBoost", "best_first"),
                ("depthwise", "XGBoost and CatBoost", "depth_wise"),
                ("symmetrictree", "CatBoost", "symmetric"),
            ),
        ),
        "subsample": _share,
        "max_samples": _share,
        "oob_score": flag,
        "path_smoothing": Number(0.0),
        "random_thresholds": flag,
        "max_bins": Number(2, 65_535, whole=True),
        "missing_values": rules.missing_values,
        "categorical_features": rules.categorical,
        "handle_unknown": OneOf(("missing", "error", "prior")),
        "early_stopping": rules.stopping,
        "cv": rules.folds,
        "validation_fraction": _inner_share,
        "n_iter_no_change": Number(
            1, _size, whole=True, foreign=((0, "LightGBM and XGBoost", "early_stopping=False"),)
        ),
        "tol": Number(0.0),
        "eval_metric": rules.metric,
        "time_limit": Number(0.0, open_low=True, or_none=True),
        "warm_start": flag,
        "random_state": rules.seed,
        "verbose": rules.verbosity,
        "callbacks": callbacks,
        "quantile": rules.quantiles,
    }
)


def default_parameters(kind: type) -> Mapping[str, Any]:
    """Return the parameters of a class and of its base classes, with their defaults.

    A subclass may have a constructor with fewer parameters; the constructor that it calls sets the
    others.
    """
    return _of_class(kind).defaults


class _OfClass(NamedTuple):
    """The defaults and the rules of the parameters of a class."""

    defaults: Mapping[str, Any]
    rules: Mapping[str, Rule]


@functools.lru_cache(maxsize=256)  # a signature takes a tenth of a millisecond
def _of_class(kind: type) -> _OfClass:
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if "__init__" in vars(base) and base is not object:
            found |= _defaults_of(base.__init__)  # type: ignore[misc]
    rules = {**RULES, **getattr(kind, "_rules", {})}
    return _OfClass(MappingProxyType(found), MappingProxyType(rules))


def _defaults_of(constructor: Callable[..., Any]) -> dict[str, Any]:
    """Return the parameters of a constructor, with their defaults."""
    named = list(inspect.signature(constructor).parameters.values())[1:]
    kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return {p.name: p.default for p in named if p.kind not in kinds}


def _rules_of(kind: type) -> Mapping[str, Rule]:
    """Return the rules of the parameters of a class, with those of the table."""
    return _of_class(kind).rules


def all_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator, with those that a subclass hides."""
    found = {}
    for name in default_parameters(type(estimator)):
        value = getattr(estimator, name, ABSENT)
        if value is not ABSENT:
            found[name] = value
    return found


def check_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator, checked and converted to plain Python types.

    The rules of its class (`_rules`) take precedence over the table. A parameter that would have no
    effect with the others is an error, by `USES` and by the `_uses` of the class.

    Raises
    ------
    InvalidParameterError
        With the name of the parameter, the allowed values, and the value.
    """
    checked = all_parameters(estimator)
    for name in _rules_of(type(estimator)):
        if name in checked:  # not every estimator has every parameter
            checked[name] = check_parameter(estimator, name)
    check_uses(estimator, checked, default_parameters(type(estimator)))
    check_rows(checked, type(estimator).__name__)
    return dict(checked)


def check_parameter(estimator: Any, name: str) -> Any:
    """Return one parameter of an estimator, checked and converted to a plain Python type."""
    rule, value = _rules_of(type(estimator))[name], getattr(estimator, name)
    try:
        return rule(value)
    except InvalidParameterError:  # of an option, complete
        raise
    except ValueError as error:
        raise InvalidParameterError(
            f"The parameter {name!r} of {type(estimator).__name__} must be {error}; "
            f"got {short_repr(value)}."
        ) from None


OTHER_WAYS: Mapping[str, str] = MappingProxyType(
    {
        "missing_strategy": (
            " Only single trees replace missing values. To replace them before this fit, use "
            "scikit-learn's make_pipeline(SimpleImputer(), {}())."
        )
    }
)
"""How an estimator without a parameter gets its effect; {} is the name of the estimator."""


def nearest_name(name: str, names: Iterable[str], module: str = "") -> str:
    """Return a sentence that suggests the most similar name of a module, or an empty string."""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=SIMILAR)
    return f" Did you mean {f'{module}.'.lstrip('.') + close[0]!r}?" if close else ""


def unknown_loss(
    loss: Any, owner: str, names: Iterable[str], forms: str, hint: str = ""
) -> UnknownLossError:
    """Return the error for an unknown loss, with ours: of another library, or similar.

    `forms` are words about what else `owner`, the estimator, accepts; `hint` is a sentence about
    losses that no other library has.
    """
    known = list(names)
    hint = foreign_loss_hint(loss, known) or hint or nearest_name(str(loss), known)
    allowed = f"one of {', '.join(map(repr, known))}, {forms}"
    return UnknownLossError(refused_word("loss", owner, loss, allowed, hint))


def name_hint(name: str, kind: type, names: Iterable[str]) -> str:
    """Return a sentence that suggests our name of a parameter, or an empty string.

    The names of other libraries come first, then those of the parameters of options and of other
    estimators, then the most similar one.

    Parameters
    ----------
    name : str
        The name that was passed.
    kind : type
        The class of the estimator. Rules of it that allow options have `kinds`, their classes.
    names : iterable of str
        The parameters of the estimator.
    """
    known, rules_of_kind = list(names), _rules_of(kind)
    foreign = foreign_name_hint(name, kind, known, rules_of_kind)
    if foreign:
        return foreign
    fit = getattr(kind, "fit", None)
    if fit is not None and name in inspect.signature(fit).parameters:
        return f" It is an argument of fit: fit(X, y, {name}=...)."
    for parameter in known:
        rule = rules_of_kind.get(parameter)
        for option in getattr(rule, "kinds", ()):
            supported = name not in getattr(rule, "unsupported", ())
            if name in inspect.signature(option).parameters and supported:
                usage = f"{parameter}={option.__name__}({name}=...)"
                return f" It is a parameter of {option.__name__}: {usage}."
    other = _class_with(name, kind)
    if not other:
        return nearest_name(name, known)
    remedy = OTHER_WAYS.get(name, "").format(kind.__name__) if hasattr(kind, "fit") else ""
    return f" It is a parameter of {other}.{remedy}"


def _class_with(name: str, kind: type) -> str:
    """Return a class beside another one in this package that has a parameter; empty: none.

    Parameters
    ----------
    name : str
        The name of the parameter.
    kind : type
        The class that does not have it: an estimator or an option.
    """
    package = __name__.partition(".")[0] + "."
    found: set[type] = set()
    unread: list[type] = [c for c in kind.__mro__ if c.__module__.startswith(package)][-1:]
    while unread:
        base = unread.pop()
        found.add(base)
        below: list[type] = type.__subclasses__(base)
        unread += [c for c in below if c.__module__.startswith(package)]
    names = [
        c.__name__
        for c in found
        if "__init__" in vars(c) and name in inspect.signature(c).parameters and c is not kind
    ]
    task = "Classifier" if kind.__name__.endswith("Classifier") else "Regressor"
    order = sorted(names, key=lambda n: (not n.endswith(task), "Gradient" not in n, n))
    return order[0] if order else ""


def nested_hint(parameter: str, own: str, kind: type) -> str:
    """Return a sentence with the option that has a parameter, or an empty string.

    Parameters
    ----------
    parameter, own : str
        The parameter of the estimator, and that of its option.
    kind : type
        The class of the estimator. Rules of it that allow options have `kinds`, their classes.
    """
    options = option_classes(parameter, [own], kind)
    usages = [f"{parameter}={option.__name__}({own}=...)" for option in options]
    return f" Set {' or '.join(usages)}." if usages else ""


def option_classes(parameter: str, own: Iterable[str], kind: type) -> list[type]:
    """Return the options of a parameter of an estimator that have some parameters of their own."""
    rule = getattr(kind, "_rules", {}).get(parameter)
    names, refused = set(own), set(getattr(rule, "unsupported", ()))
    options = getattr(rule, "kinds", ())
    return [k for k in options if names <= {*inspect.signature(k).parameters} - refused]


def unknown_parameters(
    unknown: Sequence[str], passed: Mapping[str, Any], kind: type, names: Iterable[str]
) -> str:
    """Return the message for unknown parameters of a class: all of them, and the call to paste.

    Parameters
    ----------
    unknown : sequence of str
        The parameters that the class does not have; at least one.
    passed : mapping of str
        All parameters that were passed, with their values.
    kind, names
        As of `name_hint`.
    """
    known = list(names)
    call = translated_call(kind, passed, known, _rules_of(kind))
    if len(unknown) == 1:
        lines = [call] if call and changes_defaults(passed, known) else []
        first = (
            f"{kind.__name__} has no parameter {unknown[0]!r}."
            f"{hint_with_value(unknown[0], passed, kind, known)}"
        )
        return "\n".join([first, *lines])
    hints = {name: hint_with_value(name, passed, kind, known).strip() for name in unknown}
    lines = [
        f"  {hint if name in hint else f'{name}: {hint}'}" for name, hint in hints.items() if hint
    ]
    start = f"{kind.__name__} has no parameters {', '.join(map(repr, unknown))}."
    return "\n".join([start, *lines, *([call] if call else [])])


def hint_with_value(name: str, passed: Mapping[str, Any], kind: type, names: Iterable[str]) -> str:
    """Return the hint for a parameter with its value.

    `passed` are the parameters with their values; the others are as of `name_hint`.
    """
    known, value = list(names), passed.get(name)
    if name in OBJECTIVES:
        return name_hint(name, kind, known) + objective_hint(value, kind)
    rules_of_kind = _rules_of(kind)
    of_value = foreign_value_hint(name, value, kind, known, rules_of_kind)
    return of_value or name_hint(name, kind, known)


def suggests_names(init: Callable[..., None]) -> Callable[..., None]:
    """Decorate a constructor: the error for an unknown parameter suggests the right name."""
    names = [n for n in inspect.signature(init).parameters if n != "self"]

    @functools.wraps(init)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        if unknown := [name for name in kwargs if name not in names]:
            raise TypeError(unknown_parameters(unknown, kwargs, type(self), names))
        init(self, *args, **kwargs)

    return wrapper
