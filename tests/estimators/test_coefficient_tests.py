"""t tests, F tests and confidence sets of LinearRegression equal statsmodels, scipy and NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

import stagewise
from stagewise import InvalidParameterError, LinearRegression, StepwiseRegressor


def table(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 3)) + np.array([0.0, 20.0, -3.0])
    return X, 2.0 + X @ [1.0, 0.3, 0.0] + rng.normal(size=n)


def fitted(*, intercept: bool = True, weight: np.ndarray | None = None):
    X, y = table()
    repeats = np.ones(60, dtype=int) if weight is None else weight
    A = sm.add_constant(X) if intercept else X
    peer = sm.OLS(np.repeat(y, repeats), np.repeat(A, repeats, axis=0)).fit()
    return LinearRegression(fit_intercept=intercept).fit(X, y, weight), peer


WEIGHTS = [None, 1 + np.arange(60) % 3]


@pytest.mark.parametrize("weight", WEIGHTS, ids=["no weights", "counts"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("terms", "value"), [(["x0"], 1.0), (["x2", "x0"], [0.1, 0.9]), (None, 0.5), (None, 0.0)]
)
def test_the_f_test_equals_statsmodels(terms, value, intercept, weight):
    model, peer = fitted(intercept=intercept, weight=weight)
    names = model.term_names_ if terms is None else terms
    contrast = np.stack([np.eye(len(model.term_names_))[model.term_names_.index(n)] for n in names])
    expected = peer.f_test((contrast, np.broadcast_to(value, len(names))))
    found = model.f_test(terms, value)
    assert found.statistic == pytest.approx(float(expected.fvalue), rel=1e-8)
    assert found.pvalue == pytest.approx(float(expected.pvalue), rel=1e-6)
    assert (found.df_num, found.df_denom) == (expected.df_num, expected.df_denom)


def test_the_f_test_of_all_slopes_is_that_of_the_fit():
    model, _ = fitted()
    assert model.f_test(model.coef_names_)[:2] == pytest.approx(model.f_test_)


def test_a_categorical_feature_is_tested_by_its_name():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abc")).assign(city=pd.Categorical(["u", "v", "w"] * 20))
    whole, less = LinearRegression().fit(frame, y), LinearRegression().fit(frame[list("abc")], y)
    rss = [fit.sigma_**2 * fit.df_residual_ for fit in (less, whole)]
    f = (rss[0] - rss[1]) / 2 / whole.sigma_**2
    assert whole.f_test("city").statistic == pytest.approx(f, rel=1e-8)
    assert whole.f_test("city") == whole.f_test(["city=v", "city=w"])
    with pytest.raises(InvalidParameterError, match=r"one coefficient.*has 2.*f_test"):
        whole.t_test("city")


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("weight", WEIGHTS, ids=["no weights", "counts"])
def test_the_mean_of_y_is_tested_by_a_model_without_columns(weight, alternative):
    y = table()[1]
    model = LinearRegression().fit(None, y, weight)
    rows = y if weight is None else np.repeat(y, weight)
    expected = stats.ttest_1samp(rows, 7.0, alternative=alternative)
    found = model.t_test("intercept", 7.0, alternative=alternative)
    assert found == pytest.approx((expected.statistic, expected.pvalue, expected.df), rel=1e-9)
    interval = stats.ttest_1samp(rows, 7.0).confidence_interval(0.95)
    np.testing.assert_allclose(model.conf_int(), [interval], rtol=1e-10)
    assert model.f_test("intercept", 7.0).statistic == pytest.approx(found.statistic**2)


def test_a_model_without_columns_predicts_the_mean_and_is_saved(tmp_path):
    y = table()[1]
    model = LinearRegression().fit(None, y)
    model.save(tmp_path / "mean.stgw")
    again = stagewise.load(tmp_path / "mean.stgw")
    assert again.fingerprint() == model.fingerprint()
    np.testing.assert_allclose(again.predict(np.empty((3, 0))), y.mean())
    np.testing.assert_allclose(again.predict(pd.DataFrame({"any": [1, 2]})), [y.mean()] * 2)
    assert again.n_features_in_ == 0
    assert "all slopes" not in again.summary()


@pytest.mark.parametrize("weight", WEIGHTS, ids=["no weights", "counts"])
@pytest.mark.parametrize("terms", [None, ["x1", "x2"], ["intercept", "x1"]])
def test_the_confidence_set_is_the_ellipsoid_of_the_textbook(terms, weight):
    model, peer = fitted(weight=weight)
    chosen = model.confidence_set(terms, confidence_level=0.9)
    places = [model.term_names_.index(n) for n in terms or model.term_names_]
    V, w, q = peer.cov_params()[np.ix_(places, places)], peer.params[places], len(places)
    radius2 = q * stats.f.ppf(0.9, q, peer.df_resid)
    rng = np.random.default_rng(0)
    points = w + 2 * rng.normal(size=(400, q)) @ np.linalg.cholesky(V).T
    distance = np.einsum("ij,jk,ik->i", points - w, np.linalg.inv(V), points - w)
    inside = chosen.contains(points)
    np.testing.assert_array_equal(inside, distance <= radius2)
    assert 0 < inside.sum() < 400
    by_test = [model.f_test(terms, p).pvalue >= 0.1 for p in points[:20]]
    np.testing.assert_array_equal(inside[:20], by_test)
    half = np.sqrt(radius2 * np.diag(V))
    np.testing.assert_allclose(chosen.bounds(), np.column_stack([w - half, w + half]), rtol=1e-7)


def test_the_ends_of_the_axes_are_on_the_boundary():
    model, _ = fitted()
    chosen = model.confidence_set()
    directions, lengths = chosen.axes()
    np.testing.assert_allclose(directions @ directions.T, np.eye(4), atol=1e-12)
    assert (np.diff(lengths) < 0).all()
    for direction, length in zip(directions, lengths, strict=True):
        for sign in (-1, 1):
            ends = [chosen.estimate + sign * s * length * direction for s in (0.999, 1.001)]
            assert chosen.contains(ends).tolist() == [True, False]


def test_the_projection_has_the_values_of_all_points_of_the_set():
    model, _ = fitted()
    whole = model.confidence_set(model.coef_names_)
    shadow, alone = whole.project(["x2", "x0"]), model.confidence_set(["x2", "x0"])
    directions, lengths = whole.axes()
    ball = np.random.default_rng(1).normal(size=(5000, 3))
    surface = ball / np.linalg.norm(ball, axis=1)[:, None] * lengths @ directions
    points = (whole.estimate + 0.999999 * surface)[:, [2, 0]]
    assert shadow.contains(points).all()
    assert not alone.contains(points).all()
    np.testing.assert_allclose(shadow.bounds(), whole.bounds()[[2, 0]])


def test_the_set_covers_the_coefficients_as_often_as_stated():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(20, 3)), np.array([1.0, 2.0, 0.0, -1.0])
    hits = [
        LinearRegression().fit(X, y).confidence_set(confidence_level=0.8).contains(w)
        for y in w[0] + X @ w[1:] + rng.normal(size=(300, 20))
    ]
    assert abs(np.mean(hits) - 0.8) < 4 * np.sqrt(0.16 / 300)


def test_a_distant_origin_does_not_lose_digits():
    X, y = table()
    moved = X + np.array([0.0, 2.0**30, 0.0])
    near, far = LinearRegression().fit(X, y), LinearRegression().fit(moved, y)
    slopes = [1.0, 0.25, 0.0]
    value = [2.0, *slopes], [2.0 - 0.25 * 2.0**30, *slopes]
    assert far.f_test(value=value[1]).statistic == pytest.approx(
        near.f_test(value=value[0]).statistic, rel=1e-5
    )


def test_collinear_columns_and_too_few_rows_are_errors():
    X, y = table()
    with pytest.warns(UserWarning, match="collinear"):
        model = LinearRegression().fit(np.column_stack([X, X[:, 0]]), y)
    for method in (model.f_test, model.confidence_set, lambda: model.t_test("x0")):
        with pytest.raises(ValueError, match=r"not unique.*rank is 4.*Leave columns out"):
            method()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = LinearRegression().fit(X[:4], y[:4])
    assert np.isnan(few.f_test()[:2]).all()
    assert np.isnan(few.t_test("x0")[:2]).all()
    with pytest.raises(ValueError, match=r"no residual degrees of freedom.*more rows"):
        few.confidence_set()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.f_test("x9"), r"no coefficient 'x9'.*'x0', 'x1', 'x2'"),
        (lambda m: m.f_test("intersept"), "Did you mean 'intercept'"),
        (lambda m: m.f_test(["x0", "x0"]), "'x0' is there twice"),
        (lambda m: m.f_test([]), "there is none"),
        (lambda m: m.f_test([0]), "names of coefficients"),
        (lambda m: m.f_test(["x0", "x1"], [1.0]), r"shape \(1,\)"),
        (lambda m: m.f_test(["x0"], [[1.0], [2.0]]), r"shape \(2, 1\)"),
        (lambda m: m.f_test("x0", np.nan), "finite"),
        (lambda m: m.f_test("x0", "one"), "must be a number"),
        (lambda m: m.t_test("x0", alternative="more"), "'two-sided', 'less' or 'greater'"),
        (lambda m: m.confidence_set(confidence_level=2), "confidence_level"),
        (lambda m: m.confidence_set().contains([1.0]), r"4 numbers.*shape \(1,\)"),
        (lambda m: m.confidence_set().boundary(), "two coefficients, and this set has 4"),
        (lambda m: m.confidence_set("x0").project("x1"), "no coefficient 'x1'"),
    ],
)
def test_wrong_arguments_are_errors(call, message):
    with pytest.raises(InvalidParameterError, match=message):
        call(fitted()[0])


def test_a_missing_table_is_an_error_where_features_are_needed():
    y = table()[1]
    with pytest.raises(ValueError, match="needs fit_intercept=True"):
        LinearRegression(fit_intercept=False).fit(None, y)
    with pytest.raises(ValueError, match="no features to select"):
        StepwiseRegressor().fit(None, y)
    with pytest.raises(ValueError, match="number of rows"):
        LinearRegression().fit(None, y).predict(None)


def test_the_plot_has_the_ellipse():
    pytest.importorskip("matplotlib")
    model, _ = fitted()
    chosen = model.confidence_set()
    ax = chosen.plot(["x0", "x2"])
    curve = np.column_stack(ax.lines[0].get_data())
    shadow = chosen.project(["x0", "x2"])
    assert shadow.contains(shadow.estimate + 0.9999 * (curve - shadow.estimate)).all()
    assert not shadow.contains(shadow.estimate + 1.0001 * (curve - shadow.estimate)).any()
    assert "4 coefficients, projected" in ax.get_title()
