"""LinearRegression equals statsmodels to 1e-8 wherever both are defined."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from coefficient_table import coefficient_table
from stagewise import LinearRegression

CLOSE = 1e-8


def table(n: int = 80, k: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k)) + np.arange(k)
    return X, 2.0 + X @ np.linspace(1, -1, k) + rng.normal(size=n)


def quiet(model: LinearRegression, *args: object) -> LinearRegression:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args)


def peer(X: np.ndarray, y: np.ndarray, *, intercept: bool = True, weights=None):
    A = sm.add_constant(X, has_constant="add") if intercept else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns may be collinear
        return sm.OLS(y, A).fit() if weights is None else sm.WLS(y, A, weights=weights).fit()


def same(model: LinearRegression, found, *, rows: np.ndarray | None = None) -> None:
    """Compare all results; coefficients in units of their standard errors."""
    coefs = coefficient_table(model, 0.9)
    error = np.asarray(found.bse)
    np.testing.assert_allclose(coefs["estimate"] / error, found.params / error, atol=CLOSE)
    np.testing.assert_allclose(coefs["standard_error"], error, rtol=CLOSE)
    np.testing.assert_allclose(coefs["t"], found.tvalues, rtol=CLOSE, atol=CLOSE)
    np.testing.assert_allclose(coefs["p"], found.pvalues, rtol=1e-7, atol=1e-14)
    ends = np.column_stack([coefs["low"], coefs["high"]])
    interval = np.asarray(found.conf_int(alpha=0.1))
    np.testing.assert_allclose(ends / error[:, None], interval / error[:, None], atol=CLOSE)
    np.testing.assert_allclose(model.covariance_, found.cov_params(), rtol=1e-6, atol=1e-12)
    assert model.r2_ == pytest.approx(found.rsquared, rel=CLOSE)
    assert model.adjusted_r2_ == pytest.approx(found.rsquared_adj, rel=CLOSE)
    assert model.f_test_[0] == pytest.approx(found.fvalue, rel=CLOSE)
    assert model.f_test_[1] == pytest.approx(found.f_pvalue, rel=1e-7, abs=1e-300)
    assert model.df_residual_ == pytest.approx(found.df_resid)
    assert model.sigma_ == pytest.approx(np.sqrt(found.mse_resid), rel=CLOSE)
    if rows is not None:
        A = sm.add_constant(rows, has_constant="add") if model.fit_intercept else rows
        predicted = found.get_prediction(A)
        np.testing.assert_allclose(model.predict(rows), predicted.predicted_mean, rtol=CLOSE)
        for kind, obs in (("prediction", True), ("mean", False)):
            mine = model.predict_interval(rows, confidence_level=0.8, kind=kind)
            np.testing.assert_allclose(mine, predicted.conf_int(obs=obs, alpha=0.2), rtol=CLOSE)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n", [6, 80, 5000])
def test_table_without_special_cases(n, intercept):
    X, y = table(n)
    model = LinearRegression(fit_intercept=intercept).fit(X, y)
    found = peer(X, y, intercept=intercept)
    same(model, found, rows=table(20, seed=1)[0])
    for name in ("aic", "bic"):
        assert getattr(model, f"{name}_") == pytest.approx(getattr(found, name), rel=CLOSE)
    assert model.log_likelihood_ == pytest.approx(found.llf, rel=CLOSE)


@pytest.mark.parametrize("size", [1e-6, 1e5])
def test_scaled_columns_and_targets(size):
    X, y = table()
    X = X * [1.0, size, 1.0, 1.0]
    same(LinearRegression().fit(X, y / size), peer(X, y / size), rows=X[:9])


def test_columns_with_a_large_offset():
    X, y = table()
    X = X + np.array([0.0, 2000.0, 0.0, -500.0])
    same(LinearRegression().fit(X, y), peer(X, y), rows=X[:9])


@pytest.mark.parametrize("intercept", [True, False])
def test_collinear_columns_have_the_coefficients_of_the_pseudo_inverse(intercept):
    X, y = table()
    X = np.column_stack([X, X[:, 1], 2.0 * X[:, 2]])
    with pytest.warns(UserWarning, match="'x4' is a linear combination of 'x1'; 'x5' .* of 'x2'"):
        model = LinearRegression(fit_intercept=intercept).fit(X, y)
    found = peer(X, y, intercept=intercept)
    same(model, found, rows=X[:9])
    assert model.rank_ == 4 + intercept


@pytest.mark.parametrize("intercept", [True, False])
def test_constant_column_and_intercept_share_the_coefficient(intercept):
    X, y = table()
    X[:, 2] = 3.0
    model = quiet(LinearRegression(fit_intercept=intercept), X, y)
    same(model, peer(X, y, intercept=intercept), rows=X[:9])
    assert model.r2_ == pytest.approx(quiet(LinearRegression(), X, y).r2_), "the constant is a fit"


def test_fewer_rows_than_columns():
    X, y = table(5, 8)
    with pytest.warns(UserWarning, match="5 coefficients for 5 rows.*fewer columns or more rows"):
        model = LinearRegression().fit(X, y)
    found = peer(X, y)
    np.testing.assert_allclose(coefficient_table(model)["estimate"], found.params, rtol=1e-8)
    np.testing.assert_allclose(model.predict(X), y)
    assert np.isnan(coefficient_table(model)["standard_error"]).all()
    assert np.isnan([model.sigma_, *model.f_test_, model.adjusted_r2_]).all()


def test_integer_weights_equal_repeated_rows():
    X, y = table()
    weight = np.arange(80) % 4
    model = LinearRegression().fit(X, y, weight)
    found = peer(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    same(model, found, rows=X[:9])
    by_weight = peer(X[weight > 0], y[weight > 0], weights=weight[weight > 0])
    np.testing.assert_allclose(coefficient_table(model)["estimate"], by_weight.params, rtol=CLOSE)


def test_fractional_weights_equal_weighted_least_squares():
    X, y = table()
    weight = np.linspace(0.1, 3.0, 80)
    model, found = LinearRegression().fit(X, y, weight), peer(X, y, weights=weight / weight.mean())
    same(model, found)
    again = LinearRegression().fit(X, y, 1000.5 * weight)
    np.testing.assert_allclose(again.covariance_, model.covariance_, rtol=1e-10)


def test_categories_equal_dummies_with_a_baseline():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["city"] = pd.Categorical(np.array(["Rome", "Bonn", "Oslo"])[np.arange(80) % 3])
    y = y + 5.0 * (frame["city"] == "Rome")
    model = LinearRegression().fit(frame, y)
    assert model.coef_names_ == ["a", "b", "c", "d", "city=Oslo", "city=Rome"]
    dummies = [(frame["city"] == name).to_numpy(float) for name in ("Oslo", "Rome")]
    found = peer(np.column_stack([X, *dummies]), np.asarray(y))
    same(model, found)
    np.testing.assert_allclose(model.predict(frame), found.fittedvalues, rtol=CLOSE)
    predicted = found.get_prediction().conf_int(obs=True, alpha=0.05)
    np.testing.assert_allclose(model.predict_interval(frame), predicted, rtol=CLOSE)
    assert "city=Bonn" in model.summary()


def test_a_single_constant_category():
    y = table()[1]
    frame = pd.DataFrame({"city": pd.Categorical(["Rome"] * 80)})
    with pytest.warns(UserWarning, match="Every feature is constant"):
        model = LinearRegression().fit(frame, y)
    found = sm.OLS(y, np.ones((80, 1))).fit()
    np.testing.assert_allclose(coefficient_table(model)["standard_error"], found.bse, rtol=CLOSE)
    assert model.r2_ == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(model.f_test_[0])
