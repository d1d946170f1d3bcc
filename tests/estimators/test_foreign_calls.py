"""Attributes and arguments of predict of other libraries: errors have what replaces them."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.model_selection
import sklearn.tree
import sklearn.utils.validation
from sklearn.base import clone

import stagewise
import stagewise.inspection
from estimators.every import EVERY
from stagewise import (
    BaggingRegressor,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearRegression,
    RandomForestRegressor,
)
from stagewise.validation.foreign_calls import FOREIGN_ATTRIBUTES, PREDICT_ARGUMENTS

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(200, 3)), columns=["a", "b", "c"])
Y = (X["a"] + RNG.normal(scale=0.5, size=200) > 0).to_numpy()


@pytest.fixture(scope="module")
def model() -> Any:
    return GradientBoostingClassifier(n_estimators=20, early_stopping=True).fit(X, Y)


@pytest.fixture(scope="module")
def tree() -> Any:
    return DecisionTreeRegressor(max_depth=3).fit(X, X["a"])


CALLS = {**FOREIGN_ATTRIBUTES, **PREDICT_ARGUMENTS}


@pytest.mark.parametrize("name", CALLS)
def test_every_replacement_can_be_evaluated(
    name: str, model: Any, tree: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model.save("model.stgw")
    of_tree = CALLS[name].needs == "get_depth"
    names = {"model": tree if of_tree else model, "X": X, "stagewise": stagewise}
    result = eval(CALLS[name].ours, {**names, "sklearn": sklearn})
    if "predict" in CALLS[name].ours and "staged" not in CALLS[name].ours:
        assert len(result) == len(X)


LIGHTGBM = ("LGBMModel", "Booster")
XGBOOST = ("XGBModel", "Booster")


def owners(library: str) -> list[Any]:
    """Return classes of a library that have the attributes of its models."""
    if library == "scikit-learn":
        kinds = [getattr(sklearn.ensemble, name) for name in sklearn.ensemble.__all__]
        return [*(kind for kind in kinds if isinstance(kind, type)), sklearn.tree]
    module = pytest.importorskip(library.lower())
    named = {"LightGBM": LIGHTGBM, "XGBoost": XGBOOST, "CatBoost": ("CatBoostClassifier",)}
    return [getattr(module, name) for name in named[library]]


OF_FITTED = {
    "scikit-learn": {"tree_", "train_score_", "validation_score_", "do_early_stopping_", "loss_"}
    | {"n_features_", "n_estimators_", "estimators_", "n_trees_per_iteration_", "is_categorical_"}
}
"""Attributes that only fitted models have."""


@pytest.mark.parametrize("library", ["LightGBM", "XGBoost", "CatBoost", "scikit-learn"])
def test_every_name_belongs_to_its_library(library: str) -> None:
    kinds = owners(library)
    for name, call in FOREIGN_ATTRIBUTES.items():
        if library in call.libraries and name not in OF_FITTED.get(library, ()):
            assert any(hasattr(kind, name) for kind in kinds), name
    older = {"ntree_limit"}
    for name, call in PREDICT_ARGUMENTS.items():
        if library in call.libraries and name not in older:
            methods = [kind.predict for kind in kinds if hasattr(kind, "predict")]
            if library == "scikit-learn":
                methods = [sklearn.tree.DecisionTreeRegressor.predict]
            known = {n for method in methods for n in inspect.signature(method).parameters}
            if library == "LightGBM" and name == "predict_disable_shape_check":
                continue  # one of the further arguments
            assert name in known, name


def test_the_error_for_an_attribute_of_another_library_has_ours(model: Any) -> None:
    with pytest.raises(
        AttributeError,
        match=r"^'GradientBoostingClassifier' object has no attribute 'get_best_iteration'\. "
        r"get_best_iteration is the name of CatBoost; here it is model\.best_iteration_: it "
        r"counts from 1\.$",
    ):
        model.get_best_iteration()
    assert not hasattr(model, "get_best_iteration")
    assert getattr(model, "booster_", None) is None


@EVERY
def test_other_attributes_have_the_usual_error(kind: type) -> None:
    estimator = kind()
    for name in ("nonsense", "__array__", "__deepcopy__", "_repr_svg_", "transform"):
        assert not hasattr(estimator, name)
    with pytest.raises(AttributeError, match=rf"^'{kind.__name__}' object has no .*'nonsense'$"):
        estimator.nonsense  # noqa: B018
    assert "booster_" not in dir(estimator)
    for other in (
        clone(estimator),
        copy.deepcopy(estimator),
        pickle.loads(pickle.dumps(estimator)),
    ):
        assert other.get_params().keys() == estimator.get_params().keys()


def test_an_attribute_that_would_not_be_true_has_the_usual_error() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'tree_count_'$"):
        LinearRegression().tree_count_  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'tree_'$"):
        RandomForestRegressor().tree_  # noqa: B018


def test_the_error_of_a_property_is_kept() -> None:
    fitted = GradientBoostingRegressor(n_estimators=3).fit(X, X["a"])
    with pytest.raises(AttributeError, match="was fitted without oob_score=True"):
        fitted.oob_best_iteration_  # noqa: B018


PREDICT_MESSAGES = {
    "num_iteration": r"LightGBM; here it is model\.predict\(X, n_rounds=10\)\.$",
    "iteration_range": r"n_rounds=10\): of iteration_range=\(0, 10\)\.$",
    "ntree_end": r"CatBoost; here it is model\.predict\(X, n_rounds=10\)\.$",
    "pred_contrib": r"here it is stagewise\.inspection\.shap_values\(model, X\)\.values\.$",
    "pred_leaf": r"LightGBM and XGBoost; here it is model\.apply\(X\)\.$",
    "raw_score": r"here it is model\.decision_function\(X\)\.$",
    "n_round": r"Did you mean 'n_rounds'\?$",
    "verbose": r"It is a parameter of GradientBoostingClassifier: set it in the constructor\.$",
    "nonsense": r"Its arguments are X, .*n_rounds.*\.$",
}


@pytest.mark.parametrize("name", PREDICT_MESSAGES)
def test_the_error_for_an_argument_of_predict_has_ours(name: str, model: Any) -> None:
    words = rf"^predict\(\) has no argument '{name}'\..*{PREDICT_MESSAGES[name]}"
    with pytest.raises(TypeError, match=words):
        model.predict(X, **{name: True})


def test_every_method_that_predicts_has_such_an_error(model: Any) -> None:
    for method in ("predict_proba", "predict_log_proba", "decision_function", "apply"):
        with pytest.raises(TypeError, match=rf"^{method}\(\) has no argument 'pred_contrib'.*shap"):
            getattr(model, method)(X, pred_contrib=True)
    bagging = BaggingRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=2).fit(X, X["a"])
    with pytest.raises(TypeError, match=r"^predict\(\) has no argument 'thread_count'.*n_jobs=2"):
        bagging.predict(X, thread_count=2)
