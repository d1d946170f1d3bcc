"""The units of X and y change only the units of the predictions of a linear model."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from coefficient_table import coefficient_table
from estimators.tables import make_table
from stagewise import LinearRegression, StagewiseLinearRegressor, StepwiseRegressor

ROWS = 80
LINEAR = {
    "least squares": LinearRegression(),
    "without intercept": LinearRegression(fit_intercept=False),
    "forward": StepwiseRegressor(),
    "backward by p": StepwiseRegressor(direction="backward", criterion="p_value"),
    "by folds": StepwiseRegressor(criterion="cv", cv=3),
    "full steps": StagewiseLinearRegressor(n_estimators=50),
    "steps of epsilon": StagewiseLinearRegressor(step_size=0.01, n_estimators=50),
}
EACH = pytest.mark.parametrize("model", LINEAR.values(), ids=LINEAR)


@pytest.fixture(scope="module")
def table() -> Any:
    return make_table(ROWS, missing=False)


@EACH
@pytest.mark.parametrize("power", [-900, -400, 500, 1000])
def test_y_times_a_power_of_two_gives_identical_digits(model: Any, power: int, table: Any) -> None:
    y = table.number / 4096
    plain = clone(model).fit(table.X, y).predict(table.X)
    scaled = clone(model).fit(table.X, np.ldexp(y, power)).predict(table.X)
    np.testing.assert_allclose(np.ldexp(scaled, -power), plain, rtol=1e-12)


@EACH
@pytest.mark.parametrize("power", [-900, -400, 500, 1000])
def test_a_power_of_two_times_a_column_changes_no_prediction(
    model: Any, power: int, table: Any
) -> None:
    X = table.X * [2.0**power, 1.0, 2.0 ** (power // 2), 1.0, 2.0 ** (-power // 2)]
    plain = clone(model).fit(table.X, table.number).predict(table.X)
    np.testing.assert_allclose(clone(model).fit(X, table.number).predict(X), plain, rtol=1e-9)


@pytest.mark.parametrize("model", [LINEAR["least squares"], LINEAR["forward"]], ids=str)
@pytest.mark.parametrize("factor", [1e-200, 1e200, 1e300])
def test_tests_and_intervals_do_not_depend_on_units(model: Any, factor: float, table: Any) -> None:
    plain = clone(model).fit(table.X, table.number)
    t, r2, f = coefficient_table(plain)["t"], plain.r2_, plain.f_test_
    scaled = clone(model).fit(table.X, table.number * factor)
    np.testing.assert_allclose(coefficient_table(scaled)["t"], t, rtol=1e-6)
    np.testing.assert_allclose([scaled.r2_, *scaled.f_test_], [r2, *f], rtol=1e-6)
    assert np.isfinite(scaled.predict_interval(table.X)).all()
    assert scaled.covariance_.shape == (len(t), len(t))
    assert isinstance(scaled.summary(), str)


@EACH
def test_error_names_the_row_of_a_prediction_that_is_not_finite(model: Any, table: Any) -> None:
    model = clone(model).fit(table.X, np.ldexp(table.X[:, 0] - 2000, 1000))
    X = table.X[:3].copy()
    X[1, 0] = 1e100
    with pytest.raises(ValueError, match="prediction for row 1 is beyond the range of a float64"):
        model.predict(X)
    X[1, 0] = 1e3
    assert np.isfinite(model.predict(X)).all()


def test_intervals_of_extreme_rows_are_infinite(table: Any) -> None:
    model = LinearRegression().fit(table.X, table.number)
    X = table.X[:4].copy()
    X[1] = 1e200
    X[2, :2] = 1e200, -1e200
    low, high = model.predict_interval(X).T
    assert np.isfinite(model.predict(X)).all()
    np.testing.assert_array_equal(np.isinf(high - low), [False, True, True, False])


def odd_table(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return columns of very different units, some collinear, with a target of another one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(1, 30), rng.integers(1, 5)))
    if rng.random() < 0.3:
        X[:, -1] = X[:, 0]
    X = np.ldexp(X, rng.choice([0, 0, -1000, -500, 500, 1000, 1020], size=X.shape[1]))
    X = X + (0.0 if rng.random() < 0.8 else rng.choice([1e9, -1e300]))
    y = np.ldexp(rng.normal(size=len(X)), int(rng.choice([0, -1040, -500, 500, 1015])))
    weight = None if rng.random() < 0.6 else rng.integers(1, 3, len(X)) * rng.choice([0.3, 1e200])
    return X, y, weight


@EACH
@pytest.mark.parametrize("seeds", [range(start, start + 20) for start in (0, 20)], ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")  # of collinear columns, and rows that are few
def test_any_units_give_numbers_or_an_error_that_names_the_column(model: Any, seeds: range) -> None:
    expected = (
        r"X column \d has values so close|X column \d ranges from|prediction for row|folds need"
    )
    model = clone(model)
    for seed in seeds:
        X, y, weight = odd_table(seed)
        try:
            predicted = model.fit(X, y, weight).predict(X)
        except ValueError as error:
            if not re.search(rf"{expected}|backward' starts with all", str(error)):
                raise
            continue
        assert np.isfinite(predicted).all()
        if hasattr(model, "summary"):
            coefficient_table(model)
            model.summary()
            model.predict_interval(X)
            assert model.covariance_.shape


def test_attributes_that_a_linear_model_lacks_are_absent(table: Any) -> None:
    model = StagewiseLinearRegressor(n_estimators=5).fit(table.X, table.number)
    for name in ("apply", "feature_importances_"):
        assert not hasattr(model, name)
        with pytest.raises(
            AttributeError, match=rf"StagewiseLinearRegressor.* has no attribute '{name}'"
        ):
            getattr(model, name)
