"""`recipe()` and `fit_report_` describe the fit correctly, for every estimator."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB

from estimators.every import EVERY, PUBLIC, has, is_bagging, labelled, small
from estimators.tables import make_table
from stagewise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    AutoClassifier,
    AutoRegressor,
    BaggingClassifier,
    BaggingRegressor,
    Dart,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    FeatureSampling,
    GentleBoostClassifier,
    Goss,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistogramTree,
    LinearLeaves,
    LinearRegression,
    LogitBoostClassifier,
    Mvs,
    OrderedTargetEncoding,
    RandomForestClassifier,
    RandomForestRegressor,
    SplitSearch,
    StagewiseClassifier,
    StagewiseLinearRegressor,
    StagewiseRegressor,
    StepwiseRegressor,
)
from stagewise.losses import Tweedie
from stagewise.training.describe import NOT_OF_THE_MODEL

BOOSTING = [
    (
        {"n_estimators": 100},
        ["Newton steps", "best-first", "0.7 of the features per node", "all rows", "100 rounds"],
    ),
    ({"response": "gradient"}, ["gradient"]),
    ({"max_leaf_nodes": 7, "max_depth": 3}, ["at most 7 leaves", "depth at most 3"]),
    ({"l2_regularization": 2.5, "l1_regularization": 0.5, "min_gain": 4}, ["λ=2.5, α=0.5, γ=4"]),
    ({"grow_policy": "depth_wise"}, ["depth-wise"]),
    ({"learning_rate": 0.3, "n_estimators": 17}, ["17 rounds, ν=0.3"]),
    ({"n_estimators": 1600}, ["1600 rounds, ν=0.05"]),
    ({"subsample": 0.0001}, ["0.0001 of the rows per round"]),
    ({"subsample": 0.999}, ["0.999 of the rows per round"]),
    ({"subsample": 0.25}, ["0.25 of the rows per round"]),
    (
        {"sampling": Goss(top=0.3, other=0.2)},
        ["GOSS (0.3 of all rows by", "0.2 of all rows drawn"],
    ),
    ({"sampling": Mvs(), "subsample": 0.4}, ["MVS (0.4 of the rows per round)"]),
    ({"sampling": "bootstrap"}, ["bootstrap of the rows per round"]),
    ({"dropout": Dart(rate=0.2, max_drop=3)}, ["0.2 of the rounds, at most 3, dropped in 0.5"]),
    ({"leaves": "vector"}, ["vector leaves"]),
    ({"leaves": LinearLeaves(l2=0.5)}, ["linear leaves", "λ of slopes=0.5"]),
    (
        {"max_features": FeatureSampling(per_tree=0.5, per_level="sqrt", per_node=2)},
        ["0.5 of the features per tree", "√p features per level", "2 features per node"],
    ),
    ({"split": SplitSearch(method="exact", random_thresholds=True)}, ["random thresholds, exact"]),
    ({"split": SplitSearch(forced_splits={"feature": 0, "threshold": 1})}, ["forced splits"]),
    ({"monotonic_cst": [1]}, ["monotone"]),
    ({"interaction_cst": "pairwise"}, ["limited interactions"]),
    ({"path_smoothing": 1}, ["smoothed paths"]),
    ({"category_encoding": "target"}, ["target-encoded categories"]),
    ({"n_estimators": 100, "early_stopping": True}, ["100 rounds at most, early stopping"]),
    (
        {"n_estimators": 100, "early_stopping": 3},
        ["100 rounds at most, chosen by cross-validation"],
    ),
]
NAMED = [
    ({}, ["depth at most 1", "all rows", "100 rounds, ν=1"]),
    ({"max_depth": 3, "max_leaf_nodes": 5}, ["at most 5 leaves, depth at most 3"]),
    ({"subsample": 0.5}, ["0.5 of the rows per round"]),
    ({"n_estimators": 9, "learning_rate": 0.5}, ["9 rounds, ν=0.5"]),
]
FOREST = [
    ({"max_features": 2}, ["2 features per node"]),
    ({"max_features": 0.5}, ["0.5 of the features per node"]),
    ({"max_samples": 0.5, "bootstrap": True}, ["bootstrap of 0.5 of the rows"]),
    ({"n_estimators": 7}, ["average of 7 trees"]),
    (
        {"max_leaf_nodes": 9, "min_samples_leaf": 4},
        ["at most 9 leaves", "at least 4 rows per leaf"],
    ),
    ({"min_impurity_decrease": 0.25}, ["impurity lowered by 0.25"]),
    ({"split": "exact"}, ["exact splits"]),
]
TREE = [
    ({}, ["one tree", "best-first", "exact splits", "grown until pure", "all rows", "unpruned"]),
    ({"grow_policy": "depth_wise", "max_depth": 4}, ["depth-wise", "depth at most 4"]),
    ({"split": SplitSearch(random_thresholds=True)}, ["histogram splits, random thresholds"]),
    ({"max_features": "log2"}, ["log₂ p features per node"]),
    ({"pruning": "cost_complexity", "ccp_alpha": 0.5}, ["cost complexity, α=0.5"]),
    (
        {"pruning": "reduced_error", "validation_fraction": 0.3},
        ["all rows but 0.3 held out", "reduced error"],
    ),
]
MEMBERS = [
    (
        {},
        ["bootstrap of the rows per estimator", "all columns", "100 estimators", "average"],
    ),
    ({"n_estimators": 4, "max_features": 0.5}, ["0.5 of the columns", "4 estimators"]),
    ({"sampling": "uniform", "max_samples": 0.25}, ["0.25 of the rows per estimator"]),
    ({"sampling": "folds"}, ["all folds but one", "one estimator for each fold"]),
    ({"combine": "weighted"}, ["weighted"]),
]
OWN = [
    ({}, ["newton", "auto step", "HistogramTree", "all rows", "100 rounds, ν=0.1"]),
    ({"learner": Ridge(), "step": "line_search"}, ["line search step", "Ridge"]),
    ({"sampling": "bootstrap", "subsample": 0.5}, ["bootstrap of 0.5 of the rows"]),
]
AUTO = [
    ({}, ["weighted sum of default", "linear leaves", "held out, then all rows"]),
    ({"quality": 1}, ["default with 100 rounds", "x all rows"]),
    ({"quality": 3}, ["the best of default, linear leaves"]),
    ({"quality": 5}, ["small trees", "5 folds held out"]),
]
RECIPES: dict[type, list[tuple[dict[str, Any], list[str]]]] = {
    AutoRegressor: [*AUTO, ({}, ["squared_error"]), ({"loss": "poisson"}, ["poisson"])],
    AutoClassifier: [*AUTO, ({}, ["log_loss"])],
    GradientBoostingRegressor: [
        *BOOSTING,
        ({}, ["squared_error", "λ=3", "symmetric", "in turn", "chosen by held-out rows"]),
        ({"n_estimators": 100}, ["squared_error", "λ=1", "100 rounds, ν=0.1", "all rows"]),
        ({"loss": "huber"}, ["huber"]),
    ],
    GradientBoostingClassifier: [
        *BOOSTING,
        ({}, ["log_loss", "λ=3", "symmetric", "in turn", "chosen by held-out rows"]),
        ({"n_estimators": 100}, ["log_loss", "λ=3", "100 rounds, ν=0.1", "all rows"]),
        ({"loss": "exponential"}, ["exponential"]),
    ],
    AdaBoostClassifier: [
        *NAMED,
        ({}, ["exponential", "votes", "split by misclassification"]),
        ({"algorithm": "real"}, ["log odds of leaves"]),
        ({"criterion": "gini"}, ["split by gini"]),
    ],
    AdaBoostRegressor: [
        ({}, ["linear loss", "weighted median", "depth at most 3", "50 rounds, ν=1"]),
        ({"loss": "square", "n_estimators": 7}, ["square loss", "7 rounds"]),
        ({"estimator": Ridge()}, ["Ridge"]),
    ],
    GentleBoostClassifier: [*NAMED, ({}, ["exponential", "Newton steps"])],
    LogitBoostClassifier: [
        *NAMED,
        ({}, ["log_loss", "working response up to ±4"]),
        ({"z_max": 3}, ["working response up to ±3"]),
    ],
    RandomForestClassifier: [
        *FOREST,
        ({"bootstrap": False}, ["x all rows x"]),
        ({}, ["gini", "√p features per node", "x bootstrap x", "grown until pure"]),
        (
            {"criterion": "entropy", "max_features": 2},
            ["entropy", "2 features per node", "bootstrap", "average"],
        ),
    ],
    RandomForestRegressor: [
        *FOREST,
        ({}, ["squared_error", "p/3 features per node", "x bootstrap x"]),
        ({"criterion": "absolute_error"}, ["absolute_error"]),
    ],
    ExtraTreesClassifier: [
        *FOREST,
        ({"bootstrap": True}, ["x bootstrap x"]),
        ({}, ["gini", "random thresholds", "x all rows x"]),
    ],
    ExtraTreesRegressor: [
        *FOREST,
        ({"bootstrap": True}, ["x bootstrap x"]),
        ({}, ["squared_error", "random thresholds", "x all rows x"]),
    ],
    DecisionTreeClassifier: [*TREE, ({}, ["gini"]), ({"criterion": "entropy"}, ["entropy"])],
    DecisionTreeRegressor: [
        *TREE,
        ({}, ["squared_error"]),
        ({"criterion": "absolute_error"}, ["absolute_error"]),
    ],
    BaggingRegressor: [*MEMBERS, ({"estimator": Ridge()}, ["Ridge"])],
    BaggingClassifier: [*MEMBERS, ({"combine": "vote"}, ["vote"])],
    StagewiseRegressor: [*OWN, ({"loss": "poisson"}, ["poisson"])],
    StagewiseClassifier: [*OWN, ({"loss": "exponential"}, ["exponential"])],
    LinearRegression: [
        ({}, ["squared_error", "all columns, with intercept", "least squares"]),
        ({"fit_intercept": False}, ["without intercept"]),
    ],
    StepwiseRegressor: [
        ({}, ["forward by AIC", "with intercept"]),
        ({"direction": "backward", "criterion": "bic"}, ["backward by BIC"]),
        (
            {"direction": "both", "criterion": "p_value", "alpha_enter": 0.01},
            ["forward and backward by p values", "enter below 0.01"],
        ),
        ({"criterion": "cv", "fit_intercept": False}, ["by cross-validation", "without intercept"]),
    ],
    StagewiseLinearRegressor: [
        ({}, ["full steps", "one column", "1000 rounds, ν=1"]),
        ({"step_size": 0.02}, ["steps of ε=0.02"]),
        ({"early_stopping": "cv"}, ["1000 rounds at most, chosen by cross-validation"]),
    ],
}


@EVERY
def test_a_recipe_states_the_parameters(kind: type) -> None:
    assert len(RECIPES[kind]) > 1
    for params, words in RECIPES[kind]:
        recipe = kind(**params).recipe()
        for expected in words:
            assert expected in recipe, (params, recipe)


@EVERY
def test_the_recipe_changes_with_the_parameters(kind: type) -> None:
    """With another value of a parameter, the recipe has a word that the default's has not."""
    usual = kind().recipe()
    for params, words in RECIPES[kind]:
        if params:
            assert any(word not in usual for word in words), (params, usual)


OTHER_VALUES: dict[str, Any] = {
    "calibration": "temperature",
    "class_order": [1, 0],
    "conformal": "split",
    "algorithm": "real",
    "alpha_enter": 0.01,
    "alpha_remove": 0.2,
    "categorical_features": [0],
    "category_encoding": "target",
    "ccp_alpha": 0.5,
    "ccp_cv": 3,
    "class_weight": "balanced",
    "combine": "weighted",
    "corrective": "end",
    "cv": 3,
    "direction": "backward",
    "dropout": "dart",
    "early_stopping": True,
    "eval_metric": "auc",
    "feature_penalty": [1.0],
    "fit_intercept": False,
    "grow_policy": "depth_wise",
    "handle_unknown": "error",
    "init": 0.5,
    "interaction_cst": "pairwise",
    "l1_regularization": 0.5,
    "l2_regularization": 7.0,
    "learning_rate": 0.3,
    "leaves": "linear",
    "max_bins": 63,
    "max_depth": 5,
    "max_features": 0.4,
    "max_leaf_nodes": 6,
    "bootstrap_features": True,
    "max_samples": 0.5,
    "max_step": 2.0,
    "min_gain": 0.5,
    "min_hessian": 2.0,
    "min_impurity_decrease": 0.1,
    "min_samples_leaf": 3,
    "min_samples_split": 5,
    "min_weight_fraction_leaf": 0.1,
    "missing_strategy": "mean",
    "missing_values": -1,
    "monotonic_cst": [1],
    "n_estimators": 7,
    "n_features_to_select": 2,
    "n_iter_no_change": 3,
    "one_standard_error": True,
    "path_smoothing": 1.0,
    "pruning": "reduced_error",
    "quality": 3,
    "quantile": 0.8,
    "random_state": 3,
    "resample": True,
    "response": "gradient",
    "split": SplitSearch(random_thresholds=True),
    "step": "newton",
    "step_size": 0.1,
    "subsample": 0.5,
    "time_limit": 9.0,
    "tol": 0.1,
    "validation_fraction": 0.3,
    "z_max": 2.0,
    "learner": HistogramTree(max_depth=2),
}
"""A value that is no default, by the name of the parameter."""
OF_SOME: dict[tuple[str, str], Any] = {
    ("AdaBoostClassifier", "estimator"): GaussianNB(),
    ("AdaBoostRegressor", "estimator"): Ridge(),
    ("AdaBoostRegressor", "loss"): "square",
    ("Regressor", "loss"): Tweedie(power=1.2),
    ("Classifier", "loss"): "exponential",
    ("RandomForest", "split"): "exact",
    ("ExtraTrees", "split"): "exact",
    ("RandomForest", "bootstrap"): False,
    ("ExtraTrees", "bootstrap"): True,
    ("Bagging", "sampling"): "uniform",
    ("BaggingClassifier", "estimator"): DecisionTreeClassifier(max_depth=2),
    ("Bagging", "estimator"): Ridge(alpha=2.0),
    ("GradientBoosting", "sampling"): "goss",
    ("Stagewise", "sampling"): "goss",
    ("Stepwise", "criterion"): "bic",
    ("AdaBoost", "criterion"): "gini",
    ("Classifier", "criterion"): "entropy",
    ("Regressor", "criterion"): "absolute_error",
}
BESIDE: dict[str, dict[str, Any]] = {
    "class_order": {"loss": "cumulative_logit"},
    "alpha_enter": {"criterion": "p_value"},
    "alpha_remove": {"criterion": "p_value", "direction": "backward"},
    "StepwiseRegressor.tol": {"criterion": "rss"},
    "cv": {"sampling": "folds", "criterion": "cv"},
    "ccp_cv": {"pruning": "cost_complexity"},
    "one_standard_error": {"pruning": "cost_complexity"},
    "quantile": {"loss": "quantile"},
    "resample": {"learner": Ridge()},
    "AdaBoostClassifier.resample": {"estimator": GaussianNB()},
    "AdaBoostRegressor.resample": {"estimator": Ridge()},
    "validation_fraction": {"early_stopping": True, "pruning": "reduced_error"},
    "max_bins": {"split": "histogram"},
    "tol": {"early_stopping": True, "pruning": "early_stopping"},
    "n_iter_no_change": {"early_stopping": True, "pruning": "early_stopping"},
}
"""Other parameters with which a parameter has an effect; "kind.name" of one kind."""


def other_value(kind: type, name: str) -> Any:
    found = [v for (part, own), v in OF_SOME.items() if own == name and part in kind.__name__]
    return found[0] if found else OTHER_VALUES[name]


@EVERY
def test_every_parameter_that_changes_the_model_changes_the_recipe(kind: type) -> None:
    for name in inspect.signature(kind).parameters:
        if name in NOT_OF_THE_MODEL:
            continue
        needed = BESIDE.get(f"{kind.__name__}.{name}", BESIDE.get(name, {}))
        beside = {own: v for own, v in needed.items() if has(kind, own)}
        usual, value = kind(**beside).recipe(), other_value(kind, name)
        assert kind(**beside, **{name: value}).recipe() != usual, name


OWN_VALUES: list[tuple[Any, dict[str, Any]]] = [
    (Goss(), {"top": 0.3, "other": 0.2}),
    (Mvs(), {"regularization": 2.0}),
    (Dart(), {"rate": 0.3, "max_drop": 7, "skip": 0.1, "normalization": "forest"}),
    (LinearLeaves(), {"l2": 0.3}),
    (FeatureSampling(), {"per_tree": 0.3, "per_level": 2, "per_node": "sqrt", "weights": [1, 2]}),
    (
        SplitSearch(method="approx"),
        {
            "method": "exact",
            "random_thresholds": True,
            "forced_splits": {"feature": 0, "threshold": 1.0},
            "proposal": "local",
            "sketch_eps": 0.1,
        },
    ),
    (OrderedTargetEncoding(), {"n_orderings": 3}),
]


def test_every_parameter_of_an_option_changes_the_recipe() -> None:
    rules = GradientBoostingRegressor._rules
    for option, values in OWN_VALUES:
        parameter = next(p for p, r in rules.items() if type(option) in getattr(r, "kinds", ()))
        model = GradientBoostingRegressor(
            **{parameter: option}, **({"subsample": 0.5} if isinstance(option, Mvs) else {})
        )
        assert set(values) == set(vars(option))
        usual = model.recipe()
        for own, value in values.items():
            changed = clone(model).set_params(**{f"{parameter}__{own}": value}).recipe()
            assert changed != usual, (parameter, own)


@pytest.mark.parametrize("encoding", ["auto", "sets", "target"])
def test_a_fit_without_categories_has_no_encoding(encoding: str) -> None:
    X = np.arange(60.0).reshape(30, 2)
    model = GradientBoostingRegressor(n_estimators=2, category_encoding=encoding).fit(X, X[:, 0])
    assert "categories" not in model.recipe()


@pytest.mark.parametrize("name", ["random_state", "early_stopping"])
def test_a_recipe_has_no_address_in_memory(name: str) -> None:
    state = np.random.RandomState(0)
    value: Any = state if name == "random_state" else KFold(3, shuffle=True, random_state=state)
    recipe = GradientBoostingRegressor(**{name: value}).recipe()
    assert "random_state=RandomState" in recipe
    assert "0x" not in recipe
    assert "MT19937" not in recipe


def test_a_recipe_states_held_out_rows_and_folds() -> None:
    stopped = GradientBoostingRegressor(n_estimators=100, early_stopping=True)
    assert "x all rows but 0.1 held out x 100 rounds at most, early stopping" in stopped.recipe()
    stopped.set_params(subsample=0.5)
    assert "x 0.5 of the rows per round, but 0.1 held out x" in stopped.recipe()
    stopped.set_params(early_stopping=TimeSeriesSplit(3))
    assert "x 0.5 of the rows per round x" in stopped.recipe()
    assert "chosen by cross-validation (TimeSeriesSplit(" in stopped.recipe()


@pytest.mark.parametrize(("categories", "chosen"), [(60, "target"), (10, "sets")])
def test_the_recipe_states_the_chosen_encoding(categories: int, chosen: str) -> None:
    X = np.column_stack([np.arange(300) % categories, np.arange(300) % 7])
    model = GradientBoostingRegressor(n_estimators=2, categorical_features=[0]).fit(X, X[:, 0])
    assert model.fit_report_["category_encoding"] == chosen
    assert model.fit_report_.get("n_orderings") == (1 if chosen == "target" else None)
    words = {"target": "target-encoded categories", "sets": "sets of categories"}
    assert words[chosen] in model.recipe()
    model.set_params(category_encoding=chosen)
    assert words[chosen] in clone(model).recipe()
    plain = GradientBoostingRegressor(n_estimators=2).fit(X, X[:, 0])
    assert plain.fit_report_["category_encoding"] is None


NUMBERS = [(None, 8), (9999, 8), (3, 3), (0.7, 6), ("sqrt", 3), (0.01, 1), ("auto", 6)]
NUMBERS += [(FeatureSampling(per_tree=0.5, per_node=0.5), 2), (FeatureSampling(), 8)]


@pytest.mark.parametrize(("max_features", "number"), NUMBERS)
def test_a_report_has_the_number_of_features_of_a_node(max_features: Any, number: int) -> None:
    X = np.random.default_rng(0).normal(size=(60, 8))
    for kind in (GradientBoostingRegressor, RandomForestRegressor, DecisionTreeRegressor):
        if kind is GradientBoostingRegressor or isinstance(max_features, (int, float)):
            small = {"n_estimators": 2} if has(kind, "n_estimators") else {}
            model = kind(max_features=max_features, **small).fit(X, X[:, 0])
            assert model.fit_report_["max_features"] == number


def test_the_table_has_every_estimator() -> None:
    assert set(RECIPES) == set(PUBLIC)


@EVERY
def test_a_fit_does_not_change_the_recipe(kind: type) -> None:
    table = make_table(60, missing=False)
    model = small(kind)
    before = model.recipe()
    assert model.fit(table.X, labelled(kind, table)).recipe() == before
    assert "\n" not in before


# ---- fit_report_ ------------------------------------------------------------------------------


@EVERY
def test_a_report_states_seed_threads_and_the_end_of_the_fit(kind: type) -> None:
    table = make_table(80, missing=False)
    own = {"random_state": 11} if has(kind, "random_state") else {}
    threads = {"n_jobs": 1} if has(kind, "n_jobs") else {}
    model = small(kind, **own, **threads).fit(table.X, labelled(kind, table))
    report = model.fit_report_
    assert report["seed"] == (11 if own else 0)
    assert report["seconds"] > 0
    if threads:
        assert report["threads"] == 1
    if is_bagging(kind):
        assert report["estimators_fitted"] == len(model.estimators_) == 12
    elif "rounds_run" in report:
        assert report["rounds_kept"] == model.n_iter_
        plain = 100 if has(kind, "quality") else 1
        planned = model.n_estimators if has(kind, "n_estimators") else plain
        finished = report["rounds_run"] == planned
        completed = report["stop_reason"].startswith(("all ", "the tree is complete"))
        assert finished == completed
        assert report["method_ended"] == (not completed)
    else:  # least squares has no rounds
        assert report["rows_used"] == 80
        assert report["rank"] == model.rank_


@EVERY
@pytest.mark.filterwarnings("ignore:.* rows are in the bag of every tree:UserWarning")
def test_a_report_states_why_a_fit_stopped_early(kind: type) -> None:
    if not has(kind, "early_stopping"):
        assert kind is AdaBoostRegressor or not has(kind, "n_estimators")
        return
    table = make_table(80, missing=False)
    noise = np.random.default_rng(0).permutation(labelled(kind, table))
    more = {"oob_score": True, "bootstrap": True} if has(kind, "bootstrap") else {}
    stopping = {"early_stopping": True, "n_iter_no_change": 2, "n_estimators": 500}
    model = small(kind, **stopping, **more, random_state=1).fit(table.X, noise)
    if is_bagging(kind):
        assert model.fit_report_["estimators_fitted"] < 500
        return
    report = model.fit_report_
    assert report["rounds_kept"] <= report["rounds_run"] < 500
    assert report["stop_reason"]


@EVERY
@pytest.mark.filterwarnings("ignore:Columns are collinear:UserWarning")
def test_a_report_states_columns_without_information(kind: type) -> None:
    if is_bagging(kind):
        return  # base estimators have their own reports
    table = make_table(80, missing=False)
    X = table.X.copy()
    X[:, 3] = 1.0
    report = small(kind).fit(X, labelled(kind, table)).fit_report_
    assert [name[-1] for name in report["constant_features"]] == ["3"]
