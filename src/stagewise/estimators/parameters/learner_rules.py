"""The checks of a `HistogramTree` that is the learner of an estimator.

Its fields are checked by the rules of the parameters with the same names. A field that would have
no effect there, or a combination that the core does not grow, is an error. The checks do not depend
on data; `training/feature_rules.py` compares the fields with the features of a fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from stagewise.errors import InvalidParameterError
from stagewise.estimators.parameters.tree_needs import NEEDS
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import RULES
from stagewise.validation.rules import Number, Rule, feature_count, flag

__all__ = ["check_tree"]

_size = 2**31 - 1
_position = Number(0, _size, whole=True)


@dataclass(frozen=True)
class _TupleOf:
    """A tuple of values that a function accepts.

    Parameters
    ----------
    item : callable
        Returns a value as a plain Python type, or raises ValueError.
    allowed : str
        The allowed values in messages.
    """

    item: Callable[[Any], Any]
    allowed: str

    def __call__(self, value: Any) -> tuple[Any, ...]:
        """Return the values, or raise ValueError with the allowed ones."""
        try:
            if isinstance(value, tuple):
                return tuple(map(self.item, value))
        except ValueError:
            pass
        raise ValueError(f"a tuple of {self.allowed}")


def _direction(value: Any) -> int:
    number: int = Number(-1, 1, whole=True)(value)
    return number


def _group(value: Any) -> tuple[int, ...]:
    return _TupleOf(_position, "positions")(value)


def _forced_splits(value: Any) -> tuple[tuple[int, float, int, int], ...]:
    allowed = (
        "a tuple of (feature, threshold, left, right), where left and right are the positions of "
        "later splits in the tuple, or -1"
    )
    if not isinstance(value, tuple) or any(
        not isinstance(split, tuple) or len(split) != 4 for split in value
    ):
        raise ValueError(allowed)
    found: list[tuple[int, float, int, int]] = []
    for own, (feature, threshold, *sides) in enumerate(value):
        try:
            left, right = (Number(-1, len(value) - 1, whole=True)(side) for side in sides)
            number = Number(float("-inf"))(threshold)
            found.append((_position(feature), number, left, right))
        except ValueError:
            raise ValueError(allowed) from None
        if any(0 <= side <= own for side in (left, right)):
            raise ValueError(allowed)
    children = [side for *_, left, right in found for side in (left, right) if side >= 0]
    if len(set(children)) < len(children):
        raise ValueError(allowed)
    return tuple(found)


LEARNER_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **RULES,
        "max_features": feature_count,
        "max_features_per_tree": feature_count,
        "max_features_per_level": feature_count,
        "max_step": Number(0.0, or_none=True),
        "l1": RULES["l1_regularization"],
        "l2": RULES["l2_regularization"],
        "grow_until_pure": flag,
        "one_vs_rest": _position,
        "category_smoothing": Number(0.0),
        "category_l2": Number(0.0),
        "category_chance": Number(0.0),
        "max_interaction_order": _position,
        "monotone": _TupleOf(_direction, "-1, 0 and 1, one for each feature"),
        "interaction_groups": _TupleOf(_group, "groups, each a tuple of positions of features"),
        "feature_penalty": _TupleOf(Number(0.0), "numbers, at least 0, one for each feature"),
        "used_features": _TupleOf(_position, "positions of features"),
        "feature_weights": _TupleOf(Number(0.0), "numbers, at least 0, one for each feature"),
        "forced_splits": _forced_splits,
    }
)
"""The rules of the fields of a `HistogramTree`."""

UNUSED = ("proposal", "sketch_eps")
"""Fields without an effect: the trees of a learner are grown on the bins of the entire table."""

FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "max_features__per_node": "max_features",
        "split__random_thresholds": "random_thresholds",
        "split__forced_splits": "forced_splits",
    }
)
"""The fields of a `HistogramTree` by the names that `NEEDS` has for them."""


def check_tree(tree: HistogramTree, estimator_name: str, *, of_classes: bool) -> HistogramTree:
    """Return a tree with checked fields, converted to plain Python types.

    Parameters
    ----------
    tree : HistogramTree
        The learner.
    estimator_name : str
        The estimator's name, for messages.
    of_classes : bool
        Whether the trees are classification trees, which have a criterion.

    Raises
    ------
    InvalidParameterError
        With the name of the field, the allowed values, and the value.
    """
    default, checked = HistogramTree(), {}
    for name, value in vars(tree).items():
        unused = name in UNUSED or (name == "criterion" and not of_classes)
        if unused and value != getattr(default, name):
            why = (
                "of classes" if name == "criterion" else "of GradientBoosting* with split='approx'"
            )
            raise _error(
                estimator_name,
                name,
                value,
                f"has an effect only for trees {why}: leave it at {getattr(default, name)!r}",
            )
        if name in UNUSED:
            continue
        try:
            checked[name] = LEARNER_RULES[name](value)
        except ValueError as error:
            raise _error(estimator_name, name, value, f"must be {error}") from None
    checked["max_step"] = checked["max_step"] or 0.0
    found = replace(tree, **checked)
    if found.grow_policy == "symmetric":
        _check_symmetric(found, estimator_name)
    return found


def _check_symmetric(tree: HistogramTree, estimator_name: str) -> None:
    why, needs = NEEDS["grow_policy", "symmetric"]
    for name, field in FIELDS.items():
        value = getattr(tree, field) or None if field == "forced_splits" else getattr(tree, field)
        if value not in needs[name]:
            allowed = " or ".join(map(repr, needs[name]))
            raise _error(
                estimator_name,
                field,
                value,
                f"must be {allowed} with grow_policy='symmetric', which {why}",
            )


def _error(estimator_name: str, name: str, value: Any, rest: str) -> InvalidParameterError:
    return InvalidParameterError(
        f"The learner of {estimator_name}, a HistogramTree, has {name}={short_repr(value)}; it "
        f"{rest}."
    )
