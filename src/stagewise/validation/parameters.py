"""What each parameter may be, and what is said when it is something else.

The one idea: one rule per name, in one table; a message says the name, what is allowed and what was
given. Must not know data.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from stagewise.errors import InvalidParameterError
from stagewise.validation import rules
from stagewise.validation.foreign_names import foreign_name_hint
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import Number, OneOf, Rule, flag

__all__ = [
    "RULES",
    "Use",
    "all_parameters",
    "check_parameter",
    "check_parameters",
    "check_tree",
    "default_parameters",
    "name_hint",
    "nearest_name",
    "suggests_names",
]

_share = Number(0.0, 1.0, open_low=True)
_inner_share = Number(0.0, 1.0, open_low=True, open_high=True)
_size = 2**31 - 1

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "response": OneOf(("newton", "gradient")),
        "step": OneOf(("auto", "newton", "region_optimum", "line_search")),
        "resample": flag,
        "fit_intercept": flag,
        "algorithm": OneOf(("discrete", "real")),
        "criterion": OneOf(("misclassification", "gini", "entropy")),
        "z_max": Number(0.0, open_low=True),
        "learning_rate": Number(0.0, open_low=True),
        "n_estimators": Number(1, 10_000_000, whole=True),
        "max_leaf_nodes": Number(2, _size, whole=True, or_none=True),
        "max_depth": Number(1, _size, whole=True, or_none=True),
        "min_samples_leaf": rules.least_rows,
        "min_hessian": Number(0.0),
        "l1_regularization": Number(0.0),
        "l2_regularization": Number(0.0),
        "min_gain": Number(0.0),
        "max_step": Number(0.0, open_low=True, or_none=True),
        "grow_policy": OneOf(("best_first", "depth_wise", "symmetric")),
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
        "n_iter_no_change": Number(1, _size, whole=True),
        "tol": Number(0.0),
        "time_limit": Number(0.0, open_low=True, or_none=True),
        "warm_start": flag,
        "random_state": rules.seed,
        "verbose": Number(0, 2, whole=True),
        "callbacks": rules.callbacks,
        "quantile": Number(0.0, 1.0, open_low=True, open_high=True, or_none=True),
    }
)


@dataclass(frozen=True)
class Use:
    """Parameters that matter only where another one has some value."""

    names: tuple[str, ...]
    of: str
    matters: Callable[[Any], bool]
    remedy: str


USES = (
    Use(
        ("max_bins",),
        "split",
        lambda s: getattr(s, "method", s) == "histogram",
        "set split='histogram'",
    ),
    Use(
        ("alpha_enter", "alpha_remove"),
        "criterion",
        lambda criterion: criterion == "p_value",
        "set criterion='p_value'",
    ),
    Use(("alpha_enter",), "direction", lambda d: d != "backward", "set alpha_remove"),
    Use(("alpha_remove",), "direction", lambda d: d != "forward", "set alpha_enter"),
    Use(("learning_rate",), "step_size", lambda size: size is None, "set step_size instead"),
)


def _check_uses(estimator: Any, params: Mapping[str, Any]) -> None:
    """Raise InvalidParameterError if a parameter was set that has no effect beside the others."""
    usuals, who = default_parameters(type(estimator)), type(estimator).__name__
    for use in (*USES, *getattr(estimator, "_uses", ())):
        if use.of not in params or use.matters(params[use.of]):
            continue
        for name in use.names:
            usual = usuals[name] if name in params else None
            if name in params and params[name] != usual:
                raise InvalidParameterError(
                    f"The parameter {name!r} of {who} has no effect with "
                    f"{use.of}={getattr(estimator, use.of)!r}; {use.remedy}, or leave "
                    f"{name!r} at {usual!r}. Got {short_repr(params[name])}."
                )


def _check_rows(params: Mapping[str, Any], who: str) -> None:
    """Raise InvalidParameterError if sampling and out-of-bag estimates do not go together."""
    sampling = params.get("sampling", "uniform")
    kind = sampling if isinstance(sampling, str) else type(sampling).__name__.lower()
    name = "max_samples" if "max_samples" in params else "subsample"
    share = params.get(name, 1.0)
    if kind in ("mvs", "group") and share >= 1:
        raise InvalidParameterError(
            f"The parameter {name!r} of {who} must be below 1 with sampling={kind!r}, so that rows "
            f"are left out; got {share:g}."
        )
    if params.get("oob_score") is not True:
        return
    if kind == "uniform" and share >= 1 and not params.get("bootstrap"):
        other = ", or bootstrap=True" if "bootstrap" in params else ""
        raise InvalidParameterError(
            f"oob_score=True needs out-of-bag rows: set {name} below 1{other}."
        )
    if kind in ("goss", "mvs"):
        raise InvalidParameterError(
            f"oob_score=True needs rows that were left out by chance, but sampling={kind!r} "
            "leaves out those with small gradients, whose loss is not that of other rows. Set "
            "oob_score=False, or sampling='uniform', 'bootstrap' or 'group'."
        )


def default_parameters(kind: type) -> dict[str, Any]:
    """Return the parameters of an estimator's class and of those above it, with their defaults.

    A subclass may have a constructor with fewer parameters; the others are set by the constructor
    that it calls.
    """
    found: dict[str, Any] = {}
    for above in reversed(kind.__mro__):
        if "__init__" in vars(above) and above is not object:
            named = list(inspect.signature(above.__init__).parameters.values())[1:]  # type: ignore[misc]
            found |= {
                p.name: p.default for p in named if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            }
    return found


def all_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator, those that a subclass does not show included."""
    names = default_parameters(type(estimator))
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}


def check_parameters(estimator: Any) -> dict[str, Any]:
    """Return an estimator's parameters, checked and in their plain types.

    Where its class has `_rules`, these come before the table's. What would have no effect beside
    the others is refused, by `USES` and by the `_uses` of the class.

    Raises
    ------
    InvalidParameterError
        Naming the parameter, what it may be, and what it is.
    """
    checked = all_parameters(estimator)
    for name in {**RULES, **getattr(estimator, "_rules", {})}:
        if name in checked:  # not every estimator has every parameter
            checked[name] = check_parameter(estimator, name)
    _check_uses(estimator, checked)
    _check_rows(checked, type(estimator).__name__)
    return dict(checked)


LEARNER_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "max_features": rules.feature_count,
        "max_features_per_tree": rules.feature_count,
        "max_features_per_level": rules.feature_count,
        "sketch_eps": Number(0.0, 1.0, open_low=True, open_high=True),
        "l1": RULES["l1_regularization"],
        "l2": RULES["l2_regularization"],
        "proposal": OneOf(("all", "global", "local")),
        "grow_until_pure": flag,
        "one_vs_rest": Number(0, _size, whole=True),
        "category_smoothing": Number(0.0),
        "category_l2": Number(0.0),
        "category_chance": Number(0.0),
        "max_interaction_order": Number(0, _size, whole=True),
        "monotone": tuple,
        "interaction_groups": tuple,
        "feature_penalty": tuple,
        "used_features": tuple,
        "feature_weights": tuple,
        "forced_splits": tuple,
    }
)
"""Of a HistogramTree, where they are not an estimator's."""


def check_parameter(estimator: Any, name: str) -> Any:
    """Return one parameter of an estimator, checked and in its plain type."""
    rule: Rule = {**RULES, **getattr(estimator, "_rules", {})}[name]
    value = getattr(estimator, name)
    if name == "verbose" and isinstance(value, bool):
        value = int(value)
    try:
        return rule(value)
    except ValueError as error:
        raise InvalidParameterError(
            f"The parameter {name!r} of {type(estimator).__name__} must be {error}; "
            f"got {short_repr(value)}."
        ) from None


def check_tree(tree: Any, who: str) -> None:
    """Raise InvalidParameterError unless the rules of a HistogramTree make sense."""
    for name, value in vars(tree).items():
        if name == "sketch_eps" and value == 0:
            continue
        rule = LEARNER_RULES[name] if name in LEARNER_RULES else RULES[name]
        if name == "max_step" and value == 0:
            continue
        try:
            rule(value)
        except ValueError as error:
            raise InvalidParameterError(
                f"The learner of {who}, a HistogramTree, has {name}={short_repr(value)}; it must "
                f"be {error}."
            ) from None


def nearest_name(name: str, names: Iterable[str]) -> str:
    """Return a sentence that suggests the most similar name, or an empty string."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def name_hint(name: str, kind: type, names: Iterable[str]) -> str:
    """Return a sentence that suggests our name of a parameter, or an empty string.

    The names of other libraries come first, then those of the parameters of options, then the most
    similar one.

    Parameters
    ----------
    name : str
        The name that was passed.
    kind : type
        The class of the estimator. Rules of it that allow options have `kinds`, their classes.
    names : iterable of str
        The parameters of the estimator.
    """
    known, rules_of_kind = list(names), getattr(kind, "_rules", {})
    options = [
        (parameter, option)
        for parameter in known
        for option in getattr(rules_of_kind.get(parameter), "kinds", ())
    ]
    foreign = foreign_name_hint(name, known, [option.__name__ for _, option in options])
    if foreign:
        return foreign
    for parameter, option in options:
        if name in inspect.signature(option).parameters:
            usage = f"{parameter}={option.__name__}({name}=...)"
            return f" It is a parameter of {option.__name__}: {usage}."
    return nearest_name(name, known)


def suggests_names(init: Callable[..., None]) -> Callable[..., None]:
    """Make the error for an unknown parameter of a constructor suggest ours."""
    names = [n for n in inspect.signature(init).parameters if n != "self"]

    @functools.wraps(init)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in names:
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r}."
                    f"{name_hint(name, type(self), names)}"
                )
        init(self, *args, **kwargs)

    return wrapper
