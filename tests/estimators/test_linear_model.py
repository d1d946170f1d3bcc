"""LinearRegression: comparison with exact fractions, invariants and errors."""

from __future__ import annotations

import pickle
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

import stagewise
from coefficient_table import coefficient_table
from estimators.processes import run_in_process
from estimators.tables import hashed, make_table
from reference.linear import least_squares
from stagewise import InvalidParameterError, LinearRegression, ModelFormatError


def table(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    cells = hashed(n, 4, seed)
    X = np.column_stack([cells[:, 0] / 4096.0, cells[:, 1] % 7, cells[:, 2] / 2.0**20])
    return X, X @ [0.01, 3.0, -2.0] + cells[:, 3] / 2.0**22 + 10.0


def frame(n: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = table(n)
    city = np.array(["Rome", "Bonn", "Oslo"])[hashed(n, 1, 5)[:, 0] % 3]
    data = pd.DataFrame(X, columns=["a", "b", "ü"]).assign(city=pd.Categorical(city))
    return data, y + 4.0 * (city == "Oslo")


def every_number(model: LinearRegression) -> np.ndarray:
    coefs = coefficient_table(model)
    numbers = [coefs[name] for name in ("estimate", "standard_error", "t", "p", "low", "high")]
    fit = [model.r2_, model.adjusted_r2_, model.sigma_, *model.f_test_, model.aic_, model.bic_]
    return np.concatenate([*numbers, fit])


# ---- compared with exact fractions ---------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_equals_the_exact_solution(intercept, weighted):
    X, y = table()
    weight = 1.0 + np.arange(60) % 3 if weighted else None
    model = LinearRegression(fit_intercept=intercept).fit(X, y, weight)
    beta, inverse, rss = least_squares(X, y, weight, intercept=intercept)
    n = 60 if weight is None else weight.sum()
    sigma = np.sqrt(rss / (n - len(beta)))
    coefs = coefficient_table(model)
    np.testing.assert_allclose(coefs["estimate"], beta, rtol=1e-11)
    np.testing.assert_allclose(
        coefs["standard_error"], sigma * np.sqrt(np.diag(inverse)), rtol=1e-11
    )
    np.testing.assert_allclose(model.covariance_, sigma**2 * inverse, rtol=1e-9)
    assert model.sigma_ == pytest.approx(sigma, rel=1e-11)


def test_nearly_collinear_columns_keep_their_digits():
    X, y = table()
    X = np.column_stack([X, X[:, 0] * (1 + 1e-7 * (hashed(60, 1, 9)[:, 0] % 3))])
    coefs = coefficient_table(LinearRegression().fit(X, y))
    beta, inverse, _ = least_squares(X, y)
    np.testing.assert_allclose(coefs["estimate"], beta, rtol=1e-7)
    assert np.linalg.cond(inverse) > 1e14, "normal equations would have lost all of them"


@pytest.mark.parametrize("shift", [0.0, 1e9])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_x_scale_and_offset_do_not_matter(size, shift):
    X, y = table()
    plain, model = (
        LinearRegression().fit(X, y),
        LinearRegression().fit(X * size + [shift * size, 0, 0], y),
    )
    tolerance = 1e-9 if shift == 0 else 1e-4
    for name in ("t", "p"):
        np.testing.assert_allclose(
            coefficient_table(model)[name][1:], coefficient_table(plain)[name][1:], rtol=tolerance
        )
    assert model.r2_ == pytest.approx(plain.r2_, rel=tolerance)


# ---- invariants ----------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [2.0, 0.25, -1024.0])
def test_scaling_y_scales_the_model(a):
    X, y = table()
    plain, model = LinearRegression().fit(X, y), LinearRegression().fit(X, a * y)
    np.testing.assert_array_equal(model.predict(X), a * plain.predict(X))
    np.testing.assert_array_equal(model.coef_, a * plain.coef_)


def test_weight_two_equals_the_row_twice_and_weight_zero_its_absence():
    X, y = frame()
    weight = np.arange(60) % 3
    model = LinearRegression().fit(X, y, weight)
    twice = LinearRegression().fit(X.loc[X.index.repeat(weight)], np.repeat(y, weight))
    np.testing.assert_allclose(every_number(model), every_number(twice), rtol=1e-10)
    absent = LinearRegression().fit(X[weight > 0], y[weight > 0], weight[weight > 0])
    assert absent.fingerprint() == model.fingerprint()
    assert (
        LinearRegression().fit(X, y, np.ones(60)).fingerprint()
        == LinearRegression().fit(X, y).fingerprint()
    )


def test_a_row_of_weight_zero_may_have_any_value():
    X, y = table()
    weight = np.r_[0.0, np.ones(59)]
    X[0] = np.nan
    assert (
        LinearRegression().fit(X, y, weight).fingerprint()
        == LinearRegression().fit(X[1:], y[1:]).fingerprint()
    )


def test_the_order_of_rows_changes_only_rounding():
    X, y = frame()
    order = np.argsort(hashed(60, 1, 3)[:, 0])
    found = LinearRegression().fit(X.iloc[order], y[order])
    np.testing.assert_allclose(
        every_number(found), every_number(LinearRegression().fit(X, y)), rtol=1e-10
    )


def test_prediction_does_not_depend_on_the_batch():
    X, y = frame(500)
    model = LinearRegression().fit(X, y)
    whole = model.predict(X)
    parts = np.concatenate([model.predict(X[i : i + 7]) for i in range(0, 500, 7)])
    np.testing.assert_array_equal(whole, parts)
    np.testing.assert_allclose(
        whole,
        model.intercept_
        + X[["a", "b", "ü"]].to_numpy() @ model.coef_[:3]
        + np.where(X["city"] == "Oslo", model.coef_[3], 0.0)
        + np.where(X["city"] == "Rome", model.coef_[4], 0.0),
        rtol=1e-12,
    )
    assert model.predict(X[:0]).shape == (0,)
    assert model.predict_interval(X[:0]).shape == (0, 2)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_of_blas_threads_does_not_matter(threads):
    X, y = make_table(20_000, 60, missing=False).X, make_table(20_000).number
    with threadpool_limits(limits=threads):
        found = LinearRegression().fit(X, y).fingerprint()
    assert found == LinearRegression().fit(X, y).fingerprint()


def fingerprints() -> dict[str, str]:
    X, y = frame(700)
    return {"frame": LinearRegression().fit(X, y, 1 + np.arange(700) % 3).fingerprint()}


def test_the_vector_instructions_of_numpy_do_not_matter():
    without = {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"}
    assert (
        run_in_process("fingerprints", module="estimators.test_linear_model", **without)
        == fingerprints()
    )


def test_every_kind_of_table_gives_the_same_model():
    X, y = frame()
    plain = LinearRegression().fit(X, y).fingerprint()
    others = [
        pl.from_pandas(X),
        X.assign(city=X["city"].cat.reorder_categories(["Rome", "Oslo", "Bonn"])),
    ]
    assert {LinearRegression().fit(other, y).fingerprint() for other in others} == {plain}
    shuffled = X[["city", "b", "ü", "a"]]
    model = LinearRegression().fit(X, y)
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(X))
    A = table()[0]
    assert (
        LinearRegression().fit(np.asfortranarray(A), y).fingerprint()
        == LinearRegression().fit(A.tolist(), y.tolist()).fingerprint()
    )


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cell", "word"), [(np.nan, "missing"), (np.inf, "infinite")])
def test_error_names_a_missing_or_infinite_value(cell, word):
    X, y = frame()
    model = LinearRegression().fit(X, y)
    X.loc[7, "ü"] = cell
    for use in (lambda: LinearRegression().fit(X, y), lambda: model.predict(X)):
        with pytest.raises(ValueError, match=rf"column 'ü' is {word}.*at row 7.*Impute"):
            use()


def test_error_names_a_missing_category():
    X, y = frame()
    model = LinearRegression().fit(X, y)
    X.loc[3, "city"] = None
    for use in (lambda: LinearRegression().fit(X, y), lambda: model.predict(X)):
        with pytest.raises(ValueError, match=r"'city' is missing \(NaN\) at row 3"):
            use()


def test_error_names_a_category_without_a_coefficient():
    X, y = frame()
    model = LinearRegression().fit(X, y)
    other = X.assign(city=["Paris", *X["city"].astype(str)[1:]])
    with pytest.raises(ValueError, match=r"'city' has .* in 1 of 60 rows: 'Paris'.*no coefficient"):
        model.predict(other)


def test_error_names_dates_and_wide_integers():
    X, y = frame()
    for column in (np.arange(60) + 2**60, pd.date_range("2020-01-01", periods=60)):
        with pytest.raises(
            ValueError, match=r"column 'when' holds integers beyond 2\*\*53.*Convert"
        ):
            LinearRegression().fit(X.assign(when=column), y)


def test_sparse_matrices_are_refused():
    X, y = table()
    with pytest.raises(ValueError, match=r"sparse matrix.*toarray"):
        LinearRegression().fit(scipy.sparse.csr_array(X), y)
    with pytest.raises(ValueError, match=r"sparse matrix.*toarray"):
        LinearRegression().fit(X, y).predict(scipy.sparse.csr_array(X))


def test_parameters_are_checked():
    X, y = table()
    with pytest.raises(
        InvalidParameterError, match="'fit_intercept' of LinearRegression must be True or"
    ):
        LinearRegression(fit_intercept="yes").fit(X, y)
    with pytest.raises(TypeError, match=r"no parameter 'fit_intercep'.*'fit_intercept'"):
        LinearRegression(fit_intercep=False)
    model = LinearRegression().fit(X, y)
    for level in (0, 1, 95, "0.95", True, np.nan):
        with pytest.raises(InvalidParameterError, match=r"level must be.*got"):
            model.predict_interval(X, confidence_level=level)
    with pytest.warns(UserWarning, match=r"confidence_level=0\.05 .*pass confidence_level=0\.95"):
        model.conf_int(confidence_level=0.05)
    with pytest.raises(TypeError, match=r"conf_int\(\) takes at most 0 .*name: confidence_level\."):
        model.conf_int(0.05)
    with pytest.raises(TypeError, match=r"no argument 'alpha'\. Here it is confidence_level"):
        model.conf_int(alpha=0.05)
    with pytest.raises(InvalidParameterError, match=r"'prediction' or 'mean'; got 'new'"):
        model.predict_interval(X, kind="new")
    with pytest.raises(NotFittedError):
        LinearRegression().summary()


def test_a_constant_target():
    X, _ = table()
    with pytest.warns(UserWarning, match="y has only one value"):
        model = LinearRegression().fit(X, np.full(60, 7.0))
    np.testing.assert_array_equal(model.predict(X), 7.0)
    assert np.isnan(model.r2_)
    assert isinstance(model.summary(), str)


def test_one_row_and_one_column():
    with pytest.warns(UserWarning, match="y has only one value"):
        model = LinearRegression().fit([[1.0]], [2.0])
    assert model.predict([[1.0]]) == 2.0


# ---- copies and files ----------------------------------------------------------------------------


def by_file(model, folder):
    model.save(folder / "model.stgw")
    return stagewise.load(folder / "model.stgw")


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("way", [by_file, lambda model, _: pickle.loads(pickle.dumps(model))])
def test_a_copy_is_the_same_model(way, intercept, tmp_path):
    X, y = frame()
    model = LinearRegression(fit_intercept=intercept).fit(X, y)
    restored = way(model, tmp_path)
    assert type(restored) is LinearRegression
    assert restored.get_params() == model.get_params()
    assert restored.fingerprint() == model.fingerprint()
    assert restored.summary() == model.summary()
    assert restored.feature_names_in_.tolist() == ["a", "b", "ü", "city"]
    np.testing.assert_array_equal(restored.predict(X), model.predict(X))
    np.testing.assert_array_equal(restored.predict_interval(X), model.predict_interval(X))
    assert restored.fit(X, y).fingerprint() == model.fingerprint()
    assert not hasattr(clone(model), "coef_")


def test_a_file_of_another_estimator_is_no_linear_model(tmp_path):
    X, y = table()
    other = stagewise.GradientBoostingRegressor(n_estimators=2).fit(X, y)
    stagewise.model.file.format.write_model(
        tmp_path / "model.stgw",
        other.model_,
        {"class": "LinearRegression", "params": {}, "seed": 0},
    )
    with pytest.raises(ModelFormatError, match="LinearRegression has coefficients"):
        stagewise.load(tmp_path / "model.stgw")


def test_the_summary_has_all_numbers():
    X, y = frame()
    text = LinearRegression().fit(X, y).summary(confidence_level=0.9)
    for word in (
        "60 rows",
        "R²",
        "F(5, 54)",
        "AIC",
        "90 % interval",
        "intercept",
        "city=Oslo",
        "ü",
    ):
        assert word in text
    assert "baselines, whose coefficient is 0: city=Bonn" in text
    assert max(map(len, text.splitlines())) <= 100


def test_residual_plot():
    pytest.importorskip("matplotlib")
    X, y = frame()
    model = LinearRegression().fit(X, y)
    axes = model.plot_residuals(X, y)
    assert [ax.get_xlabel() for ax in axes] == ["predicted", "normal quantile", "leverage"]
    (dots, *_) = axes[0].lines
    np.testing.assert_allclose(dots.get_ydata(), y - model.predict(X))
    assert axes[2].lines[0].get_xdata().sum() == pytest.approx(model.rank_), "Σ leverage"
    assert model.plot_residuals(X, y, axes=axes) == axes
    with pytest.raises(InvalidParameterError, match="axes must be 3 matplotlib axes"):
        model.plot_residuals(X, y, axes=axes[:2])


def test_error_without_matplotlib_names_the_remedy(monkeypatch):
    X, y = frame()
    model = LinearRegression().fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"needs matplotlib.*pip install 'stagewise\[plot\]'"):
        model.plot_residuals(X, y)


def test_many_categories():
    codes = hashed(2000, 1, 4)[:, 0] % 150
    y = (codes % 10).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearRegression(categorical_features=[0]).fit(
            codes[:, None], y + hashed(2000, 1)[:, 0] % 3
        )
    means = [(y + hashed(2000, 1)[:, 0] % 3)[codes == c].mean() for c in range(150)]
    np.testing.assert_allclose(model.predict(np.arange(150)[:, None]), means, rtol=1e-10)
