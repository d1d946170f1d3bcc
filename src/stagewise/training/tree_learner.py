"""From what a caller says of trees to the rules that a tree is grown by.

The one idea: parameters, features by name and units become one `HistogramTree`. Must not know rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from stagewise.errors import InvalidParameterError
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.losses import Loss
from stagewise.training.feature_rules import (
    feature_label,
    forced_splits,
    interactions,
    numbers_by_feature,
)

__all__ = ["in_units", "make_tree", "proposal"]

EPSILON = 0.02
"""Of split="approx": about fifty candidates a feature."""
TREE_PARAMETERS = (
    "max_leaf_nodes",
    "max_depth",
    "min_samples_leaf",
    "min_hessian",
    "min_gain",
    "criterion",
    "columns_per_tree",
    "columns_per_level",
    "columns_per_node",
    "path_smoothing",
    "random_thresholds",
)
"""Those that the estimators and a tree call the same."""


def make_tree(
    params: Mapping[str, Any], features: Any, max_step: float, used: Sequence[int]
) -> HistogramTree:
    """Return the rules of a tree, its limits in spreads of the target.

    Parameters
    ----------
    params : mapping
        Checked one by one, and to make sense together.
    features : Features
        Those of the fit.
    max_step : float
        The largest value of a leaf; 0: any.
    used : sequence of int
        The features that trees of a model that is continued ask about; they cost nothing more.
    """
    return HistogramTree(
        **{name: params[name] for name in TREE_PARAMETERS if name in params},
        **_feature_rules(params, features),
        **proposal(params),
        used=tuple(used),
        l1=params["l1_regularization"],
        l2=params["l2_regularization"],
        max_step=max_step,
        growth=params["growth"],
    )


def _feature_rules(params: Mapping[str, Any], features: Any) -> dict[str, Any]:
    """Return the rules of a tree that speak of single features."""
    directions = numbers_by_feature(
        params.get("monotonic_cst"), features, "monotonic_cst", "-1, 0 or 1", of=(-1, 0, 1)
    )
    for position, direction in enumerate(directions):
        if direction and position in features.categorical:
            raise InvalidParameterError(
                f"monotonic_cst: feature {feature_label(features, position)} is categorical, "
                "and its levels have no order; leave its direction at 0."
            )
    together, most = interactions(params.get("interaction_cst"), features)
    weights = numbers_by_feature(
        params.get("feature_weights"), features, "feature_weights", "a number, at least 0"
    )
    if params.get("feature_weights") is not None and not _draws_columns(params):
        raise InvalidParameterError(
            "feature_weights says how likely a feature is to be drawn, but none are drawn: set "
            "columns_per_tree, columns_per_level or columns_per_node below 1."
        )
    told = features.sources[features.n :]  # behind the features, what their levels say
    if weights:
        weights = (*weights, *(min(weights[f] for f in sources) for sources in told))
    return {
        "monotone": tuple(int(d) for d in directions) + (0,) * (len(told) if directions else 0),
        "together": together,
        "most_together": most,
        "first_use": numbers_by_feature(
            params.get("first_use_penalty"), features, "first_use_penalty", "a number, at least 0"
        ),
        "feature_weights": weights,
        "forced": forced_splits(params.get("forced_splits"), features),
    }


def proposal(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return which values are candidates where each has a code of its own."""
    split, given = params.get("split", "histogram"), (params.get("proposal"), params.get("epsilon"))
    if split != "approx" and given != (None, None):
        raise InvalidParameterError(
            "proposal and epsilon say which values split='approx' tries; with "
            f"split={split!r} they must be None."
        )
    if split != "approx":
        return {}
    return {"proposal": given[0] or "global", "epsilon": given[1] or EPSILON}


def _draws_columns(params: Mapping[str, Any]) -> bool:
    return any(params[f"columns_per_{what}"] < 1 for what in ("tree", "level", "node"))


def in_units(tree: HistogramTree, loss: Loss, unit: float, gradient_unit: float) -> HistogramTree:
    """Return a tree whose limits are in units of the target's spread."""
    by_quantile = loss.leaf_quantile is not None
    return replace(
        tree,
        l1=tree.l1 * gradient_unit,
        min_gain=tree.min_gain * gradient_unit**2,
        first_use=tuple(price * gradient_unit**2 for price in tree.first_use),
        max_step=0.0 if by_quantile else tree.max_step * unit,
    )
