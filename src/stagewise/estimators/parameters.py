"""What a parameter may be, and what is said when it is something else.

The one idea: one rule per name, in one table; a message says the name, what is allowed and what was
given. Must not know data.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from stagewise.data.messages import shown
from stagewise.errors import InvalidParameterError

__all__ = [
    "RULES",
    "Number",
    "OneOf",
    "Rule",
    "Use",
    "check_parameter",
    "check_parameters",
    "check_tree",
    "flag",
    "nearest_name",
    "suggests_names",
]

Rule = Callable[[Any], Any]
"""Returns the value to use, or raises ValueError(what is allowed)."""


@dataclass(frozen=True)
class Number:
    """A number in an interval; None if that is allowed."""

    low: float
    high: float = math.inf
    whole: bool = False
    open_low: bool = False
    open_high: bool = False
    or_none: bool = False

    def __call__(self, value: Any) -> Any:
        """Return the number, or raise ValueError(what is allowed)."""
        if value is None and self.or_none:
            return None
        if not self._fits(value):
            raise ValueError(self._allowed())
        return int(value) if self.whole else float(value)

    def _fits(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return False
        try:
            number = float(value)
        except OverflowError:  # an integer or a fraction beyond all floats
            return False
        if not math.isfinite(number) or (self.whole and number != int(number)):
            return False
        above = number > self.low if self.open_low else number >= self.low
        return above and (number < self.high if self.open_high else number <= self.high)

    def _allowed(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        low = f"{'above' if self.open_low else 'at least'} {self.low:g}"
        limit = f"{self.high:,.0f}" if self.whole else f"{self.high:g}"
        high = f" and {'below' if self.open_high else 'at most'} {limit}"
        none = ", or None" if self.or_none else ""
        return f"{kind} {low}{high if self.high < math.inf else ''}{none}"


@dataclass(frozen=True)
class OneOf:
    """One of some values, by identity or as equal text."""

    choices: tuple[Any, ...]

    def __call__(self, value: Any) -> Any:
        """Return the value, or raise ValueError(what is allowed)."""
        if not any(value is c or (isinstance(value, str) and value == c) for c in self.choices):
            raise ValueError("one of " + ", ".join(repr(c) for c in self.choices))
        return value


def flag(value: Any) -> bool:
    """Return True or False, or raise ValueError(what is allowed)."""
    # numpy's booleans come out of parameter grids
    if type(value).__name__ not in ("bool", "bool_"):
        raise ValueError("True or False")
    return bool(value)


def _stopping(value: Any) -> Any:
    if isinstance(value, str) and value == "cv":
        return value
    try:
        return flag(value)
    except ValueError:
        raise ValueError("True, False or 'cv'") from None


def _folds(value: Any) -> Any:
    """Return a number of folds, or what says them itself."""
    if type(value) is not bool and isinstance(value, (int, np.integer)) and value >= 2:
        return int(value)
    if hasattr(value, "split") and not isinstance(value, (str, type)):
        return value
    pairs = value if isinstance(value, (list, tuple)) else []
    if pairs and all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        return value
    raise ValueError(
        "a whole number of folds, at least 2, a scikit-learn splitter, or a list of pairs of "
        "indices"
    )


def _seed(value: Any) -> Any:
    """Seeds of scikit-learn's kinds; integers up to what the core's hash takes."""
    if value is None or isinstance(value, np.random.RandomState):
        return value
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or not 0 <= int(value) < 2**64:
        raise ValueError("None, a numpy RandomState, or a whole number from 0 to 2**64 - 1")
    return int(value)


def _callbacks(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    if callable(value):
        return (value,)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        found = tuple(value)
        if all(callable(v) for v in found):
            return found
    raise ValueError("None, a callable, or a list of callables")


def _missing_values(value: Any) -> tuple[int | float, ...]:
    if value is None:
        return ()
    found = [_plain_number(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
    plain = tuple(number for number in found if number is not None)
    if not found or len(plain) < len(found):
        raise ValueError(
            "None, a finite number, or a list of finite numbers, whole ones of at most 64 bits "
            "(NaN is always missing)"
        )
    return plain


def _categorical(value: Any) -> Any:
    """Return one of the words, None, or a tuple of names, of places or of truth values."""
    if value is None or (isinstance(value, str) and value in ("from_dtype", "text")):
        return value
    items = value.tolist() if hasattr(value, "tolist") else value  # also an index of pandas
    if isinstance(items, (list, tuple)):
        plain = tuple(item.item() if isinstance(item, np.generic) else item for item in items)
        if any({type(item) for item in plain} <= {kind} for kind in (str, int, bool)):
            return plain
    raise ValueError(
        "'from_dtype', 'text', None, or a list: of column names, of places counted from 0, or of "
        "one truth value for each column"
    )


def _plain_number(value: Any) -> int | float | None:
    """Return a number as Python has it, or None for what is none that a model file can hold."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value) if -(2**63) <= int(value) < 2**64 else None
    if isinstance(value, (float, np.floating)) and math.isfinite(value):
        return float(value)
    return None


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
        "min_samples_leaf": Number(0.0, 2.0**53, open_low=True),
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
        "missing_values": _missing_values,
        "categorical_features": _categorical,
        "on_unseen": OneOf(("missing", "error", "prior")),
        "categorical": OneOf(("auto", "sets", "statistics")),
        "permutations": Number(1, 64, whole=True),
        "early_stopping": _stopping,
        "cv": _folds,
        "validation_fraction": _inner_share,
        "n_iter_no_change": Number(1, _size, whole=True),
        "tol": Number(0.0),
        "time_limit": Number(0.0, open_low=True, or_none=True),
        "warm_start": flag,
        "random_state": _seed,
        "verbose": Number(0, 2, whole=True),
        "callbacks": _callbacks,
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
    signature, who = inspect.signature(type(estimator)).parameters, type(estimator).__name__
    for use in (*USES, *getattr(estimator, "own_uses", ())):
        if use.of not in params or use.matters(params[use.of]):
            continue
        for name in use.names:
            usual = signature[name].default if name in params else None
            if name in params and params[name] != usual:
                raise InvalidParameterError(
                    f"The parameter {name!r} of {who} has no effect with "
                    f"{use.of}={params[use.of]!r}; {use.remedy}, or leave {name!r} at {usual!r}. "
                    f"Got {shown(params[name])}."
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
    if not params.get("out_of_bag"):
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


def check_parameters(estimator: Any) -> dict[str, Any]:
    """Return an estimator's parameters, checked and in their plain types.

    Where its class has `own_rules`, these come before the table's. What would have no effect beside
    the others is refused, by `USES` and by the `own_uses` of the class.

    Raises
    ------
    InvalidParameterError
        Naming the parameter, what it may be, and what it is.
    """
    checked = estimator.get_params(deep=False)
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
        "to_the_end": flag,
        "one_vs_rest": Number(0, _size, whole=True),
        "level_smoothing": Number(0.0),
        "level_l2": Number(0.0),
        "level_chance": Number(0.0),
        "most_together": Number(0, _size, whole=True),
        "monotone": tuple,
        "together": tuple,
        "first_use": tuple,
        "used": tuple,
        "feature_weights": tuple,
        "forced": tuple,
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
            f"got {shown(value)}."
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
                f"The learner of {who}, a HistogramTree, has {name}={shown(value)}; it must be "
                f"{error}."
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
