"""`shap.TreeExplainer` accepts exported models, and its values equal ours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier

from stagewise import (
    AdaBoostClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export_shap,
)
from stagewise.inspection import shap_values

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
X[RNG.random(X.shape) < 0.1] = np.nan
Y = 100 * np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1] * X[:, 2]) + 5


@pytest.fixture(scope="module")
def shap() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("shap")


MODELS: dict[str, tuple[Any, Any]] = {
    "numbers": (GradientBoostingRegressor(n_estimators=20), Y),
    "log link": (GradientBoostingRegressor(n_estimators=20, loss="poisson"), np.abs(Y)),
    "two targets": (GradientBoostingRegressor(n_estimators=9), np.stack([Y, Y**2], axis=1)),
    "vector leaves": (
        GradientBoostingRegressor(n_estimators=9, leaves="vector"),
        np.stack([Y, Y**2], axis=1),
    ),
    "two classes": (GradientBoostingClassifier(n_estimators=9), Y > 0),
    "three classes": (GradientBoostingClassifier(n_estimators=9), np.digitize(Y, [-10, 10])),
    "AdaBoost": (AdaBoostClassifier(n_estimators=9), Y > 0),
    "tree": (DecisionTreeRegressor(max_depth=4), Y),
    "forest": (RandomForestRegressor(n_estimators=9, max_depth=5), Y),
    "forest of two classes": (RandomForestClassifier(n_estimators=9, max_depth=5), Y > 0),
    "forest of three classes": (
        RandomForestClassifier(n_estimators=9, max_depth=5),
        np.digitize(Y, [-10, 10]),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_tree_explainer_returns_our_values(name: str, shap: Any) -> None:
    estimator, y = MODELS[name]
    model = clone(estimator).fit(X, y)
    ours = shap_values(model, X)
    explainer = shap.TreeExplainer(export_shap(model))
    size = np.abs(ours.values).max()
    np.testing.assert_allclose(explainer(X).values, ours.values, atol=1e-9 * size)
    np.testing.assert_allclose(np.ravel(explainer.expected_value), np.ravel(ours.base_values))
    ours = shap_values(model, X[:20], kind="interventional", background=X[:50])
    # shap sums the background rows in single precision.
    explainer = shap.TreeExplainer(export_shap(model), X[:50])
    theirs = explainer(X[:20], check_additivity=False).values
    np.testing.assert_allclose(theirs, ours.values, atol=1e-6 * size)


def test_tree_explainer_explains_probabilities_and_the_loss(shap: Any) -> None:
    model = GradientBoostingClassifier(n_estimators=9).fit(X, Y > 0)
    exported, rows = export_shap(model), X[:20]
    explainer = shap.TreeExplainer(exported, X[:50], model_output="probability")
    sums = explainer.expected_value + explainer.shap_values(rows).sum(axis=1)
    np.testing.assert_allclose(sums, model.predict_proba(rows)[:, 1], atol=1e-6)
    of_loss = shap.TreeExplainer(exported, X[:50], model_output="log_loss")
    assert of_loss.shap_values(rows, (Y > 0)[:20]).shape == (20, 4)


def test_the_plots_of_shap_accept_the_result(shap: Any) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = GradientBoostingRegressor(n_estimators=5).fit(table, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # matplotlib warnings of shap
        shap.plots.beeswarm(shap.TreeExplainer(export_shap(model))(table), show=False)
    assert [t.get_text() for t in plt.gca().get_yticklabels()][-1] == "a"
    plt.close("all")


def test_explainers_of_functions_accept_predict(shap: Any) -> None:
    model = GradientBoostingRegressor(n_estimators=20).fit(X, Y)
    explained = shap.Explainer(model.predict, X[:10])(X[:5])
    ours = shap_values(model, X[:5], kind="interventional", background=X[:10])
    size = np.abs(ours.values).max()
    np.testing.assert_allclose(explained.values, ours.values, atol=1e-6 * size)


def dates(n: int) -> Any:
    return pd.date_range("2020-01-01", periods=n, freq="h").to_numpy()


WITHOUT: dict[str, tuple[Any, Any, str]] = {
    "categories": (
        GradientBoostingRegressor(n_estimators=5),
        pd.DataFrame({"a": X[:, 0], "kind": pd.Categorical(["u", "v"] * 100)}),
        "categorical features",
    ),
    "dates": (
        GradientBoostingRegressor(n_estimators=5),
        pd.DataFrame({"day": dates(200)}),
        r"integers beyond 2\*\*53",
    ),
    "linear leaves": (
        GradientBoostingRegressor(n_estimators=5, leaves="linear"),
        np.nan_to_num(X),
        "linear leaves",
    ),
    "both sides": (
        DecisionTreeRegressor(missing_strategy="probability", max_depth=3),
        X,
        "rows that go to both children",
    ),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_a_model_that_shap_cannot_represent_is_refused(name: str) -> None:
    estimator, table, words = WITHOUT[name]
    assert not is_classifier(estimator)
    model = clone(estimator).fit(table, Y)
    with pytest.raises(ValueError, match=rf"{words}\. Use stagewise.inspection.shap_values"):
        export_shap(model)
