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
        "intercept": flag,
        "algorithm": OneOf(("discrete", "real")),
        "criterion": OneOf(("misclassification", "gini", "entropy")),
        "limit": Number(0.0, open_low=True),
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
        "leaves": OneOf(("constant", "linear")),
        "linear_l2": Number(0.0),
        "growth": OneOf(("best_first", "depth_wise", "symmetric")),
        "multi_output": OneOf(("trees", "vector")),
        "split": OneOf(("histogram", "exact", "approx")),
        "proposal": OneOf((None, "global", "local")),
        "epsilon": Number(0.0, 1.0, open_low=True, open_high=True, or_none=True),
        "subsample": _share,
        "sampling": OneOf(("uniform", "bootstrap", "goss", "mvs", "group")),
        "goss_top": _inner_share,
        "goss_other": _inner_share,
        "mvs_lambda": Number(0.0, open_low=True),
        "drop_rate": Number(0.0, 1.0),
        "max_drop": Number(1, _size, whole=True, or_none=True),
        "skip_drop": Number(0.0, 1.0, open_high=True),
        "drop_normalization": OneOf(("tree", "forest")),
        "out_of_bag": flag,
        "columns_per_tree": _share,
        "columns_per_level": _share,
        "columns_per_node": _share,
        "path_smoothing": Number(0.0),
        "random_thresholds": flag,
        "max_bins": Number(2, 65_535, whole=True),
        "missing_values": rules.missing_values,
        "categorical_features": rules.categorical,
        "on_unseen": OneOf(("missing", "error", "prior")),
        "categorical": OneOf(("auto", "sets", "statistics")),
        "permutations": Number(1, 64, whole=True),
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
        "power": Number(1.0, 2.0, open_low=True, open_high=True, or_none=True),
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
    Use(("max_bins",), "split", lambda s: s == "histogram", "set split='histogram'"),
    Use(("subsample",), "sampling", lambda s: s != "goss", "set goss_top and goss_other"),
    Use(("goss_top", "goss_other"), "sampling", lambda s: s == "goss", "set sampling='goss'"),
    Use(("permutations",), "categorical", lambda c: c != "sets", "set categorical='statistics'"),
    Use(("mvs_lambda",), "sampling", lambda s: s == "mvs", "set sampling='mvs'"),
    Use(
        ("alpha_enter", "alpha_remove"),
        "criterion",
        lambda criterion: criterion == "p_value",
        "set criterion='p_value'",
    ),
    Use(("alpha_enter",), "direction", lambda d: d != "backward", "set alpha_remove"),
    Use(("alpha_remove",), "direction", lambda d: d != "forward", "set alpha_enter"),
    Use(("epsilon",), "step", lambda step: step == "epsilon", "set step='epsilon'"),
    Use(("learning_rate",), "step", lambda step: step != "epsilon", "set epsilon instead"),
    Use(("linear_l2",), "leaves", lambda leaves: leaves == "linear", "set leaves='linear'"),
    Use(
        ("max_drop", "skip_drop", "drop_normalization"),
        "drop_rate",
        lambda rate: rate > 0,
        "set drop_rate above 0",
    ),
)


def _check_uses(estimator: Any, params: Mapping[str, Any]) -> None:
    """Raise InvalidParameterError if a parameter was set that has no effect beside the others."""
    usuals, who = default_parameters(type(estimator)), type(estimator).__name__
    for use in (*USES, *getattr(estimator, "own_uses", ())):
        if use.of not in params or use.matters(params[use.of]):
            continue
        for name in use.names:
            usual = usuals[name] if name in params else None
            if name in params and params[name] != usual:
                raise InvalidParameterError(
                    f"The parameter {name!r} of {who} has no effect with "
                    f"{use.of}={params[use.of]!r}; {use.remedy}, or leave {name!r} at {usual!r}. "
                    f"Got {short_repr(params[name])}."
                )


def _check_rows(params: Mapping[str, Any], who: str) -> None:
    """Raise InvalidParameterError if the rows cannot be drawn as they shall be."""
    sampling = params.get("sampling", "uniform")
    if sampling == "goss" and not params["goss_top"] + params["goss_other"] < 1:
        raise InvalidParameterError(
            f"The parameters 'goss_top' and 'goss_other' of {who} must be below 1 in sum, so that "
            f"rows are left out; got {params['goss_top']:g} and {params['goss_other']:g}."
        )
    if sampling in ("mvs", "group") and params["subsample"] >= 1:
        raise InvalidParameterError(
            f"The parameter 'subsample' of {who} must be below 1 with sampling={sampling!r}, so "
            f"that rows are left out; got {params['subsample']:g}."
        )
    if params.get("out_of_bag") is not True:
        return
    if sampling == "uniform" and params["subsample"] >= 1 and not params.get("bootstrap"):
        other = ", or bootstrap=True" if "bootstrap" in params else ""
        raise InvalidParameterError(
            f"out_of_bag=True needs rows outside the bag: set subsample below 1{other}."
        )
    if sampling in ("goss", "mvs"):
        raise InvalidParameterError(
            f"out_of_bag=True needs rows that were left out by chance, but sampling={sampling!r} "
            "leaves out those with small gradients, whose loss says nothing of others. Set "
            "out_of_bag=False, or sampling='uniform', 'bootstrap' or 'group'."
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

    Where its class has `own_rules`, these come before the table's. What would have no effect beside
    the others is refused, by `USES` and by the `own_uses` of the class.

    Raises
    ------
    InvalidParameterError
        Naming the parameter, what it may be, and what it is.
    """
    checked = all_parameters(estimator)
    for name in {**RULES, **getattr(estimator, "own_rules", {})}:
        if name in checked:  # not every estimator has every parameter
            checked[name] = check_parameter(estimator, name)
    _check_uses(estimator, checked)
    _check_rows(checked, type(estimator).__name__)
    return dict(checked)


TREE_RULES: Mapping[str, Rule] = MappingProxyType(
    {
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
    rule: Rule = {**RULES, **getattr(estimator, "own_rules", {})}[name]
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
        if name == "epsilon" and value == 0:
            continue
        rule = TREE_RULES[name] if name in TREE_RULES else RULES[name]
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


def suggests_names(init: Callable[..., None]) -> Callable[..., None]:
    """Make a constructor answer an unknown parameter with the nearest known one."""
    names = [n for n in inspect.signature(init).parameters if n != "self"]

    @functools.wraps(init)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in names:
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r}.{nearest_name(name, names)}"
                )
        init(self, *args, **kwargs)

    return wrapper
