"""From the checked parameters of an estimator to the specification of its fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

from sklearn.utils import check_random_state

from stagewise.boosting.dropout import Dropout
from stagewise.boosting.recipe import Recipe
from stagewise.boosting.sampling import (
    Bootstrap,
    LargestGradients,
    MinimalVariance,
    RowFraction,
    Sampling,
    WholeGroups,
)
from stagewise.errors import InvalidParameterError
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.training.feature_rules import FeatureRules
from stagewise.training.specs import (
    BoostingSpec,
    ForestSpec,
    InputSpec,
    LearnerSpec,
    SingleTreeSpec,
    StoppingSpec,
)
from stagewise.training.tree_learner import TreeLearnerSpec

__all__ = [
    "PLAIN_TREE",
    "SAMPLINGS",
    "boosting_spec",
    "choose_seed",
    "forest_spec",
    "input_spec",
    "single_tree_spec",
    "tree_learner",
]

PLAIN_TREE = HistogramTree(min_hessian=0.0, l2=0.0)
"""The trees of the papers: only their size is limited."""

SKETCH_EPS = 0.02
"""Of split="approx": about fifty candidates per feature."""

SAMPLINGS: Mapping[str, Callable[[Mapping[str, Any]], Sampling]] = MappingProxyType(
    {
        "uniform": lambda p: RowFraction(p.get("subsample", 1.0)),
        "bootstrap": lambda p: Bootstrap(p["subsample"]),
        "goss": lambda p: LargestGradients(p["goss_top"], p["goss_other"]),
        "mvs": lambda p: MinimalVariance(p["subsample"], p["mvs_lambda"]),
        "group": lambda p: WholeGroups(p["subsample"]),
    }
)


def choose_seed(random_state: Any) -> int:
    """Return the key of all random numbers: the caller's integer, or one that is drawn."""
    if isinstance(random_state, int):
        return random_state
    return int(check_random_state(random_state).randint(0, 2**31 - 1))


def input_spec(params: Mapping[str, Any]) -> InputSpec:
    """Return how X is read."""
    return InputSpec.of(params)


def boosting_spec(params: Mapping[str, Any], recipe: Recipe, learner: LearnerSpec) -> BoostingSpec:
    """Return the specification of a boosted model.

    Parameters
    ----------
    params : mapping
        All parameters, checked, with a number for every "auto".
    recipe : Recipe
        The algorithm; its rate, sampling and dropout are taken from the parameters.
    learner : LearnerSpec
        What is fitted in every round.
    """
    complete = replace(
        recipe,
        learning_rate=params["learning_rate"],
        sampling=SAMPLINGS[params.get("sampling", "uniform")](params),
        dropout=_dropout(params),
        out_of_bag=params.get("out_of_bag", False),
    )
    return BoostingSpec(
        complete,
        learner,
        StoppingSpec.of(params),
        params.get("categorical", "sets"),
        params.get("permutations", 1),
    )


def tree_learner(params: Mapping[str, Any], tree: HistogramTree | None = None) -> TreeLearnerSpec:
    """Return the trees of a boosted model.

    Parameters
    ----------
    params : mapping
        All parameters, checked.
    tree : HistogramTree or None
        The rules of which parameters change some; None: the defaults.
    """
    same = {f.name for f in fields(HistogramTree)} - {"forced", "proposal", "epsilon"}
    own = {name: value for name, value in params.items() if name in same}
    own["max_step"] = params.get("max_step") or 0.0
    for name, field in (("l1_regularization", "l1"), ("l2_regularization", "l2")):
        if name in params:
            own[field] = params[name]
    rules = {
        name: params.get(name) for name in ("monotonic_cst", "interaction_cst", "forced_splits")
    }
    own.pop("feature_weights", None)
    split = params.get("split", "histogram")
    return TreeLearnerSpec(
        replace(tree or HistogramTree(), **own, **_proposal(params)),
        FeatureRules(
            **rules,
            feature_weights=params.get("feature_weights"),
            feature_penalty=params.get("first_use_penalty"),
        ),
        split,
        params.get("max_bins", 255),
        params["linear_l2"] if params.get("leaves", "constant") == "linear" else None,
        params.get("multi_output", "trees") == "vector",
    )


def _proposal(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return which values are candidates where each has a code of its own."""
    split = params.get("split", "histogram")
    proposal, epsilon = params.get("proposal"), params.get("epsilon")
    if split != "approx" and (proposal, epsilon) != (None, None):
        raise InvalidParameterError(
            "proposal and epsilon choose the candidates of split='approx'; with "
            f"split={split!r} they must be None."
        )
    if split != "approx":
        return {}
    return {"proposal": proposal or "global", "epsilon": epsilon or SKETCH_EPS}


def _dropout(params: Mapping[str, Any]) -> Dropout:
    if params.get("drop_rate", 0.0) == 0:
        return Dropout()
    return Dropout(
        params["drop_rate"],
        params["max_drop"],
        params["skip_drop"],
        params["drop_normalization"],
    )


def forest_spec(
    params: Mapping[str, Any], *, random_thresholds: bool, out_of_bag: bool
) -> ForestSpec:
    """Return the specification of a forest."""
    # Without a limit of leaves, the order in which they are split does not matter.
    growth = "best_first" if params["max_leaf_nodes"] else "depth_first"
    stopping = replace(StoppingSpec.of(params), early_stopping=False)  # no row is held out
    return ForestSpec(
        replace(_averaged_tree(params, growth), random_thresholds=random_thresholds),
        params["split"],
        params["max_bins"],
        params["bootstrap"],
        params["subsample"],
        out_of_bag,
        params["early_stopping"] and out_of_bag,
        stopping,
    )


def single_tree_spec(params: Mapping[str, Any]) -> SingleTreeSpec:
    """Return the specification of a single tree."""
    pruning, alpha = params["pruning"], params["ccp_alpha"]
    held_out, by_folds = False, pruning == "cost_complexity" and alpha == "cv"
    if pruning in ("reduced_error", "early_stopping"):
        held_out = True
    return SingleTreeSpec(
        replace(
            _averaged_tree(params, params["growth"]),
            random_thresholds=params["random_thresholds"],
        ),
        params["split"],
        params["max_bins"],
        pruning,
        alpha,
        params["one_standard_error"],
        params["missing"],
        StoppingSpec(
            early_stopping="cv" if by_folds else held_out,
            cv=params["ccp_cv"],
            validation_fraction=params["validation_fraction"],
            n_iter_no_change=params["patience"],
            tol=params["tol"],
            reason=f"pruning={pruning!r}",
        ),
    )


def _averaged_tree(params: Mapping[str, Any], growth: str) -> HistogramTree:
    """Return the rules of a tree that grows until its leaves are pure."""
    return HistogramTree(
        max_leaf_nodes=params["max_leaf_nodes"],
        max_depth=params["max_depth"],
        min_samples_leaf=params["min_samples_leaf"],
        min_hessian=0.0,
        min_gain=params["min_impurity_decrease"],
        l2=0.0,
        criterion=params["criterion"].replace("squared_error", "gini"),  # of ±1 they are the same
        grow_policy=growth,
        max_features=params["max_features"],
        grow_until_pure=True,
        category_smoothing=0.0,
        category_l2=0.0,
    )
