"""docs/fit-report.md has all keys of `fit_report_`, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from stagewise import (
    AdaBoostClassifier,
    AutoRegressor,
    BaggingClassifier,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    LinearRegression,
    RandomForestRegressor,
    StagewiseLinearRegressor,
    StepwiseRegressor,
)

PAGE = Path(__file__).parents[1] / "docs" / "fit-report.md"
ESTIMATORS = (
    AdaBoostClassifier(n_estimators=2),
    AutoRegressor(quality=3),
    BaggingClassifier(n_estimators=2),
    DecisionTreeRegressor(),
    GradientBoostingRegressor(),
    GradientBoostingRegressor(n_estimators=2, categorical_features=[0], category_encoding="target"),
    LinearRegression(),
    RandomForestRegressor(n_estimators=2),
    StagewiseLinearRegressor(n_estimators=2),
    StepwiseRegressor(),
)


def test_the_page_has_exactly_the_keys_of_all_reports():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=80) > 0).astype(int)
    found = {key for estimator in ESTIMATORS for key in estimator.fit(X, y).fit_report_}
    documented = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), flags=re.MULTILINE))
    assert found == documented
