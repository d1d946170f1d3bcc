"""The texts of `recipe()`: a fit in one line.

A sentence states the algorithm in words. Every parameter that is not stated in words, changes the
model and does not have its default follows by name, so that no parameter can be forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import fields
from itertools import groupby
from types import MappingProxyType
from typing import Any

from stagewise.boosting import responses
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.options import Option
from stagewise.training.adapters.estimator_adapter import EstimatorAdapter
from stagewise.training.adapters.tree_adapter import TreeAdapter
from stagewise.training.specs import (
    BoostingSpec,
    ForestSpec,
    HoldOutSpec,
    SingleTreeSpec,
    StoppingSpec,
)
from stagewise.validation.equality import equal_values
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import all_parameters, default_parameters

__all__ = [
    "describe_boosting",
    "describe_forest",
    "describe_object",
    "describe_rounds",
    "describe_rows",
    "describe_tree",
    "other_parameters",
]

NOT_OF_THE_MODEL = ("callbacks", "n_jobs", "oob_score", "verbose", "warm_start")
"""Parameters that do not change the model."""

RANDOM_STATE = re.compile(r"RandomState\(\w+\)( at 0x\w+)?")
"""The repr of a RandomState, which may have an address in memory."""

IN_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "boosting": (
            *("loss", "response", "step", "algorithm", "z_max", "learning_rate", "n_estimators"),
            *("max_leaf_nodes", "max_depth", "l1_regularization", "l2_regularization", "min_gain"),
            *(
                "leaves",
                "leaves__l2",
                "grow_policy",
                "criterion",
                "learner",
                "estimator",
                "step_size",
            ),
            *("subsample", "sampling", "sampling__top", "sampling__other"),
            *("dropout", "dropout__rate", "dropout__max_drop", "dropout__skip"),
            *("split", "split__method", "split__random_thresholds"),
            *("max_features", "max_features__per_tree", "max_features__per_level"),
            *("max_features__per_node", "category_encoding"),
            *("early_stopping", "validation_fraction"),
        ),
        "auto": ("loss", "quality"),
        "forest": (
            *("n_estimators", "criterion", "max_features", "max_depth", "max_leaf_nodes"),
            *("min_samples_leaf", "min_samples_split", "min_weight_fraction_leaf"),
            *("min_impurity_decrease", "bootstrap", "max_samples", "split", "early_stopping"),
        ),
        "tree": (
            *("criterion", "grow_policy", "max_depth", "max_leaf_nodes", "min_samples_leaf"),
            *("min_samples_split", "min_weight_fraction_leaf"),
            *("min_impurity_decrease", "max_features", "split", "split__method"),
            *("split__random_thresholds", "pruning", "ccp_alpha", "validation_fraction"),
        ),
        "bagging": (
            *("estimator", "n_estimators", "combine", "sampling", "max_samples", "max_features"),
            *("bootstrap_features", "early_stopping"),
        ),
        "least squares": (
            *("fit_intercept", "direction", "criterion", "alpha_enter", "alpha_remove"),
            *("n_features_to_select", "tol"),
        ),
    }
)
"""The parameters that the sentence of each kind of model states; "a__b" is b of the option a."""


def other_parameters(estimator: Any, kind: str) -> str:
    """Return the parameters that are not stated in words and not defaults, after a semicolon.

    Parameters
    ----------
    estimator : estimator
        The estimator.
    kind : str
        A key of `IN_WORDS`.

    Returns
    -------
    str
        Such as "; max_bins=63, sampling__regularization=2"; empty: there are none.
    """
    stated: Collection[str] = {*IN_WORDS[kind], *NOT_OF_THE_MODEL}
    defaults, found = default_parameters(type(estimator)), []
    for name, value in all_parameters(estimator).items():
        if name not in stated and not equal_values(value, defaults[name]):
            found.append(f"{name}={short_repr(value)}")
        if isinstance(value, Option):
            usual = default_parameters(type(value))
            found += [
                f"{name}__{own}={short_repr(number)}"
                for own, number in vars(value).items()
                if f"{name}__{own}" not in stated and not equal_values(number, usual[own])
            ]
    return f"; {', '.join(found)}" if found else ""


def describe_object(value: Any) -> str:
    """Return an estimator or a tree with those parameters that are not defaults, on one line."""
    if not isinstance(value, HistogramTree):
        text = RANDOM_STATE.sub("RandomState", repr(value))
        return " ".join(text.split()).removesuffix("()")
    own = {f.name: getattr(value, f.name) for f in fields(value)}
    usual = HistogramTree()
    changed = [f"{n}={v!r}" for n, v in own.items() if v != getattr(usual, n)]
    return f"HistogramTree({', '.join(changed)})" if changed else "HistogramTree"


def describe_rounds(stopping: StoppingSpec, hold_out: HoldOutSpec) -> str:
    """Return the number of rounds, and how it is chosen."""
    rounds = f"{stopping.n_estimators} rounds"
    if hold_out.kind == "folds":
        folds = hold_out.cv
        if isinstance(folds, str):
            return f"rounds chosen by held-out rows ({rounds} at most), then all rows"
        how = f"{folds} folds" if isinstance(folds, int) else "the folds that were passed"
        if hasattr(folds, "split"):
            how = describe_object(folds)
        return f"{rounds} at most, chosen by cross-validation ({how})"
    return f"{rounds} at most, early stopping" if hold_out.kind == "fraction" else rounds


def describe_rows(rows: str, hold_out: HoldOutSpec) -> str:
    """Return the rows of a fit without those that it holds out.

    Parameters
    ----------
    rows : str
        The sampling, such as "all rows".
    hold_out : HoldOutSpec
        Whether rows are held out.
    """
    if hold_out.kind != "fraction":
        return rows
    comma = "" if rows == "all rows" else ","
    return f"{rows}{comma} but {hold_out.fraction:g} held out"


def describe_boosting(spec: BoostingSpec, loss: str, method: str, categories: str = "") -> str:
    """Return loss x step x trees x rows x rounds.

    Parameters
    ----------
    spec : BoostingSpec
        A fit whose learner is a tree, or an estimator.
    loss, method : str
        The names of the loss, and of the response and step.
    categories : {"", "sets", "target"}
        How categories are encoded; "": it depends on the data, or the method has no choice.
    """
    recipe = spec.recipe
    return (
        f"{loss} x {method} x {_boosted_learner(spec, categories)} x "
        f"{describe_rows(recipe.sampling.description, spec.hold_out)} x "
        f"{describe_rounds(spec.stopping, spec.hold_out)}, "
        f"ν={recipe.learning_rate:g}{recipe.dropout.description}"
    )


def _boosted_learner(spec: BoostingSpec, categories: str) -> str:
    """Return the trees, or the estimator, of a boosted model."""
    learner = spec.learner
    if isinstance(learner, EstimatorAdapter):
        return describe_object(learner.estimator)
    assert isinstance(learner, TreeAdapter)
    kinds = [
        (len([*same]), _boosted_tree(tree, spec, categories))
        for tree, same in groupby(learner.trees)
    ]
    trees = " and ".join(f"{f'{n} ' if n > 1 else ''}({kind})" for n, kind in kinds)
    return f"trees {trees}{' in turn' if len(kinds) > 1 else ''}"


def _boosted_tree(tree: HistogramTree, spec: BoostingSpec, categories: str) -> str:
    """Return the rules of a tree of a boosted model."""
    learner = spec.learner
    assert isinstance(learner, TreeAdapter)
    by_class = spec.recipe.response is responses.classes
    kind = [
        *([f"split by {tree.criterion}"] if by_class else []),
        *_drawn_features(tree),
    ]
    rules = learner.feature_rules
    kind += ["random thresholds"] if tree.random_thresholds else []
    kind += ["monotone"] if rules.monotonic_cst is not None else []
    kind += ["limited interactions"] if rules.interaction_cst is not None else []
    kind += ["forced splits"] if rules.forced_splits is not None else []
    kind += ["smoothed paths"] if tree.path_smoothing > 0 else []
    kind += ["target-encoded categories"] if categories == "target" else []
    kind += ["sets of categories"] if categories == "sets" else []
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
    return ", ".join([tree.grow_policy.replace("_", "-"), *kind, *_size(tree), *penalties])


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
    share = spec.bag.max_samples
    whole = share == 1.0 and isinstance(share, float)
    some = f"{share:g} of the rows" if isinstance(share, float) else f"{share} rows"
    if spec.bag.bootstrap:
        rows = "bootstrap" if whole else f"bootstrap of {some}"
    else:
        rows = "all rows" if whole else some
    rows += ", classes balanced in each bag" if spec.bag.balanced else ""
    stopped = " at most, early stopping by out-of-bag rows" if spec.stops_by_bags else ""
    stopped = " at most, early stopping by X_val" if by_validation_rows else stopped
    tree = ", ".join(_tree_kind(spec))
    n_trees = spec.stopping.n_estimators
    return f"{criterion} x trees ({tree}) x {rows} x average of {n_trees} trees{stopped}"


def describe_tree(spec: SingleTreeSpec, criterion: str) -> str:
    """Return criterion x tree x rows x pruning."""
    tree = ", ".join([spec.tree.grow_policy.replace("_", "-"), *_tree_kind(spec)])
    alpha = f", α={spec.ccp_alpha}" if spec.pruning == "cost_complexity" else ""
    pruned = "unpruned" if spec.pruning is None else spec.pruning.replace("_", " ") + alpha
    rows = describe_rows("all rows", spec.hold_out)
    return f"{criterion} x one tree ({tree}) x {rows} x {pruned}"


def _size(tree: HistogramTree) -> list[str]:
    size = [f"at most {tree.max_leaf_nodes} leaves"] if tree.max_leaf_nodes else []
    return size + ([f"depth at most {tree.max_depth}"] if tree.max_depth else [])


def _tree_kind(spec: ForestSpec | SingleTreeSpec) -> list[str]:
    """Return the rules of the trees of a forest, or of a single tree."""
    tree, limits = spec.tree, _size(spec.tree)
    least, split = tree.min_samples_leaf, tree.min_samples_split
    limits += [f"at least {least:g} rows per leaf"] if least > 1 else []
    limits += [f"splits of at least {split:g} rows"] if split > 2 else []
    share = spec.bag.min_weight_fraction_leaf
    limits += [f"at least {share:g} of the weight per leaf"] if share > 0 else []
    limits += [f"impurity lowered by {tree.min_gain:g}"] if tree.min_gain > 0 else []
    return [
        f"{spec.split} splits",
        *(["random thresholds"] if tree.random_thresholds else []),
        *(["monotone"] if spec.monotonic_cst is not None else []),
        *_drawn_features(tree),
        *(limits or ["grown until pure"]),
    ]


def _drawn_features(tree: HistogramTree) -> list[str]:
    """Return the features that are drawn for a tree, for a level of it and for a node.

    A fraction of a later draw is of the features that the earlier one has left.
    """
    drawn: list[str] = []
    for part, max_features in (
        ("tree", tree.max_features_per_tree),
        ("level", tree.max_features_per_level),
        ("node", tree.max_features),
    ):
        drawn += _features_per(part, max_features, "these" if drawn else "the features")
    return drawn


def _features_per(part: str, max_features: Any, of: str) -> list[str]:
    if max_features is None:
        return []
    if isinstance(max_features, int):
        return [f"{max_features} feature{'' if max_features == 1 else 's'} per {part}"]
    if isinstance(max_features, float):
        return [f"{max_features:g} of {of} per {part}"] if max_features < 1 else []
    number = {"sqrt": "√p", "log2": "log₂ p", "third": "p/3"}[max_features]
    return [f"{number} features per {part}"]
