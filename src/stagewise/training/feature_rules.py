"""Rules of trees that name features: directions, interactions, penalties, weights, forced splits.

Names and positions become feature numbers here. An error names the feature and the parameter.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stagewise.data import Features
from stagewise.errors import InvalidParameterError
from stagewise.learners.histogram_tree import HistogramTree, feature_share
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = ["FeatureRules", "check_positions"]

ForcedSplits = tuple[tuple[int, float, int, int], ...]
"""(feature, threshold, number of the left split or -1, of the right one), the root's first."""


@dataclass(frozen=True)
class FeatureRules:
    """The rules of a tree that name features, as the caller passed them.

    Attributes
    ----------
    monotonic_cst, interaction_cst, feature_weights, feature_penalty, forced_splits
        See `GradientBoostingRegressor`.
    """

    monotonic_cst: Any = None
    interaction_cst: Any = None
    feature_weights: Any = None
    feature_penalty: Any = None
    forced_splits: Any = None

    def of(self, features: Features, tree: HistogramTree) -> dict[str, Any]:
        """Return the fields of a `HistogramTree` that the rules set; a rule of None sets none."""
        encoded = features.sources[features.n :]  # target-encoded columns behind the features
        found: dict[str, Any] = {}
        if self.monotonic_cst is not None:
            directions = self._directions(features)
            found["monotone"] = directions + (0,) * (len(encoded) if directions else 0)
        if self.interaction_cst is not None:
            groups, order = _interactions(self.interaction_cst, features)
            found |= {"interaction_groups": groups, "max_interaction_order": order}
        if self.feature_penalty is not None:
            found["feature_penalty"] = _numbers_by_feature(
                self.feature_penalty, features, "feature_penalty", "a number, at least 0"
            )
        if self.feature_weights is not None:
            found["feature_weights"] = self._weights(features, tree, encoded)
        if self.forced_splits is not None:
            found["forced_splits"] = _forced_splits(self.forced_splits, features)
        return found

    def _directions(self, features: Features) -> tuple[int, ...]:
        found = _numbers_by_feature(
            self.monotonic_cst, features, "monotonic_cst", "-1, 0 or 1", of=(-1, 0, 1)
        )
        for position, direction in enumerate(found):
            if direction and position in features.categorical:
                raise InvalidParameterError(
                    f"monotonic_cst: feature {_feature_label(features, position)} is categorical, "
                    "and its categories have no order; leave its direction at 0."
                )
        return tuple(int(direction) for direction in found)

    def _weights(
        self, features: Features, tree: HistogramTree, encoded: Sequence[Sequence[int]]
    ) -> tuple[float, ...]:
        weights = _numbers_by_feature(
            self.feature_weights, features, "FeatureSampling.weights", "a number, at least 0"
        )
        _check_drawn(weights, tree, features.n)
        return (*weights, *(min(weights[f] for f in sources) for sources in encoded))


def check_positions(tree: HistogramTree, features: Features) -> None:
    """Raise InvalidParameterError unless the rules of a tree fit the features of a fit."""
    n = len(features.sources)
    for name in ("monotone", "feature_penalty", "feature_weights"):
        given = getattr(tree, name)
        if given and len(given) != n:
            raise InvalidParameterError(
                f"HistogramTree.{name} has {len(given)} values, but the table has {n} features."
            )
    positions = {
        "monotone": [f for f, direction in enumerate(tree.monotone) if direction],
        "interaction_groups": [f for group in tree.interaction_groups for f in group],
        "used_features": tree.used_features,
        "forced_splits": [split[0] for split in tree.forced_splits],
    }
    for name, found in positions.items():
        for position in found:
            if position >= n:
                raise InvalidParameterError(
                    f"HistogramTree.{name}: there is no feature {position}; the table has {n}, "
                    "counted from 0."
                )
            if name in ("monotone", "forced_splits") and position in features.categorical:
                raise InvalidParameterError(
                    f"HistogramTree.{name}: feature {_feature_label(features, position)} is "
                    "categorical, and its categories have no order."
                )
    if tree.feature_weights:
        _check_drawn(tree.feature_weights, tree, n)


def _check_drawn(weights: Sequence[float], tree: HistogramTree, n_features: int) -> None:
    """Raise InvalidParameterError unless features are drawn and one of them can be."""
    drawn = {
        "per_tree": tree.max_features_per_tree,
        "per_level": tree.max_features_per_level,
        "per_node": tree.max_features,
    }
    if all(feature_share(d, n_features) >= 1 for d in drawn.values()):
        given = ", ".join(f"{name}={d!r}" for name, d in drawn.items() if d is not None)
        all_drawn = f" ({given} is all of the {n_features} features)" if given else ""
        raise InvalidParameterError(
            "The weights of FeatureSampling are the probabilities by which features are drawn, "
            f"but none are drawn{all_drawn}: set per_tree, per_level or per_node to fewer than "
            f"{n_features} features."
        )
    if not any(weights):
        raise InvalidParameterError(
            "FeatureSampling.weights must have a number above 0, so that a feature can be drawn; "
            "all are 0."
        )


def _numbers_by_feature(
    value: Any, features: Features, name: str, allowed: str, *, of: Iterable[Any] | None = None
) -> tuple[float, ...]:
    """Return one number for each feature, from a mapping by name (others: 0) or a sequence.

    Parameters
    ----------
    value : mapping, sequence or None
        The parameter; None: not set.
    features : Features
        The features of the fit.
    name, allowed : str
        The name of the parameter and the allowed numbers, for messages.
    of : iterable or None
        The allowed numbers; None: all that are finite and not negative.

    Returns
    -------
    tuple of float
        Empty if all are zero.
    """
    if value is None:
        return ()
    if isinstance(value, Mapping):
        given = [0.0] * features.n
        for key, number in value.items():
            given[_number_of(key, features, name)] = number
    else:
        given = list(value) if _is_list(value) else []
        if len(given) != features.n:
            raise InvalidParameterError(
                f"{name} must be a mapping from features to {allowed}, or a list with one of them "
                f"for each of the {features.n} features; got {short_repr(value)}."
            )
    for position, number in enumerate(given):
        if not _fits(number, of):
            raise InvalidParameterError(
                f"{name} of feature {_feature_label(features, position)} must be {allowed}; got "
                f"{short_repr(number)}."
            )
    found = tuple(float(number) for number in given)
    return found if any(found) else ()


def _interactions(value: Any, features: Features) -> tuple[tuple[tuple[int, ...], ...], int]:
    """Return groups of features that may be on one path, and the largest number on it (0: any).

    As in scikit-learn, the features that are in no group form one more group.
    """
    if value is None:
        return (), 0
    if isinstance(value, str):
        if value not in ("pairwise", "no_interactions"):
            raise InvalidParameterError(
                "interaction_cst must be None, 'pairwise', 'no_interactions' or a list of groups "
                f"of features; got {short_repr(value)}.{nearest_name(value, ['pairwise'])}"
            )
        return (), 2 if value == "pairwise" else 1
    if not _is_list(value) or not all(_is_list(group) for group in value):
        raise InvalidParameterError(
            "interaction_cst must be None, 'pairwise', 'no_interactions' or a list of groups of "
            f"features, each a list of names or positions; got {short_repr(value)}."
        )
    groups = [
        tuple(sorted({_number_of(f, features, "interaction_cst") for f in group}))
        for group in value
    ]
    named = {f for group in groups for f in group}
    rest = tuple(f for f in range(features.n) if f not in named)
    return tuple(group for group in (*groups, rest) if group), 0


def _forced_splits(value: Any, features: Features) -> ForcedSplits:
    """Return the first splits of every tree, from nested mappings.

    ``{"feature": "age", "threshold": 30, "left": {…}, "right": {…}}``; the last two may be absent.
    """
    found: list[tuple[int, float, int, int]] = []

    def add(node: Any, where: str) -> int:
        if not isinstance(node, Mapping):
            raise InvalidParameterError(
                f"forced_splits{where} must be a mapping with the keys 'feature' and 'threshold', "
                f"and perhaps 'left' and 'right'; got {short_repr(node)}."
            )
        for key in node:
            if key not in ("feature", "threshold", "left", "right"):
                raise InvalidParameterError(f"forced_splits{where} has an unknown key {key!r}.")
        feature = _number_of(node.get("feature"), features, f"forced_splits{where}")
        threshold = node.get("threshold")
        if isinstance(threshold, bool) or not isinstance(threshold, numbers.Real):
            raise InvalidParameterError(
                f"forced_splits{where} needs a number as threshold; got {short_repr(threshold)}."
            )
        if feature in features.categorical:
            raise InvalidParameterError(
                f"forced_splits{where}: feature {_feature_label(features, feature)} is "
                "categorical, and a forced split needs numbers."
            )
        own = len(found)
        found.append((feature, float(threshold), -1, -1))
        sides = [
            add(node[side], f"{where}[{side!r}]") if node.get(side) is not None else -1
            for side in ("left", "right")
        ]
        found[own] = (feature, float(threshold), sides[0], sides[1])
        return own

    if value is not None:
        add(value, "")
    return tuple(found)


def _is_list(value: Any) -> bool:
    return isinstance(value, (Sequence, np.ndarray, set, frozenset)) and not isinstance(value, str)


def _fits(number: Any, of: Iterable[Any] | None) -> bool:
    if isinstance(number, bool) or not isinstance(number, numbers.Real):
        return False
    return number in of if of is not None else 0 <= float(number) < math.inf


def _feature_label(features: Features, position: int) -> str:
    """Return the label of a feature in messages: its name, or its position without names."""
    name = list(features)[position].name
    return str(position) if name is None else repr(name)


def _number_of(key: Any, features: Features, name: str) -> int:
    names = [feature.name for feature in features]
    if isinstance(key, str):
        if key in names:
            return names.index(key)
        known = [n for n in names if n is not None]
        why = nearest_name(key, known) if known else " The table has no column names."
        raise InvalidParameterError(f"{name}: there is no feature {key!r}.{why}")
    if isinstance(key, bool) or not isinstance(key, numbers.Integral):
        raise InvalidParameterError(
            f"{name}: a feature is given by its name or its position; got {short_repr(key)}."
        )
    if not 0 <= int(key) < features.n:
        raise InvalidParameterError(
            f"{name}: there is no feature {key}; the table has {features.n}, counted from 0."
        )
    return int(key)
