"""The catalogue of faults, 3 to 5 and 31 to 34: units of X and y, for the ways to fit a number.

`test_catalogue_target` has every estimator with its defaults; here are the options that square, sum
or compare numbers in other ways.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from estimators.every import is_linear
from estimators.tables import make_table
from stagewise import (
    BaggingRegressor,
    Dart,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
    StagewiseLinearRegressor,
    StagewiseRegressor,
)
from stagewise.learners.histogram_tree import HistogramTree

ROWS = 80
FEW = {"n_estimators": 8, "min_samples_leaf": 5, "n_jobs": 1}
BOOSTED = {
    "linear leaves": {"leaves": "linear"},
    "huber": {"loss": "huber"},
    "quantile": {"loss": "quantile", "quantile": 0.7},
    "absolute error": {"loss": "absolute_error"},
    "every value": {"split": "exact"},
    "out of bag": {"subsample": 0.6, "oob_score": True},
    "minimal variance": {"sampling": "mvs", "subsample": 0.6},
    "largest gradients": {"sampling": "goss"},
    "held out": {"early_stopping": True},
    "folds": {"early_stopping": 3},
    "gradients": {"response": "gradient"},
    "symmetric": {"grow_policy": "symmetric"},
    "dropout": {"dropout": Dart(rate=0.5)},
}
MODELS: dict[str, Any] = {
    **{name: GradientBoostingRegressor(**FEW, **params) for name, params in BOOSTED.items()},
    "line search": StagewiseRegressor(
        learner=HistogramTree(min_samples_leaf=3), step="line_search", n_estimators=8, n_jobs=1
    ),
    "steps of epsilon": StagewiseLinearRegressor(step_size=0.01, n_estimators=100, n_jobs=1),
    "steps, held out": StagewiseLinearRegressor(early_stopping=True, n_estimators=100, n_jobs=1),
    "steps, folds": StagewiseLinearRegressor(early_stopping=3, n_jobs=1),
    "bags, stopped": BaggingRegressor(early_stopping=True, n_estimators=10, n_jobs=1),
    "bags, weighted": BaggingRegressor(combine="weighted", n_estimators=5, n_jobs=1),
    "cross-validation committee": BaggingRegressor(
        GradientBoostingRegressor(**FEW), sampling="folds", cv=3, n_jobs=1
    ),
    "a tree of medians": DecisionTreeRegressor(criterion="absolute_error", n_jobs=1),
    "a tree, pruned by a price": DecisionTreeRegressor(pruning="cost_complexity", n_jobs=1),
    "a tree, pruned by held-out rows": DecisionTreeRegressor(pruning="reduced_error", n_jobs=1),
    "a forest of medians": RandomForestRegressor(
        criterion="absolute_error", n_estimators=5, n_jobs=1
    ),
    "a forest, stopped": RandomForestRegressor(early_stopping=True, n_estimators=12, n_jobs=1),
    "random thresholds": ExtraTreesRegressor(n_estimators=5, n_jobs=1),
}
EACH = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def table() -> Any:
    return make_table(ROWS, missing=False)


@pytest.fixture(scope="module")
def plain(table: Any) -> dict[str, np.ndarray]:
    fits = {name: clone(model).fit(table.X, table.number) for name, model in MODELS.items()}
    return {name: fit.predict(table.X) for name, fit in fits.items()}


@EACH
@pytest.mark.parametrize("factor", [1e-300, 1e-30, 1e-5, 1e20, 1e150, 1e300])
def test_y_scale_does_not_matter(name: str, factor: float, table: Any, plain: Any) -> None:
    predicted = clone(MODELS[name]).fit(table.X, table.number * factor).predict(table.X)
    wrong = np.abs(predicted / factor - plain[name]).mean()
    assert wrong < 1e-3 * table.number.std()


@EACH
@pytest.mark.parametrize("offset", [1e7, 1e9, -1e12])
def test_y_offset_does_not_matter(name: str, offset: float, table: Any, plain: Any) -> None:
    predicted = clone(MODELS[name]).fit(table.X, table.number + offset).predict(table.X)
    wrong = np.abs(predicted - offset - plain[name]).mean()
    assert wrong < 1e-3 * table.number.std()


@EACH
@pytest.mark.parametrize("factor", [2.0**-1010, 2.0**-500, 2.0**500, 2.0**1000])
def test_x_scale_does_not_matter(name: str, factor: float, table: Any, plain: Any) -> None:
    X, model = table.X * factor, clone(MODELS[name])
    predicted = model.fit(X, table.number).predict(X)
    if is_linear(type(model)):
        np.testing.assert_allclose(predicted, plain[name], rtol=1e-9)
    else:
        wrong = np.abs(predicted - plain[name]).mean()
        assert wrong < 1e-3 * table.number.std()
