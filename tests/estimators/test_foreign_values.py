"""Values and defaults of other libraries: what replaces them, and the trees that they mean."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import stagewise
from stagewise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearRegression,
    RandomForestClassifier,
    losses,
)
from stagewise.errors import InvalidParameterError
from stagewise.export import export_svg
from stagewise.inspection import importance, shap_values, thresholds
from stagewise.validation import foreign_losses
from stagewise.validation.foreign_calls import RESULTS

X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2)), columns=["a", "b"])
y = X["a"].to_numpy()


def message_of(passed: dict[str, Any], kind: type = GradientBoostingRegressor) -> str:
    with pytest.raises(TypeError) as caught:
        kind(**passed)
    return str(caught.value)


SHAPES = {
    "XGBoost": (
        {"eta": 0.1, "max_depth": 6},
        "max_depth=6, learning_rate=0.1, grow_policy='depth_wise', max_leaf_nodes=None",
    ),
    "XGBoost, by its objective": (
        {"objective": "reg:absoluteerror", "max_depth": 4},
        "max_depth=4, loss='absolute_error', grow_policy='depth_wise', max_leaf_nodes=None",
    ),
    "XGBoost's leaf-wise trees": (
        {"grow_policy": "lossguide", "max_leaves": 31, "max_depth": 6, "tree_method": "hist"},
        "grow_policy='best_first', max_depth=6, max_leaf_nodes=31",
    ),
    "CatBoost": (
        {"depth": 6},
        "max_depth=6, grow_policy='symmetric', max_leaf_nodes=64",
    ),
    "CatBoost's level-wise trees": (
        {"grow_policy": "Depthwise", "depth": 6, "iterations": 9},
        "grow_policy='depth_wise', max_depth=6, n_estimators=9",
    ),
    "LightGBM": ({"num_leaves": 15, "max_depth": 6}, "max_depth=6, max_leaf_nodes=15"),
}


@pytest.mark.parametrize("library", SHAPES)
def test_the_call_has_the_trees_of_the_library(library: str) -> None:
    passed, call = SHAPES[library]
    message = message_of(passed)
    if library == "LightGBM":  # nothing is added to the name
        assert "The call here" not in message
    else:
        assert message.endswith(f": GradientBoostingRegressor({call})")


def test_a_call_of_lightgbm_or_xgboost_has_a_note_about_the_trees() -> None:
    message = message_of({"reg_lambda": 1.0, "min_child_weight": 2, "max_depth": 6})
    assert "for them, add grow_policy='depth_wise', max_leaf_nodes=None.\n" in message
    assert message.endswith("(max_depth=6, l2_regularization=1.0, min_hessian=2)")


@pytest.mark.parametrize("name", ["subsample", "bagging_fraction"])
def test_a_fraction_without_a_frequency_has_a_note(name: str) -> None:
    note = "\n  LightGBM draws no rows without bagging_freq=1"
    message = message_of({"num_leaves": 31, name: 0.8})
    assert f"{note}, so subsample is left out" in message
    assert message.endswith("GradientBoostingRegressor(max_leaf_nodes=31)")
    assert note not in message_of({"num_leaves": 31, name: 0.8, "bagging_freq": 1})
    assert note not in message_of({"eta": 0.3, "subsample": 0.8, "max_depth": 6})


VALUES = {
    ("boosting_type", "gbdt"): "'gbdt' is the default: leave it out.",
    ("boosting_type", "goss"): "'goss' is sampling=\"goss\".",
    ("boosting", "rf"): "'rf' is RandomForestRegressor.",
    ("boosting_type", "dart"): "'dart' is dropout=\"dart\".",
    ("booster", "gblinear"): "'gblinear' is StagewiseLinearRegressor.",
    ("tree_method", "hist"): "'hist' is the default: leave it out.",
}


@pytest.mark.parametrize("case", VALUES)
def test_the_hint_depends_on_the_value(case: tuple[str, str]) -> None:
    name, value = case
    assert message_of({name: value}).endswith(f"; here {VALUES[case]}")
    with pytest.raises(ValueError, match=re.escape(f"; here {VALUES[case]}")):
        GradientBoostingRegressor().set_params(**{name: value})


def test_the_call_has_the_value_of_a_boosting_type() -> None:
    message = message_of({"boosting_type": "goss", "num_leaves": 7})
    assert message.endswith("GradientBoostingRegressor(sampling='goss', max_leaf_nodes=7)")
    message = message_of({"boosting_type": "rf", "num_leaves": 7})
    assert message.endswith("(without boosting_type): GradientBoostingRegressor(max_leaf_nodes=7)")
    assert "RandomForestClassifier" in message_of({"boosting": "rf"}, GradientBoostingClassifier)
    assert "'goss' is" not in message_of({"boosting_type": "goss"}, RandomForestClassifier)


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        ({"max_depth": -1}, r"\(-1 of LightGBM is None here\); got -1"),
        ({"max_depth": 0}, r"\(0 of LightGBM and XGBoost is None here\)"),
        ({"max_leaf_nodes": 0}, r"is None here\)"),
        ({"max_step": 0}, r"is None here\)"),
        ({"n_iter_no_change": 0}, r"is early_stopping=False here\)"),
    ],
)
def test_numbers_that_mean_no_limit_have_a_hint(passed: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        GradientBoostingRegressor(**passed).fit(X, y)


LEFT_OUT = (
    *("deterministic", "force_col_wise", "force_row_wise", "subsample_for_bin", "num_class"),
    "importance_type",
)


@pytest.mark.parametrize("name", LEFT_OUT)
def test_parameters_that_need_nothing_are_left_out(name: str) -> None:
    message = message_of({name: 1})
    assert "; here it is left out: " in message
    assert "Did you mean" not in message
    message = message_of({name: 1, "num_leaves": 7})
    assert message.endswith("The call here: GradientBoostingRegressor(max_leaf_nodes=7)")


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("bagging_seed", "random_state"),
        ("feature_fraction_seed", "random_state"),
        ("cat_smooth", "category_encoding"),
        ("scoring", "eval_metric"),
    ],
)
def test_parameters_with_another_meaning_name_ours(name: str, ours: str) -> None:
    assert f"here it is {ours} (" in message_of({name: 1})


def test_fit_lists_all_unknown_arguments() -> None:
    with pytest.raises(TypeError) as caught:
        GradientBoostingRegressor().fit(
            X, y, eval_metric="mae", callbacks=[print], categorical_feature=["a"]
        )
    first, *lines = str(caught.value).splitlines()
    assert first == "fit() has no arguments 'eval_metric', 'callbacks', 'categorical_feature'."
    names = [line.split(":")[0].strip() for line in lines]
    assert names == ["eval_metric", "callbacks", "categorical_feature"]
    assert "here it is categorical_features" in lines[2]
    fitted = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(TypeError, match=r"no arguments 'pred_leaf', 'pred_contrib'\.\n  pred_leaf"):
        fitted.predict(X, pred_leaf=True, pred_contrib=True)


def test_the_validation_data_of_keras_are_an_eval_set() -> None:
    with pytest.raises(TypeError, match=r"Here it is eval_set \(eval_set=\[\(X, y\)\]\)\.$"):
        GradientBoostingRegressor().fit(X, y, validation_data=(X, y))


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        ({"num_iteration": 7}, "model.predict_proba(X, n_rounds=7)."),
        ({"num_iteration": -1}, "model.predict_proba(X)."),
        ({"iteration_range": (0, 3)}, "model.predict_proba(X, n_rounds=3)."),
        ({"base_margin": y}, "model.predict_proba(X, offset=0.5): scores, also of fit."),
    ],
)
def test_the_error_names_the_called_method_and_its_value(
    arguments: dict[str, Any], call: str
) -> None:
    model = GradientBoostingClassifier(n_estimators=9).fit(X, y > 0)
    with pytest.raises(TypeError, match=rf"; here it is {re.escape(call)}$"):
        model.predict_proba(X, **arguments)


def test_methods_of_an_attribute_are_lines() -> None:
    model = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(AttributeError) as caught:
        model.booster_  # noqa: B018
    first, *lines = str(caught.value).splitlines()
    assert first.endswith("booster_ is the name of LightGBM; its methods are here:")
    assert lines[0] == "  booster_.dump_model(): stagewise.export_json(model)"
    assert len(lines) == 5


def test_plots_and_trees_of_an_estimator_have_hints() -> None:
    model = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(AttributeError, match=r"here it is .*importance\(model\)\.plot\(\)\.$"):
        model.plot_importance()
    with pytest.raises(AttributeError, match=r"here it is model\.model_\.ensemble\.trees"):
        model.estimators_  # noqa: B018


@pytest.mark.parametrize("name", ["load", "load_model"])
def test_load_of_a_class_has_a_hint(name: str) -> None:
    words = r'here it is stagewise\.load\("model\.stgw"\)\.$'
    for owner in (GradientBoostingClassifier, GradientBoostingClassifier()):
        with pytest.raises(AttributeError, match=words):
            getattr(owner, name)
        assert not hasattr(owner, name)
    with pytest.raises(AttributeError, match=rf"type object 'LinearRegression' .*'{name}'"):
        getattr(LinearRegression, name)


def test_names_that_users_expect_of_results_have_hints() -> None:
    model = GradientBoostingClassifier(n_estimators=3).fit(X, y > 0)
    results = {
        "ShapValues": shap_values(model, X),
        "Importance": importance(model),
        "Thresholds": thresholds(model, X, y > 0),
        "Picture": export_svg(model),
    }
    assert results.keys() == RESULTS.keys()
    for kind, names in RESULTS.items():
        for name, ours in names.items():
            with pytest.raises(AttributeError, match=rf"{kind!r} .* {name!r}\. Here it is "):
                getattr(results[kind], name)
            own = re.match(r"(\w+)", ours)
            assert own is not None
            assert own[1] == "pathlib" or hasattr(results[kind], own[1]), ours
    with pytest.raises(AttributeError, match=r"'Importance' object has no attribute 'nonsense'\.$"):
        results["Importance"].nonsense  # noqa: B018
    assert len(results["Importance"]) == 2
    assert results["Thresholds"].cost(false_positive=1, false_negative=5).best_threshold <= 1


def test_a_report_with_its_path_first_has_the_order(tmp_path: Path) -> None:
    model = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(InvalidParameterError, match=r"order is report\(X, y, path\)"):
        model.report(str(tmp_path / "r.html"), X, y)


def test_stagewise_has_every_estimator_of_a_value() -> None:
    for name in ("RandomForestRegressor", "StagewiseLinearRegressor"):
        assert hasattr(stagewise, name)


@pytest.mark.parametrize(
    ("loss", "hint"),
    [
        ("Lq:q=1.5", r"from_formula\('\(1e-9 \+ \(y - f\)\*\*2\)\*\*\(q/2\)', q=1.5\)"),
        ("LogLinQuantile", r"loss='quantile' fitted to log\(y\)"),
        ("StochasticRank:metric=NDCG", r"GradientBoostingRanker\(loss='ndcg'\)"),
        ("StochasticFilter", r"GradientBoostingRanker\(loss='ndcg'\)"),
        ("QueryCrossEntropy", r"GradientBoostingRanker\(loss='softmax'\)"),
        ("PairLogitPairwise", r"GradientBoostingRanker\(loss='pairwise'\)"),
        ("cross_entropy_lambda", r"loss='cross_entropy'.*from_formula.*offset=np.log\(w\)"),
        ("Quantile:alpha=0.9", "is loss='quantile', quantile=0.9 here"),
        ("MultiQuantile:alpha=0.1,0.5", r"quantile=\[0.1, 0.5\]"),
        ("Huber:delta=2", r"losses.Huber\(delta=2\)"),
        ("Focal:focal_alpha=0.25;focal_gamma=3", r"losses.Focal\(gamma=3\)"),
        ("MultiLogloss", "several columns of 0 and 1"),
        ("survival:cox", r"GradientBoostingSurvival\(\)"),
    ],
)
def test_losses_without_one_of_the_same_meaning_have_a_remedy(loss, hint):
    X, y = np.arange(20.0).reshape(-1, 1), np.arange(20.0)
    for name in ("loss", "objective"):
        with pytest.raises((ValueError, TypeError), match=hint):
            GradientBoostingRegressor(**{name: loss}).fit(X, y)


def test_the_formula_of_lq_can_be_fitted():
    X, y = np.arange(50.0).reshape(-1, 1), np.arange(50.0) ** 0.5
    loss = stagewise.Loss.from_formula("(1e-9 + (y - f)**2)**(q/2)", q=1.5)
    model = GradientBoostingRegressor(loss=loss, n_estimators=60, min_samples_leaf=2).fit(X, y)
    assert np.abs(model.predict(X) - y).mean() < 0.3


@pytest.mark.parametrize("name", ["exposure", "offset", "sample_weight", "X_val"])
def test_an_argument_of_fit_is_named_as_one(name: str) -> None:
    assert message_of({name: 1}).endswith(f"It is an argument of fit: fit(X, y, {name}=...).")


OBJECTIVES = {
    "LightGBM 4.7": "regression regression_l2 l2 mean_squared_error mse l2_root "
    "root_mean_squared_error rmse regression_l1 l1 mean_absolute_error mae huber fair poisson "
    "quantile mape mean_absolute_percentage_error gamma tweedie binary multiclass softmax "
    "multiclassova multiclass_ova ova ovr cross_entropy xentropy cross_entropy_lambda xentlambda "
    "lambdarank rank_xendcg xendcg xe_ndcg xe_ndcg_mart xendcg_mart custom none null na",
    "XGBoost 3.2": "reg:squarederror reg:linear reg:squaredlogerror reg:logistic "
    "reg:pseudohubererror reg:absoluteerror reg:quantileerror reg:gamma reg:tweedie count:poisson "
    "binary:logistic binary:logitraw binary:hinge multi:softmax multi:softprob rank:ndcg rank:map "
    "rank:pairwise survival:cox survival:aft",
    "CatBoost 1.2.10": "Logloss CrossEntropy Focal RMSE LogCosh Lq MAE Quantile MultiQuantile "
    "Expectile LogLinQuantile MAPE Poisson Huber Tweedie Cox RMSEWithUncertainty MultiClass "
    "MultiClassOneVsAll PairLogit PairLogitPairwise YetiRank YetiRankPairwise QueryRMSE "
    "GroupQuantile QuerySoftMax QueryCrossEntropy StochasticFilter LambdaMart StochasticRank "
    "SurvivalAft MultiRMSE MultiRMSEWithMissingValues MultiLogloss MultiCrossEntropy Combination "
    "PythonUserDefinedPerObject PythonUserDefinedMultiTarget",
}
"""Every objective of the libraries, as their own errors and documentation list them."""
KINDS: dict[str, Any] = {
    "regression": GradientBoostingRegressor,
    "classification": GradientBoostingClassifier,
    "ranking": stagewise.GradientBoostingRanker,
    "survival": stagewise.GradientBoostingSurvival,
}


def offered(loss: str) -> bool:
    """Return whether an estimator has the loss under the same name."""
    tables = (losses.REGRESSION_LOSSES, losses.CLASSIFICATION_LOSSES, losses.RANKING_LOSSES)
    return any(loss in own for own in tables)


@pytest.mark.parametrize("library", OBJECTIVES)
def test_every_objective_of_the_libraries_is_offered_or_has_a_remedy(library: str) -> None:
    for name in OBJECTIVES[library].split():
        hints = {}
        for task, kind in KINDS.items():
            try:
                kind(loss=name).recipe()
            except InvalidParameterError as error:
                hints[task] = str(error).split(" The parameter 'loss'")[0]
            else:
                assert offered(name), (name, task)
        remedies = [h for h in hints.values() if re.search(r"[Hh]ere|stagewise\.|loss=function", h)]
        assert offered(name) or len(remedies) == len(KINDS), (name, hints)


def test_the_likelihood_of_cross_entropy_lambda_is_the_formula_with_an_offset() -> None:
    rng = np.random.default_rng(1)
    table, w = rng.normal(size=(3000, 2)), rng.uniform(0.2, 3.0, 3000)
    rate = np.exp(0.8 * table[:, 0] - 0.5)
    events = (rng.random(3000) < 1.0 - np.exp(-w * rate)).astype(int)
    formula = re.search(r"from_formula\((.*?), y='0/1'\)", foreign_losses.INTENSITY)
    assert formula is not None
    loss = stagewise.Loss.from_formula(formula[1].strip("'"), y="0/1")
    few = {"n_estimators": 40, "max_leaf_nodes": 4}
    model = GradientBoostingClassifier(loss=loss, **few)
    model.fit(table, events, offset=np.log(w))
    found = model.predict_proba(table, offset=np.log(w))[:, 1]
    true = 1.0 - np.exp(-w * rate)
    assert np.abs(found - true).mean() < 0.06
    unaware = GradientBoostingClassifier(**few).fit(table, events)
    assert np.abs(unaware.predict_proba(table)[:, 1] - true).mean() > 0.1
