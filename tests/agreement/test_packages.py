"""Packages around scikit-learn's interface accept the estimators."""

from __future__ import annotations

import warnings
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingRegressor
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
)

from stagewise import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(400, 3)), columns=["a", "b", "noise"])
Y = X["a"] + X["b"] ** 2 + RNG.normal(scale=0.3, size=400)
C = np.where(Y > 1, "high", "low")
ARRAY, TARGET = X.to_numpy(), Y.to_numpy()
"""Without names: MAPIE tries one row as an array."""
TRAIN, HELD, NEW = slice(0, 200), slice(200, 300), slice(300, 400)


@pytest.fixture(scope="module")
def mapie() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("mapie")


def coverage(interval: Any) -> float:
    return float(np.mean((interval[:, 0, 0] <= TARGET[NEW]) & (TARGET[NEW] <= interval[:, 1, 0])))


@pytest.mark.parametrize(
    "estimator",
    [GradientBoostingRegressor(n_estimators=30), RandomForestRegressor(n_estimators=30)],
)
def test_mapie_returns_intervals(estimator: Any, mapie: Any) -> None:
    from mapie.regression import CrossConformalRegressor, SplitConformalRegressor

    split = SplitConformalRegressor(clone(estimator), confidence_level=0.9, prefit=False)
    split.fit(ARRAY[TRAIN], TARGET[TRAIN]).conformalize(ARRAY[HELD], TARGET[HELD])
    assert 0.8 <= coverage(split.predict_interval(ARRAY[NEW])[1]) <= 1
    fitted = SplitConformalRegressor(
        clone(estimator).fit(ARRAY[TRAIN], TARGET[TRAIN]), confidence_level=0.9
    )
    fitted.conformalize(ARRAY[HELD], TARGET[HELD])
    np.testing.assert_array_equal(fitted.predict(ARRAY[NEW]), split.predict(ARRAY[NEW]))
    cross = CrossConformalRegressor(clone(estimator), confidence_level=0.9, cv=3)
    cross.fit_conformalize(ARRAY[:300], TARGET[:300])
    assert 0.8 <= coverage(cross.predict_interval(ARRAY[NEW])[1]) <= 1


def test_mapie_conformalizes_quantiles(mapie: Any) -> None:
    from mapie.regression import ConformalizedQuantileRegressor

    quantiles = [
        GradientBoostingRegressor(n_estimators=30, loss="quantile", quantile=q)
        for q in (0.05, 0.95, 0.5)
    ]
    fitted = [model.fit(ARRAY[TRAIN], TARGET[TRAIN]) for model in quantiles]
    cqr = ConformalizedQuantileRegressor(fitted, confidence_level=0.9, prefit=True)
    cqr.conformalize(ARRAY[HELD], TARGET[HELD])
    assert 0.8 <= coverage(cqr.predict_interval(ARRAY[NEW])[1]) <= 1


def test_mapie_returns_sets_of_classes(mapie: Any) -> None:
    from mapie.classification import CrossConformalClassifier, SplitConformalClassifier

    model = GradientBoostingClassifier(n_estimators=30)
    split = SplitConformalClassifier(model, confidence_level=0.9, prefit=False)
    split.fit(ARRAY[TRAIN], C[TRAIN]).conformalize(ARRAY[HELD], C[HELD])
    cross = CrossConformalClassifier(model, confidence_level=0.9, cv=3)
    cross.fit_conformalize(ARRAY[:300], C[:300])
    place = (C[NEW] == "low").astype(int)  # "high" is the first class
    for conformal in (split, cross):
        _, sets = conformal.predict_set(ARRAY[NEW])
        assert sets[np.arange(100), place, 0].mean() >= 0.8


def test_optuna_tunes_a_model() -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        model = GradientBoostingRegressor(
            n_estimators=20,
            max_leaf_nodes=trial.suggest_int("max_leaf_nodes", 2, 16),
            learning_rate=trial.suggest_float("learning_rate", 0.02, 0.5, log=True),
        )
        return float(model.fit(X[TRAIN], Y[TRAIN]).score(X[HELD], Y[HELD]))

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=8)
    assert study.best_value > 0.7
    best = GradientBoostingRegressor(n_estimators=20).set_params(**study.best_params)
    assert best.fit(X[TRAIN], Y[TRAIN]).score(X[HELD], Y[HELD]) == study.best_value


def test_searches_of_scikit_learn_find_parameters() -> None:
    grid = {"max_depth": [1, 3], "learning_rate": [0.1, 0.3]}
    model = GradientBoostingRegressor(n_estimators=20)
    for search in (
        GridSearchCV(model, grid, cv=3),
        RandomizedSearchCV(model, grid, n_iter=3, cv=3, random_state=0),
    ):
        assert search.fit(X, Y).best_estimator_.score(X, Y) > 0.7
        assert set(search.best_params_) == set(grid)


def test_calibration_and_thresholds_of_scikit_learn() -> None:
    for model in (AdaBoostClassifier(n_estimators=20), RandomForestClassifier(n_estimators=20)):
        for method in ("sigmoid", "isotonic"):
            fitted = CalibratedClassifierCV(clone(model), method=method, cv=3).fit(X[:300], C[:300])
            assert fitted.score(X[NEW], C[NEW]) > 0.8
    tuned = TunedThresholdClassifierCV(GradientBoostingClassifier(n_estimators=20), cv=3)
    assert tuned.fit(X, C).score(X, C) > 0.8


def test_inspection_of_scikit_learn() -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    model = GradientBoostingRegressor(n_estimators=30).fit(X, Y)
    found = permutation_importance(model, X, Y, n_repeats=3, random_state=0)
    assert found.importances_mean.argmin() == 2
    curve = partial_dependence(model, X, ["a"], grid_resolution=10)
    means = [model.predict(X.assign(a=value)).mean() for value in curve["grid_values"][0]]
    np.testing.assert_allclose(curve["average"][0], means, rtol=1e-9)
    display = PartialDependenceDisplay.from_estimator(model, X, ["a", ("a", "b")], kind="average")
    assert len(display.axes_.ravel()) == 2
    plt.close("all")


def test_selection_and_stacking_of_scikit_learn() -> None:
    model = GradientBoostingRegressor(n_estimators=20)
    chosen = SelectFromModel(model, threshold="median").fit(X, Y)
    assert chosen.get_support().tolist() == [True, True, False]
    assert RFECV(model, cv=3).fit(X, Y).support_[:2].all()
    stack = StackingRegressor([("boosting", model), ("ridge", Ridge())], cv=3).fit(X, Y)
    assert stack.score(X, Y) > 0.7
    assert cross_val_predict(GradientBoostingClassifier(n_estimators=9), X, C, cv=3).shape == (400,)
