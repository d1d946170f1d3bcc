"""Predictions beside targets: scores equal to scikit-learn's, and their confidence limits."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.base import clone

from inspection.tables import MODELS, fitted, mixed, targets
from stagewise import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    LinearRegression,
    StagewiseLinearRegressor,
)
from stagewise.inspection import Predictions, Scores, scores
from stagewise.inspection import scores as door
from stagewise.inspection.quality.metrics import metrics_of
from stagewise.losses import Gamma, Poisson, Tweedie

SINGLE = [name for name, (_, target) in MODELS.items() if target != "pair"]


def predictions_of(name, weight=None):
    X = mixed(200, seed=5)
    y = targets(X, seed=6)[MODELS[name][1]]
    return Predictions.of(fitted(name), X, y, weight)


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(0).uniform(0, 3, 200) * (np.arange(200) % 7 > 0)


# ---- predictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SINGLE)
def test_predictions_are_those_of_the_estimator(name):
    given, model, X = predictions_of(name), fitted(name), mixed(200, seed=5)
    if given.task == "regression":
        np.testing.assert_array_equal(given.y_pred, model.predict(X))
        assert given.classes is None
    else:
        np.testing.assert_array_equal(given.y_pred, model.predict_proba(X))
        labels = np.asarray(given.classes)[given.y]
        np.testing.assert_array_equal(labels, targets(X, seed=6)[MODELS[name][1]])
    assert (given.weight == 1).all()


@pytest.mark.parametrize(
    ("estimator", "target"),
    [
        (BaggingRegressor(LinearRegression(), n_estimators=3), "number"),
        (BaggingClassifier(DecisionTreeClassifier(), n_estimators=3), "three"),
        (LinearRegression(), "number"),
        (StagewiseLinearRegressor(n_estimators=5), "number"),
        (DecisionTreeClassifier(), "two"),
    ],
    ids=lambda v: type(v).__name__ if hasattr(v, "fit") else v,
)
def test_any_fitted_estimator_can_be_scored(estimator, target):
    X = mixed()[["a", "d"]]
    y = targets(mixed())[target]
    found = scores(clone(estimator).fit(X, y), X, y, n_resamples=10)
    assert len(found.scores) == (3 if target == "number" else 4)
    assert all(s.low <= s.high for s in found.scores)


def test_numbers_are_compared_with_classes_that_are_text():
    y = np.tile(["1", "2"], 30)
    model = DecisionTreeClassifier().fit(np.arange(60.0)[:, np.newaxis] % 2, y)
    X = np.arange(10.0)[:, np.newaxis] % 2
    assert Predictions.of(model, X, np.tile([1, 2], 5)).y.tolist() == [0, 1] * 5


def test_invalid_targets_are_errors():
    X, model = mixed(20), fitted("two classes")
    known = targets(X)["two"]
    with pytest.raises(ValueError, match=r"'maybe' \(in 1 row\); the classes are 'no', 'yes'"):
        Predictions.of(model, X, [*known[:-1], "maybe"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Predictions.of(model, X, known[:-1])
    with pytest.raises(ValueError, match="X has no rows"):
        Predictions.of(model, X.iloc[:0], known[:0])
    with pytest.raises(ValueError, match="at least one non-zero number"):
        Predictions.of(model, X, known, np.zeros(20))
    y = targets(X)["number"].copy()
    y[3] = np.nan
    with pytest.raises(ValueError, match="1 of 20 targets are missing, the first at row 3"):
        Predictions.of(fitted("a number"), X, y)
    with pytest.raises(ValueError, match="predicts 2 targets"):
        Predictions.of(fitted("two targets"), X, targets(X)["number"])
    with pytest.raises(ValueError, match="The prediction for row 1 is not finite"):
        Predictions.from_arrays([1.0, 2.0], [1.0, np.nan])
    with pytest.raises(TypeError, match="fitted estimator with predict"):
        Predictions.of("model", X, known)
    with pytest.raises(ValueError, match="not fitted"):
        Predictions.of(GradientBoostingRegressor(n_estimators=100), X, known)


# ---- scores --------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["a number", "two classes", "three classes"])
def test_scores_equal_scikit_learns(name, weighted, weight):
    weight = weight if weighted else None
    given = predictions_of(name, weight)
    found = {s.name: s.value for s in Scores.of(given, n_resamples=0).scores}
    y, predicted = given.y, given.y_pred
    if name == "a number":
        assert found == pytest.approx(
            {
                "rmse": metrics.root_mean_squared_error(y, predicted, sample_weight=weight),
                "mae": metrics.mean_absolute_error(y, predicted, sample_weight=weight),
                "r2": metrics.r2_score(y, predicted, sample_weight=weight),
            },
            rel=1e-12,
        )
        return
    brier = ((predicted - np.eye(predicted.shape[1])[y]) ** 2).sum(axis=1)
    areas = [metrics.roc_auc_score(y == k, predicted[:, k], sample_weight=weight) for k in set(y)]
    assert found == pytest.approx(
        {
            "log_loss": metrics.log_loss(y, predicted, sample_weight=weight),
            "accuracy": metrics.accuracy_score(y, predicted.argmax(axis=1), sample_weight=weight),
            "auc": np.mean(areas),
            "brier": np.average(brier / (2 if name == "two classes" else 1), weights=weight),
        },
        rel=1e-12,
    )


LOSSES = {1.0: Poisson(), 1.3: Tweedie(power=1.3), 2.0: Gamma()}


def counts(power, weight=None):
    """Return predictions of a model of counts or amounts, with zeros if they are allowed."""
    rng = np.random.default_rng(2)
    y, y_pred = rng.gamma(2.0, 3.0, 200), rng.gamma(2.0, 3.0, 200)
    y = np.floor(y) if power < 2 else y
    return Predictions.from_arrays(y, y_pred, None, weight, deviance_power=power)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("power", LOSSES)
def test_deviances_equal_scikit_learns(power, weighted, weight):
    given = counts(power, weight if weighted else None)
    found = Scores.of(given, n_resamples=0).scores
    y, options = given.y, {"sample_weight": given.weight, "power": power}
    assert (y == 0).any() == (power < 2)
    deviance = metrics.mean_tweedie_deviance(y, given.y_pred, **options)
    d2 = metrics.d2_tweedie_score(y, given.y_pred, **options)
    assert [s.value for s in found[:2]] == pytest.approx([deviance, d2], rel=1e-12)
    mean = np.full(len(y), np.average(y, weights=given.weight))
    constant = metrics.mean_tweedie_deviance(y, mean, **options)
    assert [s.baseline for s in found[:2]] == pytest.approx([constant, 0.0], rel=1e-12)
    name = {1.0: "poisson", 2.0: "gamma"}.get(power, "tweedie")
    assert [s.name for s in found] == [
        *(f"{name}_deviance", f"d2_{name}_deviance"),
        *("rmse", "mae", "r2"),
    ]


@pytest.mark.parametrize("power", LOSSES)
def test_a_model_of_counts_or_amounts_has_the_deviance_of_its_loss(power):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 1)), rng.gamma(3.0, 1.0, 80)
    model = GradientBoostingRegressor(loss=LOSSES[power], n_estimators=3).fit(X, y)
    assert Predictions.of(model, X, y).deviance_power == power
    named = GradientBoostingRegressor(loss="tweedie", n_estimators=3).fit(X, y)
    assert Predictions.of(named, X, y).deviance_power == 1.5
    assert Predictions.of(GradientBoostingRegressor().fit(X, y), X, y).deviance_power is None


def test_a_model_of_shares_has_their_cross_entropy():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 1)), rng.binomial(4, 0.3, 80) / 4
    model = GradientBoostingRegressor(loss="cross_entropy", n_estimators=3).fit(X, y)
    found = Scores.of(Predictions.of(model, X, y), n_resamples=0)
    assert [s.name for s in found.scores] == ["cross_entropy", "rmse", "mae", "r2"]
    assert found["cross_entropy"].value == pytest.approx(model.train_loss_[-1], rel=1e-6)
    mean = y.mean()
    expected = -mean * np.log(mean) - (1 - mean) * np.log(1 - mean)
    assert found["cross_entropy"].baseline == pytest.approx(expected)
    plain = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    assert Scores.of(Predictions.of(plain, X, y), n_resamples=0).scores[0].name == "rmse"
    outside = Predictions.from_arrays([0.5, 2.0], [0.5, 0.5], of_shares=True)
    assert "cross-entropy is undefined" in Scores.of(outside)["cross_entropy"].reason


def test_a_deviance_outside_its_domain_is_undefined():
    given = Predictions.from_arrays([0.0, 1.0, 2.0], [1.0, 1.0, 2.0], deviance_power=2.0)
    found = Scores.of(given)
    assert np.isnan([found["gamma_deviance"].value, found["d2_gamma_deviance"].value]).all()
    assert "gamma deviance is undefined" in found["gamma_deviance"].reason
    assert found["rmse"].value > 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["a number", "two classes", "three classes"])
def test_baselines_are_the_best_constants(name, weighted, weight):
    given = predictions_of(name, weight if weighted else None)
    found = {s.name: s.baseline for s in Scores.of(given, n_resamples=0).scores}
    y, w = given.y, given.weight
    if name == "a number":
        mean = np.average(y, weights=w)
        # The least mean absolute error is that of one of the targets.
        absolute = min(np.average(np.abs(y - one), weights=w) for one in y[w > 0])
        rmse = np.sqrt(np.average((y - mean) ** 2, weights=w))
        assert found == pytest.approx({"rmse": rmse, "mae": absolute, "r2": 0.0}, rel=1e-12)
        return
    shares = np.array([w[y == k].sum() for k in range(len(given.classes))]) / w.sum()
    brier = 1 - (shares**2).sum()
    assert found == pytest.approx(
        {
            "log_loss": -(shares * np.log(shares)).sum(),
            "accuracy": shares.max(),
            "auc": 0.5,
            "brier": brier / 2 if len(shares) == 2 else brier,
        },
        rel=1e-12,
    )


@pytest.mark.parametrize("name", ["a number", "two classes", "three classes"])
def test_weight_two_equals_the_row_twice_and_weight_zero_its_absence(name):
    X = mixed(60, seed=5)
    y = targets(X, seed=6)[MODELS[name][1]]
    times = np.arange(60) % 3
    twice = np.repeat(np.arange(60), times)
    by_weight = scores(fitted(name), X, y, sample_weight=times, n_resamples=0)
    by_rows = scores(fitted(name), X.iloc[twice], y[twice], n_resamples=0)
    for one, other in zip(by_weight.scores, by_rows.scores, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-12)
    kept = times > 0
    absent = scores(fitted(name), X[kept], y[kept], sample_weight=times[kept], n_resamples=20)
    assert scores(fitted(name), X, y, sample_weight=times, n_resamples=20) == absent


def test_confidence_limits_are_bootstrap_quantiles():
    given = predictions_of("two classes")
    found = Scores.of(given, n_resamples=30, random_state=3, confidence_level=0.8)
    rng, drawn = np.random.default_rng(3), []
    for _ in range(30):
        rows = rng.integers(0, 200, 200)
        y, y_pred = given.y[rows], given.y_pred[rows]
        again = Predictions("classification", y, y_pred, (0, 1), np.ones(200))
        drawn.append([s.value for s in Scores.of(again, n_resamples=0).scores])
    limits = np.quantile(drawn, [0.1, 0.9], axis=0)
    np.testing.assert_allclose([[s.low, s.high] for s in found.scores], limits.T)


@pytest.mark.parametrize("name", ["a number", "two classes", "three classes", *LOSSES])
def test_influences_are_derivatives_by_the_weights(name, weight):
    given = counts(name, weight) if name in LOSSES else predictions_of(name, weight)
    given = given.with_weight()
    for metric in metrics_of(given):
        found = metric.influence(given.weight)
        for i in (0, 7, 30):
            moved = np.zeros(len(given.weight))
            moved[i] = 1e-5 * given.weight[i]
            up, down = (
                metric.value(given.weight + moved),
                metric.value(given.weight - moved),
            )
            assert found[i] == pytest.approx((up - down) / 2e-5, abs=1e-7)


@pytest.mark.parametrize("name", ["a number", "two classes", "three classes"])
def test_many_rows_have_similar_limits_without_bootstrap(name, monkeypatch):
    X = mixed(3000, seed=8)
    given = Predictions.of(fitted(name), X, targets(X, seed=9)[MODELS[name][1]])
    drawn = Scores.of(given, n_resamples=300)
    monkeypatch.setattr(sys.modules["stagewise.inspection.quality.scores"], "MOST_WORK", 0)
    for one, other in zip(drawn.scores, Scores.of(given, n_resamples=300).scores, strict=True):
        width = one.high - one.low
        assert one.low == pytest.approx(other.low, abs=0.15 * width)
        assert one.high == pytest.approx(other.high, abs=0.15 * width)


def test_only_ratios_of_weights_matter(weight):
    one = Scores.of(predictions_of("two classes", weight * 2.0**1000), n_resamples=9)
    assert one == Scores.of(predictions_of("two classes", weight), n_resamples=9)
    many = Scores.of(predictions_of("three classes", weight * 2.0**1000), n_resamples=9)
    assert many == Scores.of(predictions_of("three classes", weight), n_resamples=9)


def test_the_same_seed_gives_the_same_limits():
    given = predictions_of("a number")
    assert Scores.of(given, n_resamples=20) == Scores.of(given, n_resamples=20)
    assert Scores.of(given, n_resamples=20) != Scores.of(given, n_resamples=20, random_state=1)


def test_undefined_scores_are_nan_with_a_reason():
    X = mixed(20)
    one = scores(fitted("a number"), X[:1], [1.0])
    assert np.isnan([one["r2"].value, one["r2"].low, one["rmse"].low]).all()
    assert "one row" in one["r2"].reason
    same = scores(fitted("two classes"), X, ["no"] * 20)
    assert np.isnan([same["auc"].value, same["auc"].low]).all()
    assert "all rows are of one class" in same["auc"].reason
    assert same["accuracy"].low <= same["accuracy"].value <= same["accuracy"].high
    with pytest.raises(KeyError, match="the scores are log_loss, accuracy"):
        same["r2"]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"confidence_level": 1.0}, "confidence_level"),
        ({"n_resamples": -1}, "n_resamples"),
        ({"random_state": ""}, "r"),
    ],
)
def test_invalid_options_are_refused(options, name):
    with pytest.raises(InvalidParameterError, match=f"{name}.* must be"):
        Scores.of(predictions_of("a number"), **options)


def test_scores_are_printed_and_plotted():
    found = door(fitted("two classes"), mixed(50), targets(mixed(50))["two"], n_resamples=20)
    assert pd.DataFrame(found.table()).score.tolist() == ["log_loss", "accuracy", "auc", "brier"]
    assert "Scores of 50 rows, 95% confidence limits" in str(found)
    assert len(found.plot()) == 4
