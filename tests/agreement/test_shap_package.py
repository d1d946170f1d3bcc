"""The plots of the package shap accept the result of `ShapValues.as_shap`."""

from __future__ import annotations

import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.inspection import shap_values


@pytest.fixture(scope="module")
def shap():
    mpl.use("Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("shap")


def table() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    X["kind"] = pd.Categorical(rng.choice(["u", "v"], 60))
    X["count"] = pd.array([1, None, 3] * 20, dtype="Int64")
    return X, X["a"] + (X["kind"] == "u") + X["count"].fillna(0).astype(float)


def test_shap_plots_accept_a_regression(shap):
    from matplotlib import pyplot as plt

    X, y = table()
    model = GradientBoostingRegressor(n_estimators=10, min_samples_leaf=5).fit(X, y)
    why = shap_values(model, X).as_shap()
    assert why.data[1, 3] != why.data[1, 3]  # NaN: a masked value is missing
    np.testing.assert_allclose(why.base_values + why.values.sum(axis=1), model.predict(X))
    plots = [
        lambda: shap.plots.beeswarm(why, show=False),
        lambda: shap.plots.waterfall(why[0], show=False),
        lambda: shap.plots.scatter(why[:, "a"], show=False),
        lambda: shap.plots.bar(why, show=False),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # matplotlib warnings of shap
        for draw in plots:
            draw()
            assert plt.gcf().axes
            plt.close("all")


def test_shap_plots_accept_one_of_several_classes(shap):
    from matplotlib import pyplot as plt

    X, y = table()
    model = GradientBoostingClassifier(n_estimators=5, min_samples_leaf=5)
    why = shap_values(model.fit(X, np.digitize(y, [0.5, 2.5])), X).as_shap()
    assert why.shape == (60, 4, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shap.plots.beeswarm(why[..., 1], show=False)
        shap.plots.waterfall(why[0, :, 2], show=False)
    assert plt.gcf().axes
    plt.close("all")
