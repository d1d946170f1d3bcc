"""Makes the specification of a fit from the checked parameters of an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, Literal

from sklearn.utils import check_random_state

from stagewise.boosting.dropout import Dropout
from stagewise.boosting.recipe import ZERO, Recipe
from stagewise.boosting.sampling import (
    Bootstrap,
    FixedSize,
    GossSampling,
    MvsSampling,
    RowFraction,
    Sampling,
    WholeGroups,
)
from stagewise.estimators.parameters.defaults import AUTO_RULES
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.options import (
    OPTION_RULES,
    Dart,
    FeatureSampling,
    Goss,
    LinearLeaves,
    Mvs,
    OrderedTargetEncoding,
    SplitSearch,
    conformal_rule,
)
from stagewise.training.adapters.tree_adapter import TreeAdapter
from stagewise.training.feature_rules import FeatureRules
from stagewise.training.specs import (
    BagSpec,
    BoostingSpec,
    ForestSpec,
    HoldOutSpec,
    InputSpec,
    LearnerAdapter,
    SingleTreeSpec,
    StoppingSpec,
)
from stagewise.validation.rules import OneOf, Rule
from stagewise.validation.uses import Use

__all__ = [
    "BOOSTING_RULES",
    "BOOSTING_USES",
    "PLAIN_TREE",
    "boosting_spec",
    "choose_seed",
    "forest_spec",
    "hold_out_spec",
    "input_spec",
    "make_sampling",
    "pruning_hold_out",
    "single_tree_spec",
    "tree_adapter",
]

PLAIN_TREE = HistogramTree(min_hessian=0.0, l2=0.0)
"""The trees of AdaBoost and LogitBoost, as in the papers: only their size is limited."""

SKETCH_EPS = 0.02
"""For split="approx": about fifty candidates per feature."""

FOLDS = 5
"""The folds whose held-out rows have conformity scores, or calibrate probabilities."""

BOOSTING_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **OPTION_RULES,
        **AUTO_RULES,
        "conformal": conformal_rule("split", "cv", "cv+"),
        "calibration": OneOf((None, "auto", "temperature", "beta", "isotonic")),
    }
)
"""The rules of parameters that differ for gradient boosting."""

BOOSTING_USES = (
    Use(
        ("subsample",),
        "sampling",
        lambda sampling: not isinstance(sampling, Goss),
        "set sampling=Goss(top=..., other=...)",
    ),
)


OWN_RULES = frozenset(f.name for f in fields(HistogramTree)) - {"max_features", "feature_penalty"}
"""The parameters of estimators that are rules of a tree of the same name and meaning."""


def make_sampling(params: Mapping[str, Any]) -> Sampling:
    """Return the sampling of rows."""
    sampling = params.get("sampling", "uniform")
    share = params.get("subsample", params.get("max_samples", 1.0))
    if isinstance(sampling, Goss):
        return GossSampling(sampling.top, sampling.other)
    if isinstance(sampling, Mvs):
        return MvsSampling(share, sampling.regularization)
    kinds: dict[str, type[Sampling]] = {
        "uniform": RowFraction,
        "fixed_size": FixedSize,
        "bootstrap": Bootstrap,
        "group": WholeGroups,
    }
    kind: Any = kinds[sampling]
    made: Sampling = kind(share)
    return made


def choose_seed(random_state: Any) -> int:
    """Return the seed of a fit: the integer that was passed, or one that is drawn."""
    if isinstance(random_state, int):
        return random_state
    return int(check_random_state(random_state).randint(0, 2**31 - 1))


def input_spec(params: Mapping[str, Any]) -> InputSpec:
    """Return the specification of how X is read."""
    return InputSpec.of(params)


def boosting_spec(
    params: Mapping[str, Any], recipe: Recipe, learner: LearnerAdapter, hold_out: HoldOutSpec
) -> BoostingSpec:
    """Return the specification of a boosted model.

    Parameters
    ----------
    params : mapping
        All parameters, checked, with a number for every "auto".
    recipe : Recipe
        The algorithm; its rate, sampling and dropout are taken from the parameters.
    learner : LearnerAdapter
        The learner that is fitted in every round.
    hold_out : HoldOutSpec
        The rows that are held out.
    """
    dropout, encoding = params.get("dropout"), params.get("category_encoding", "sets")
    if isinstance(dropout, Dart):
        drop = Dropout(dropout.rate, dropout.max_drop, dropout.skip, dropout.normalization)
        recipe = replace(recipe, dropout=drop)
    complete = replace(
        recipe,
        learning_rate=params["learning_rate"],
        sampling=make_sampling(params),
        out_of_bag=params.get("oob_score", False),
        start=_start(params.get("init", "mean"), recipe),
    )
    by_target = isinstance(encoding, OrderedTargetEncoding)
    option = params.get("conformal")
    if option is not None and option.method == "cv+" and not by_target:
        encoding = "sets"  # the models of folds have the columns of the model
    return BoostingSpec(
        complete,
        learner,
        hold_out,
        StoppingSpec.of(params),
        "target" if by_target else encoding,
        encoding.n_orderings if by_target else 1,
    )


def _start(init: Any, recipe: Recipe) -> tuple[float, ...] | None:
    """Return F before the first round; "mean" is where the algorithm starts by itself.

    The predictions of an estimator are added to 0.
    """
    if isinstance(init, str):
        return ZERO if init == "zero" else recipe.start
    return init if isinstance(init, tuple) else ZERO


def hold_out_spec(params: Mapping[str, Any]) -> HoldOutSpec:
    """Return the rows that `early_stopping` holds out; with n_estimators="auto" there are some.

    Parameters
    ----------
    params : mapping
        All parameters, checked. conformal="cv" needs folds, also if the number of rounds is given;
        "split" keeps rows out of the fit.
    """
    option = params.get("conformal")
    method = "" if option is None else option.method
    by_folds = method in ("cv", "cv+")
    hold_out = _stopping_hold_out(params)
    if by_folds and hold_out.kind == "none":
        hold_out = replace(hold_out, kind="folds", chooses=False, uses_passed_rows=False)
    if hold_out.kind == "folds" and (by_folds or params.get("calibration") is not None):
        hold_out = replace(hold_out, parts=FOLDS)  # every row is held out once
    kept = option.fraction if option is not None and method == "split" else 0.0
    return replace(hold_out, calibration=kept) if kept else hold_out


def _stopping_hold_out(params: Mapping[str, Any]) -> HoldOutSpec:
    """Return the rows that decide when the fit stops."""
    stopping = params.get("early_stopping", "auto")
    searches = params["n_estimators"] == "auto"
    if stopping is True:
        return HoldOutSpec("fraction", params.get("validation_fraction", 0.1))
    if stopping is False or (isinstance(stopping, str) and stopping == "auto"):
        cv, option = ("auto", "n_estimators='auto'") if searches else (5, "early_stopping=True")
        return HoldOutSpec(
            "folds" if searches else "none",
            cv=cv,
            extends=searches,
            parameter=option,
            uses_passed_rows=stopping is not False,
        )
    cv = 5 if isinstance(stopping, str) else stopping
    return HoldOutSpec("folds", cv=cv, extends=searches, uses_passed_rows=False)


def tree_adapter(params: Mapping[str, Any], tree: HistogramTree | None = None) -> TreeAdapter:
    """Return the trees of a boosted model.

    Parameters
    ----------
    params : mapping
        All parameters, checked, with a value for every "auto"; "shapes" as of `resolve_auto`.
    tree : HistogramTree or None
        The rules that the parameters do not set; None: the defaults.
    """
    shapes = [{**params, **shape} for shape in params.get("shapes", ({},))]
    drawn = params.get("max_features", FeatureSampling())
    search, leaves = params.get("split", SplitSearch()), params.get("leaves", "constant")
    return TreeAdapter(
        tuple(_tree_rules(shape, tree) for shape in shapes),
        FeatureRules(
            params.get("monotonic_cst"),
            params.get("interaction_cst"),
            drawn.weights,
            params.get("feature_penalty"),
            search.forced_splits,
        ),
        search.method,
        params.get("max_bins", 255),
        leaves.l2 if isinstance(leaves, LinearLeaves) else None,
        isinstance(leaves, str) and leaves == "vector",
    )


def _tree_rules(params: Mapping[str, Any], tree: HistogramTree | None) -> HistogramTree:
    """Return the rules of a tree; `tree` has those that the parameters do not set."""
    own = {name: value for name, value in params.items() if name in OWN_RULES}
    own["max_step"] = params.get("max_step") or 0.0
    for name, field in (("l1_regularization", "l1"), ("l2_regularization", "l2")):
        if name in params:
            own[field] = params[name]
    drawn = params.get("max_features", FeatureSampling())
    own["max_features_per_tree"] = drawn.per_tree
    own["max_features_per_level"] = drawn.per_level
    own["max_features"] = drawn.per_node
    search = params.get("split", SplitSearch())
    own["random_thresholds"] = search.random_thresholds
    if search.method == "approx":
        own["proposal"] = search.proposal or "global"
        own["sketch_eps"] = search.sketch_eps or SKETCH_EPS
    return HistogramTree(**own) if tree is None else replace(tree, **own)


def forest_spec(
    params: Mapping[str, Any], *, random_thresholds: bool, out_of_bag: bool
) -> ForestSpec:
    """Return the specification of a forest."""
    # Without max_leaf_nodes, the order of the splits does not matter.
    growth = "best_first" if params["max_leaf_nodes"] else "depth_first"
    return ForestSpec(
        replace(_averaged_tree(params, growth), random_thresholds=random_thresholds),
        params["split"],
        params["max_bins"],
        BagSpec(
            params["bootstrap"],
            params["max_samples"],
            params.get("class_weight") == "balanced_subsample",
            params["min_weight_fraction_leaf"],
        ),
        params["monotonic_cst"],
        out_of_bag,
        params["early_stopping"] is True and out_of_bag,
        StoppingSpec.of(params),
    )


def pruning_hold_out(params: Mapping[str, Any]) -> HoldOutSpec:
    """Return the rows by which a single tree is pruned."""
    pruning, alpha = params["pruning"], params["ccp_alpha"]
    held_out: Literal["none", "fraction", "folds"] = "none"
    if pruning in ("reduced_error", "early_stopping"):
        held_out = "fraction"
    elif pruning == "cost_complexity" and alpha == "cv":
        held_out = "folds"
    return HoldOutSpec(
        held_out,
        params["validation_fraction"],
        params["ccp_cv"],
        parameter=f"pruning={pruning!r}",
    )


def single_tree_spec(params: Mapping[str, Any], hold_out: HoldOutSpec) -> SingleTreeSpec:
    """Return the specification of a single tree."""
    return SingleTreeSpec(
        replace(
            _averaged_tree(params, params["grow_policy"]),
            random_thresholds=params["split"].random_thresholds,
        ),
        params["split"].method,
        params["max_bins"],
        BagSpec(min_weight_fraction_leaf=params["min_weight_fraction_leaf"]),
        params["monotonic_cst"],
        params["pruning"],
        params["ccp_alpha"],
        params["one_standard_error"],
        params["missing_strategy"],
        hold_out,
        StoppingSpec(n_iter_no_change=params["n_iter_no_change"], tol=params["tol"]),
    )


def _averaged_tree(params: Mapping[str, Any], growth: str) -> HistogramTree:
    """Return the rules of a tree that grows until its leaves are pure."""
    same = {"squared_error": "gini", "log_loss": "entropy"}  # of ±1 the first two are the same
    return HistogramTree(
        max_leaf_nodes=params["max_leaf_nodes"],
        max_depth=params["max_depth"],
        min_samples_leaf=params["min_samples_leaf"],
        min_samples_split=params["min_samples_split"],
        min_hessian=0.0,
        min_gain=params["min_impurity_decrease"],
        l2=0.0,
        criterion=same.get(params["criterion"], params["criterion"]),
        grow_policy=growth,
        max_features=params["max_features"],
        grow_until_pure=True,
        category_smoothing=0.0,
        category_l2=0.0,
    )
