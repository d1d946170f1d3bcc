"""The texts of `recipe()`: a fit in one line, with those rules of trees that are not defaults."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from stagewise.boosting import responses
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.training.adapters.tree_adapter import TreeAdapter
from stagewise.training.specs import BoostingSpec, ForestSpec, SingleTreeSpec

__all__ = ["STOPPED", "describe_boosting", "describe_forest", "describe_tree"]

STOPPED = MappingProxyType(
    {False: "", True: " at most, early stopping", "cv": " at most, chosen by cross-validation"}
)
"""How the number of rounds is chosen."""


def describe_boosting(spec: BoostingSpec, loss: str, method: str) -> str:
    """Return loss x step x trees x rows x rounds.

    Parameters
    ----------
    spec : BoostingSpec
        A fit whose learner is a tree.
    loss, method : str
        The names of the loss, and of the response and step.
    """
    learner, recipe, stopping = spec.learner, spec.recipe, spec.stopping
    assert isinstance(learner, TreeAdapter)
    tree = learner.tree
    by_class = recipe.response is responses.classes
    kind = [
        *([f"split by {tree.criterion}"] if by_class else []),
        *_features_per("tree", tree.max_features_per_tree),
        *_features_per("level", tree.max_features_per_level),
        *_features_per("node", tree.max_features),
    ]
    rules = learner.feature_rules
    kind += ["random thresholds"] if tree.random_thresholds else []
    kind += ["monotone"] if rules.monotonic_cst is not None else []
    kind += ["limited interactions"] if rules.interaction_cst is not None else []
    kind += ["forced splits"] if rules.forced_splits is not None else []
    kind += ["smoothed paths"] if tree.path_smoothing > 0 else []
    kind += ["target-encoded categories"] if spec.category_encoding == "target" else []
    kind += ["vector leaves"] if learner.vector_leaves else []
    kind += ["linear leaves"] if learner.linear_l2 is not None else []
    kind += [f"{learner.split} splits"] if learner.split != "histogram" else []
    penalties = [
        f"{symbol}={number:g}"
        for symbol, number in (("λ", tree.l2), ("α", tree.l1), ("γ", tree.min_gain))
        if number > 0
    ]
    if learner.linear_l2 is not None:
        penalties.append(f"λ of slopes={learner.linear_l2:g}")
    return (
        f"{loss} x {method} x trees "
        f"({', '.join([tree.grow_policy.replace('_', '-'), *kind, *_size(tree), *penalties])}) x "
        f"{recipe.sampling.description} x {stopping.n_estimators} rounds"
        f"{STOPPED[stopping.early_stopping]}, "
        f"ν={recipe.learning_rate:g}{recipe.dropout.description}"
    )


def describe_forest(spec: ForestSpec, criterion: str, *, by_validation_rows: bool) -> str:
    """Return criterion x trees x rows x average.

    Parameters
    ----------
    spec : ForestSpec
        The fit.
    criterion : str
        The impurity that splits lower.
    by_validation_rows : bool
        Whether only X_val can stop the fit.
    """
    share = spec.max_samples
    if spec.bootstrap:
        rows = f"bootstrap of {share:g} of the rows" if share < 1 else "bootstrap"
    else:
        rows = f"{share:g} of the rows" if share < 1 else "all rows"
    stopped = " at most, early stopping by out-of-bag rows" if spec.stops_by_bags else ""
    stopped = " at most, early stopping by X_val" if by_validation_rows else stopped
    tree = ", ".join(_tree_kind(spec.tree, spec.split))
    n_trees = spec.stopping.n_estimators
    return f"{criterion} x trees ({tree}) x {rows} x average of {n_trees} trees{stopped}"


def describe_tree(spec: SingleTreeSpec, criterion: str) -> str:
    """Return criterion x tree x rows x pruning."""
    tree = ", ".join([spec.tree.grow_policy.replace("_", "-"), *_tree_kind(spec.tree, spec.split)])
    alpha = f", α={spec.ccp_alpha}" if spec.pruning == "cost_complexity" else ""
    pruned = "unpruned" if spec.pruning is None else spec.pruning.replace("_", " ") + alpha
    held = spec.stopping.early_stopping is True
    rows = f"all rows but {spec.stopping.validation_fraction:g} held out" if held else "all rows"
    return f"{criterion} x one tree ({tree}) x {rows} x {pruned}"


def _size(tree: HistogramTree) -> list[str]:
    size = [f"at most {tree.max_leaf_nodes} leaves"] if tree.max_leaf_nodes else []
    return size + ([f"depth at most {tree.max_depth}"] if tree.max_depth else [])


def _tree_kind(tree: HistogramTree, split: str) -> list[str]:
    """Return the rules of the trees of a forest, or of a single tree."""
    limits = _size(tree)
    least = tree.min_samples_leaf
    limits += [f"at least {least:g} rows per leaf"] if least > 1 else []
    limits += [f"impurity lowered by {tree.min_gain:g}"] if tree.min_gain > 0 else []
    return [
        f"{split} splits",
        *(["random thresholds"] if tree.random_thresholds else []),
        *_features_per("node", tree.max_features),
        *(limits or ["grown until pure"]),
    ]


def _features_per(part: str, max_features: Any) -> list[str]:
    if max_features is None:
        return []
    if isinstance(max_features, int):
        return [f"{max_features} feature{'' if max_features == 1 else 's'} per {part}"]
    if isinstance(max_features, float):
        return [f"{max_features:g} of the features per {part}"] if max_features < 1 else []
    number = {"sqrt": "√p", "log2": "log₂ p", "third": "p/3"}[max_features]
    return [f"{number} features per {part}"]
