"""`inspection.coverage`, and the sections of the report about intervals and calibration."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from stagewise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    LinearRegression,
    RandomForestClassifier,
)
from stagewise.inspection import coverage
from stagewise.report.page_facts import report_facts


def draw(n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + rng.normal(size=n)


@pytest.fixture(scope="module")
def numbers() -> Any:
    return GradientBoostingRegressor(conformal="cv", n_estimators=30).fit(*draw(600, 0))


def test_coverage_is_the_share_of_covered_rows(numbers: Any) -> None:
    X, y = draw(500, 1)
    weight = np.random.default_rng(2).integers(0, 3, size=500)
    found = coverage(numbers, X, y, levels=[0.5, 0.9], sample_weight=weight)
    for k, level in enumerate((0.5, 0.9)):
        bounds = numbers.predict_interval(X, coverage=level)
        inside = (bounds[:, 0] <= y) & (y <= bounds[:, 1])
        assert found.observed[k] == pytest.approx(np.average(inside, weights=weight))
        width = np.average(bounds[:, 1] - bounds[:, 0], weights=weight)
        assert found.size[k] == pytest.approx(width)
        assert found.low[k] < found.observed[k] < found.high[k]
    assert found.table()[1]["nominal"] == 0.9


def test_levels_with_too_few_scores_are_left_out() -> None:
    X, y = draw(30, 3)
    model = GradientBoostingRegressor(conformal="split", n_estimators=5).fit(X, y)
    assert coverage(model, X, y).nominal.tolist() == [0.5, 0.6, 0.7, 0.8]


def test_the_plot_has_the_levels(numbers: Any) -> None:
    ax = coverage(numbers, *draw(100, 4)).plot()
    assert ax.get_ylabel() == "observed coverage"
    plt.close(ax.figure)


def test_models_without_scores_are_refused() -> None:
    X, y = draw(60, 5)
    with pytest.raises(InvalidParameterError, match="has no conformity scores"):
        coverage(GradientBoostingRegressor(n_estimators=5).fit(X, y), X, y)
    with pytest.raises(TypeError, match="coverage is for gradient boosting and forests"):
        coverage(LinearRegression().fit(X, y), X, y)


def test_the_report_has_the_coverage_of_intervals(numbers: Any) -> None:
    X, y = draw(200, 6)
    found = report_facts(numbers, X, y).quality.coverage
    assert found is not None
    np.testing.assert_array_equal(found.observed, coverage(numbers, X, y).observed)


def test_the_report_has_the_calibration_before_and_after() -> None:
    X, y = draw(900, 7)
    labels = np.where(y > 0, "yes", "no")
    weights = {"yes": 8.0, "no": 1.0}
    model = GradientBoostingClassifier(
        calibration="beta", class_weight=weights, early_stopping=True, n_estimators=100
    ).fit(X[:600], labels[:600])
    quality = report_facts(model, X[600:], labels[600:]).quality
    (own,) = quality.classes
    assert own.before is not None
    assert own.calibration.error < own.before.error - 0.1
    assert quality.coverage is None
    forest = RandomForestClassifier(n_estimators=20, conformal="oob").fit(X, labels)
    quality = report_facts(forest, X, labels).quality
    assert quality.classes[0].before is None
    assert quality.coverage is not None
    assert quality.coverage.of_classes
