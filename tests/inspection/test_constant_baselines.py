"""The baselines of scores of models with offsets: the best constant added to the offsets."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, softmax
from sklearn.metrics import d2_absolute_error_score, mean_tweedie_deviance

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.cli.scoring.score_table import ScoreTable
from stagewise.inspection import Predictions, scores

POWERS = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 3))
    years = rng.uniform(0.05, 3, 400)
    weight = rng.integers(1, 4, 400).astype(float)
    return X, years, weight


def smallest(function, low, high):
    return minimize_scalar(function, bounds=(low, high), options={"xatol": 1e-10}).fun


@pytest.mark.parametrize("loss", POWERS)
def test_the_baseline_of_a_deviance_is_the_best_rate_times_the_exposure(loss, rows):
    X, years, weight = rows
    rng, power = np.random.default_rng(5), POWERS[loss]
    y = rng.gamma(2.0, years * np.exp(X[:, 0]))
    y = rng.poisson(y).astype(float) if loss == "poisson" else y
    model = GradientBoostingRegressor(loss=loss, n_estimators=5).fit(X, y, weight, exposure=years)
    found = scores(model, X, y, sample_weight=weight, exposure=years)

    def deviance(rate):
        return mean_tweedie_deviance(y, rate * years, sample_weight=weight, power=power)

    best = smallest(deviance, 1e-3, 1e3)
    assert found[f"{loss}_deviance"].baseline == pytest.approx(best, rel=1e-8)
    share = 1 - found[f"{loss}_deviance"].value / best
    assert found[f"d2_{loss}_deviance"].value == pytest.approx(share, rel=1e-8)


def test_the_baselines_of_shares_have_the_best_log_odds_beside_the_offset(rows):
    X, _, weight = rows
    offset = 0.8 * X[:, 1]
    y = np.random.default_rng(5).binomial(5, expit(X[:, 0] + offset)) / 5
    model = GradientBoostingRegressor(loss="cross_entropy", n_estimators=5)
    model.fit(X, y, weight, offset=offset)
    found = scores(model, X, y, sample_weight=weight, offset=offset)

    def loss(constant):
        p = expit(offset + constant)
        return np.average(-y * np.log(p) - (1 - y) * np.log(1 - p), weights=weight)

    best = minimize_scalar(loss)
    assert found["cross_entropy"].baseline == pytest.approx(best.fun, rel=1e-8)
    squares = np.average((y - expit(offset + best.x)) ** 2, weights=weight)
    assert found["rmse"].baseline == pytest.approx(squares**0.5, rel=1e-6)
    variance = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
    assert found["r2"].value == pytest.approx(1 - found["rmse"].value ** 2 / variance, rel=1e-6)

    # Log odds are neither factors nor differences of shares: D² has one constant for all rows.
    model.set_params(eval_metric="d2_absolute_error", early_stopping=False)
    own = {"X": X, "y": y, "sample_weight": weight, "offset": offset}
    model.fit(X, y, weight, offset=offset, eval_set={"same": own})
    plain = d2_absolute_error_score(y, model.predict(X, offset=offset), sample_weight=weight)
    assert model.evals_result_["same"]["d2_absolute_error"][-1] == pytest.approx(plain)
    named = scores(model, X, y, sample_weight=weight, offset=offset, metrics="d2_absolute_error")
    assert named["d2_absolute_error"].value == pytest.approx(plain)


def test_the_baselines_of_errors_are_the_best_rates_times_the_exposure(rows):
    X, years, weight = rows
    y = np.random.default_rng(6).poisson(years * np.exp(X[:, 0])).astype(float)
    model = GradientBoostingRegressor(loss="poisson", n_estimators=5)
    model.fit(X, y, weight, exposure=years)
    found = scores(model, X, y, sample_weight=weight, exposure=years)
    squares = smallest(lambda r: np.average((y - r * years) ** 2, weights=weight), 0, 50)
    absolute = min(
        np.average(np.abs(y - rate * years), weights=weight) for rate in np.unique(y / years)
    )
    assert found["rmse"].baseline == pytest.approx(squares**0.5, rel=1e-8)
    assert found["mae"].baseline == pytest.approx(absolute, rel=1e-12)
    variance = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
    assert found["r2"].value == pytest.approx(1 - found["rmse"].value ** 2 / variance, rel=1e-8)


@pytest.mark.parametrize("unit", [1.0, 1e300])
def test_the_baseline_with_an_identity_link_is_added_to_the_offset(unit, rows):
    X, years, weight = rows
    offset = 10 * unit * X[:, 1]
    y = offset + unit * (7 + years)
    model = GradientBoostingRegressor(n_estimators=5).fit(X, y, weight, offset=offset)
    found = scores(model, X, y, sample_weight=weight, offset=offset)
    rest = years - np.average(years, weights=weight)
    expected = unit * np.average(rest**2, weights=weight) ** 0.5
    assert found["rmse"].baseline == pytest.approx(expected, rel=1e-9)


def test_the_baseline_of_two_classes_is_added_to_the_offset(rows):
    X, _, weight = rows
    offset = 2 * X[:, 1]
    y = np.random.default_rng(7).random(400) < expit(offset + X[:, 0] - 1)
    model = GradientBoostingClassifier(n_estimators=5).fit(X, y, weight, offset=offset)
    found = scores(model, X, y, sample_weight=weight, offset=offset)

    def log_loss(constant):
        return np.average(np.logaddexp(0, np.where(y, -1, 1) * (offset + constant)), weights=weight)

    assert found["log_loss"].baseline == pytest.approx(smallest(log_loss, -9, 9), rel=1e-8)


def test_the_baseline_of_many_classes_is_added_to_the_offsets(rows):
    X, _, weight = rows
    rng = np.random.default_rng(8)
    offset = rng.normal(size=(400, 3))
    y = np.array([rng.choice(3, p=p) for p in softmax(offset + np.array([0, 1, -1]), axis=1)])
    model = GradientBoostingClassifier(n_estimators=5).fit(X, y, weight, offset=offset)
    found = scores(model, X, y, sample_weight=weight, offset=offset)

    def log_loss(constants):
        p = softmax(offset + np.append(constants, 0), axis=1)[np.arange(400), y]
        return -np.average(np.log(p), weights=weight)

    best = minimize(log_loss, np.zeros(2), tol=1e-12).fun
    assert found["log_loss"].baseline == pytest.approx(best, rel=1e-7)


def test_a_constant_rate_has_no_explained_deviance(rows):
    X, years, _ = rows
    y = np.random.default_rng(9).poisson(years).astype(float)
    model = GradientBoostingRegressor(loss="poisson", n_estimators=1, min_samples_leaf=200)
    with pytest.warns(UserWarning, match="predicts the same for all rows"):
        model.fit(X[:, :1] * 0, y, exposure=years)
    found = scores(model, X[:, :1] * 0, y, exposure=years)
    assert found["d2_poisson_deviance"].value == pytest.approx(0, abs=1e-9)


def test_scores_of_rows_with_an_exposure_agree_everywhere(rows):
    """R² has the mean of y, D² the best rate: in `score`, `scores`, `eval_metric` and reports."""
    X, years, weight = rows
    y = np.random.default_rng(11).poisson(years * np.exp(X[:, 0])).astype(float)
    names = ["r2", "d2_poisson_deviance", "d2_absolute_error"]
    model = GradientBoostingRegressor(
        loss="poisson", n_estimators=5, early_stopping=False, eval_metric=names
    )
    own = {"X": X, "y": y, "sample_weight": weight, "exposure": years}
    model.fit(X, y, weight, exposure=years, eval_set={"same": own})
    found = scores(model, X, y, sample_weight=weight, exposure=years, metrics=names)
    for name in names:
        value = model.evals_result_["same"][name][-1]
        assert value == pytest.approx(found[name].value, rel=1e-9), name
    assert found["r2"].value == pytest.approx(model.score(X, y, weight, exposure=years))

    predicted = model.predict(X, exposure=years)
    absolute = min(np.average(np.abs(y - r * years), weights=weight) for r in np.unique(y / years))
    share = 1 - np.average(np.abs(y - predicted), weights=weight) / absolute
    assert found["d2_absolute_error"].value == pytest.approx(share)
    best = y @ weight / (weight @ years) * years
    deviances = [
        mean_tweedie_deviance(y, p, sample_weight=weight, power=1) for p in (predicted, best)
    ]
    assert found["d2_poisson_deviance"].value == pytest.approx(1 - deviances[0] / deviances[1])


def test_absolute_errors_and_quantiles_are_explained_beside_the_offset(rows):
    X, years, weight = rows
    offset = 10 * X[:, 1]
    y = offset + years * X[:, 0]
    given = {"n_estimators": 5, "early_stopping": False}
    own = {"X": X, "y": y, "sample_weight": weight, "offset": offset}
    model = GradientBoostingRegressor(eval_metric="d2_absolute_error", **given)
    model.fit(X, y, weight, offset=offset, eval_set={"same": own})
    rest = model.predict(X, offset=offset) - offset
    expected = d2_absolute_error_score(y - offset, rest, sample_weight=weight)
    assert model.evals_result_["same"]["d2_absolute_error"][-1] == pytest.approx(expected)

    for quantile in (0.3, [0.2, 0.8]):
        model = GradientBoostingRegressor(loss="quantile", quantile=quantile, **given)
        model.fit(X, y, offset=offset)
        found = scores(model, X, y, offset=offset)
        assert model.score(X, y, offset=offset) == pytest.approx(found["d2_pinball"].value)


def test_the_page_and_the_command_line_name_the_baseline(rows):
    X, years, _ = rows
    y = np.random.default_rng(12).poisson(years).astype(float)
    model = GradientBoostingRegressor(loss="poisson", n_estimators=5).fit(X, y, exposure=years)
    page = model.report(X, y, exposure=years)._repr_html_()
    assert "best rate times exposure" in page
    assert "(the mean" not in page
    table = ScoreTable.of(Predictions.of(model, X, y, exposure=years))
    assert table.baseline == "best rate times exposure"
