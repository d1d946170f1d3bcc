"""Metrics of times until an event, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from reference.survival import concordance as by_pairs
from stagewise import GradientBoostingRegressor, GradientBoostingSurvival
from stagewise.errors import InvalidParameterError
from stagewise.inspection import (
    concordance_index,
    cumulative_dynamic_auc,
    integrated_brier_score,
    survival_brier_score,
    survival_quality,
    uno_concordance_index,
)
from stagewise.inspection import scores as scores_of
from stagewise.kaplan_meier import AalenJohansen, KaplanMeier
from stagewise.metrics.survival import (
    brier_rows,
    brier_scores,
    concordance,
    concordance_influence,
    dynamic_auc,
    uno_weights,
)
from survival.samples import competing, proportional, random_target


def sample(seed, n=30):
    rng = np.random.default_rng(seed)
    time, event = rng.integers(1, 9, n).astype(float), rng.random(n) < 0.6
    event[0], time[0] = True, 1.0
    return time, event, rng.integers(0, 6, n).astype(float), rng


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_concordance_is_the_share_of_pairs(seed):
    time, event, risk, rng = sample(seed)
    weight, stratum = rng.integers(0, 3, 30).astype(float), rng.integers(0, 2, 30)
    own = rng.random(30)
    for extra in ((), (weight,), (weight, stratum), (weight, stratum, own)):
        expected = by_pairs(time, event, risk, *extra)
        assert concordance(time, event, risk, *extra) == pytest.approx(expected, nan_ok=True)


def test_without_comparable_pairs_concordance_is_not_a_number():
    assert np.isnan(concordance(np.ones(3), np.ones(3, bool), np.arange(3.0)))


def test_the_curve_of_kaplan_and_meier():
    curve = KaplanMeier.of(None, np.array([1.0, 2, 2, 3]), np.array([True, True, False, True]))
    np.testing.assert_allclose(curve.at([0.5, 1, 2, 2.5, 3]), [1, 0.75, 0.5, 0.5, 0])
    np.testing.assert_allclose(curve.before([1, 2, 3]), [1, 0.75, 0.5])


def test_the_curve_of_censoring_has_events_before_censored_rows():
    time, event = np.array([1.0, 2, 2, 3]), np.array([True, True, False, True])
    curve = KaplanMeier.of(None, time, event, censoring=True)
    np.testing.assert_allclose(curve.at([1, 2]), [1, 0.5])


def test_truncated_rows_are_at_risk_after_their_entry():
    time, event = np.array([2.0, 3, 5, 6]), np.ones(4, bool)
    entry = np.array([-np.inf, 2.0, 2.5, -np.inf])
    curve = KaplanMeier.of(entry, time, event)
    np.testing.assert_allclose(curve.survival, np.cumprod([1 / 2, 2 / 3, 1 / 2, 0]))


def test_without_censoring_the_brier_score_is_a_squared_error():
    time, event = np.array([1.0, 2, 3]), np.ones(3, bool)
    censoring = KaplanMeier.of(None, time, event, censoring=True)
    survival = np.array([[0.2], [0.7], [0.9]])
    expected = np.mean((survival[:, 0] - [0, 0, 1]) ** 2)
    found = brier_scores(censoring, time, event, survival, np.array([2.0]))
    assert found == pytest.approx(expected)


def test_without_censoring_the_dynamic_auc_is_that_of_the_classes():
    time, event = np.arange(1.0, 7), np.ones(6, bool)
    censoring = KaplanMeier.of(None, time, event, censoring=True)
    risk = np.array([5.0, 1, 4, 3, 2, 0])
    assert dynamic_auc(censoring, time, event, risk, np.array([3.0])) == pytest.approx(7 / 9)


def test_weights_of_rows_are_frequencies_in_uno_s_index():
    rng = np.random.default_rng(5)
    time, event, risk = rng.exponential(size=60), rng.random(60) < 0.6, rng.normal(size=60)
    times = rng.integers(0, 3, 60)
    rows = np.repeat(np.arange(60), times)
    for limit in (None, 1.0):
        last = event & (time < 1.0)  # so that G is positive at every event
        weighted = uno_concordance_index((time, last), risk, times, limit=limit)
        repeated = uno_concordance_index((time[rows], last[rows]), risk[rows], limit=limit)
        np.testing.assert_allclose(weighted, repeated, rtol=1e-12)
        plain = uno_concordance_index((time, last), risk, limit=limit)
        assert plain != weighted


def test_uno_weights_need_a_positive_probability():
    time, event = np.array([1.0, 2, 3]), np.array([True, False, True])
    censoring = KaplanMeier.of(None, np.array([1.0, 2]), np.array([True, False]), censoring=True)
    with pytest.raises(ValueError, match="Set a limit"):
        uno_weights(censoring, time, event)
    assert uno_weights(censoring, time, event, 2.5)[2] == 0


def test_the_quality_of_a_model():
    X, time, event = proportional(400)
    y = time[200:], event[200:]
    model = GradientBoostingSurvival(n_estimators=60).fit(X[:200], (time[:200], event[:200]))
    found = survival_quality(model, X[200:], y)
    assert found.c_index == model.score(X[200:], y)
    assert found.integrated_brier < found.integrated_brier_baseline
    assert found.predicted.shape == found.observed.shape == (4, 60)
    assert (np.diff(found.calibration[:, 0]) < 0).all()
    curves = model.predict_survival_function(X[200:], found.times).values
    assert found.integrated_brier == pytest.approx(
        integrated_brier_score(y, curves, found.times), rel=1e-12
    )


def test_the_influence_of_rows_is_the_derivative_of_concordance():
    y, weight, risk = random_target(np.random.default_rng(0))
    weight += 1.0
    own = y["time"], y["event"] > 0, np.round(risk)
    found = concordance_influence(*own, weight, y["stratum"])
    for row in range(0, len(y), 5):
        step = np.zeros(len(y))
        step[row] = 1e-5 * weight[row]
        ends = (concordance(*own, weight + sign * step, y["stratum"]) for sign in (1, -1))
        assert np.subtract(*ends) / 2e-5 == pytest.approx(found[row], abs=1e-9)


def test_aalen_johansen_of_one_cause_is_kaplan_meier_with_the_error_of_greenwood():
    y, weight, _ = random_target(np.random.default_rng(1))
    rows = y["entry"], y["time"], y["event"] > 0
    curve, other = KaplanMeier.of(*rows, weight), np.zeros(len(y), dtype=bool)
    found = AalenJohansen.of(*rows, other, weight)
    np.testing.assert_allclose(found.at(curve.times), 1.0 - curve.survival, atol=1e-14)
    time, is_event = y["time"], y["event"] > 0
    curve = KaplanMeier.of(None, time, is_event)
    n = np.array([(time >= t).sum() for t in curve.times])
    d = np.array([((time == t) & is_event).sum() for t in curve.times])
    used = n > d
    greenwood = curve.survival[used] * np.sqrt(np.cumsum(d[used] / (n * (n - d))[used]))
    known = AalenJohansen.of(None, time, is_event, other).standard_error(curve.times)
    np.testing.assert_allclose(known[used], greenwood, rtol=1e-12)


def test_the_incidence_of_causes_and_its_error_are_those_of_many_samples():
    _, time, event = competing(200)
    parts = [AalenJohansen.of(None, time, event == k, (event > 0) & (event != k)) for k in (1, 2)]
    survival = KaplanMeier.of(None, time, event > 0).at([0.3, 1.0])
    both = sum(part.at([0.3, 1.0]) for part in parts)
    np.testing.assert_allclose(both, 1.0 - survival, atol=1e-12)
    rng, drawn = np.random.default_rng(0), []
    for _ in range(400):
        rows = rng.integers(0, 200, 200)
        t, e = time[rows], event[rows]
        drawn.append(AalenJohansen.of(None, t, e == 1, e == 2).at([0.3, 1.0]))
    np.testing.assert_allclose(parts[0].standard_error([0.3, 1.0]), np.std(drawn, axis=0), rtol=0.1)


def test_another_event_is_no_event_in_the_brier_score():
    time, event = np.array([1.0, 2.0, 3.0]), np.array([1, 2, 0])
    censoring = KaplanMeier.of(None, time, event > 0, censoring=True)
    rows = brier_rows(
        censoring, time, event == 1, np.full((3, 1), 0.25), np.array([2.5]), event == 2
    )
    np.testing.assert_allclose(rows[:, 0], [0.75**2, 0.25**2, 0.25**2])


@pytest.mark.parametrize("loss", ["cox", "cause_specific"])
def test_scores_of_a_model_have_limits_and_baselines(loss):
    X, time, event = competing(300) if loss == "cause_specific" else proportional(300)
    model = GradientBoostingSurvival(loss=loss, n_estimators=30).fit(
        X[:150], (time[:150], event[:150])
    )
    y = time[150:], event[150:]
    found = scores_of(model, X[150:], y, n_resamples=50)
    first = found.scores[0]
    assert first.low < first.value < first.high
    assert first.baseline == 0.5
    if loss == "cox":
        assert first.value == model.score(X[150:], y)
        quality = survival_quality(model, X[150:], y)
        own = found["integrated_brier"]
        assert own.value == pytest.approx(quality.integrated_brier)
        assert own.baseline == pytest.approx(quality.integrated_brier_baseline)
    else:
        assert [s.name for s in found.scores[::3]] == ["c_index_1", "c_index_2"]
        quality = survival_quality(model, X[150:], y, cause=2)
        assert quality.c_index == found["c_index_2"].value
        assert (np.diff(quality.calibration[:, 0]) > 0).all()
        assert (np.diff(quality.observed, axis=1) >= 0).all()
        with pytest.raises(InvalidParameterError, match=r"predicts the causes \[1, 2\]; got 3"):
            survival_quality(model, X[150:], y, cause=3)


def test_weights_are_frequencies_of_the_brier_score_and_its_censoring():
    X, time, event = proportional(60)
    times, repeats = np.array([0.2, 0.5, 1.0]), np.arange(60) % 3
    survival = np.exp(-times * np.exp(X[:, :1]))
    found = survival_brier_score((time, event), survival, times, sample_weight=repeats)
    rows = np.repeat(np.arange(60), repeats)
    expected = survival_brier_score((time[rows], event[rows]), survival[rows], times)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_intervals_are_compared_at_their_middle_as_in_score():
    X, time, event = proportional(80)
    y = {"lower": time, "upper": np.where(event, time + 0.7 * (1 + np.arange(80) % 2), np.inf)}
    model = GradientBoostingSurvival(loss="aft", n_estimators=5).fit(X, y)
    assert concordance_index(y, -model.predict(X)) == model.score(X, y)


def test_arguments_and_rows_of_the_quality():
    X, time, event = proportional(120)
    model, y = GradientBoostingSurvival(n_estimators=5).fit(X, (time, event)), (time, event)
    for arguments, message in (
        ({"time": 1e9}, "time must be below the last time of the rows"),
        ({"time": "late"}, "time must be a number at least 0"),
        ({"n_groups": "four"}, "n_groups must be a whole number"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            survival_quality(model, X, y, **arguments)
    for function in (survival_quality, scores_of):
        with pytest.raises(ValueError, match="X has no rows"):
            function(model, X[:0], (time[:0], event[:0]))
        with pytest.raises(NotFittedError):
            function(GradientBoostingSurvival(), X, y)
    kept = np.arange(120) >= 40
    with_zeros = survival_quality(model, X, y, sample_weight=kept)
    expected = survival_quality(model, X[kept], (time[kept], event[kept]))
    np.testing.assert_array_equal(with_zeros.times, expected.times)
    np.testing.assert_allclose(with_zeros.brier, expected.brier)
    with pytest.raises(InvalidParameterError, match="q must be a number"):
        model.predict_survival_function(X).quantile("half")
    assert model.predict_survival_function(X[:0]).median().shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y: concordance_index(y, [1.0, 2.0]), "one number for each of 3 rows"),
        (lambda y: concordance_index((y[0], [0, 0, 0]), y[0]), "No pair of rows is comparable"),
        (lambda y: survival_brier_score(y, np.ones((3, 1)), [9.0]), "below the last time of y, 3"),
        (lambda y: survival_brier_score(y, np.ones((3, 2)), [1.0]), r"expected \(3, 1\)"),
        (lambda y: integrated_brier_score(y, np.ones((3, 1)), [1.0]), "at least two"),
        (lambda y: cumulative_dynamic_auc(y, np.ones(2), [1.0]), "risk has the shape"),
        (lambda y: uno_concordance_index(y, [np.nan, 1, 2]), "without NaN"),
        (lambda y: uno_concordance_index(y, y[0], limit="late"), "limit must be a number above 0"),
        (lambda y: concordance_index(y, ["a", "b", "c"]), "risk must be numbers"),
        (lambda y: concordance_index(None, y[0]), "y is None"),
        (lambda y: concordance_index((1.0, True), [1.0]), "must have one value for each row"),
        (lambda y: survival_brier_score(y, np.full((3, 1), np.nan), [1.0]), "without NaN"),
        (lambda y: survival_brier_score(y, np.full((3, 1), 1.5), [1.0]), "it is 1.5 at row 0"),
        (lambda y: survival_brier_score(y, np.ones((3, 1)), ["a"]), "times must be numbers"),
        (lambda y: cumulative_dynamic_auc(y, y[0], [2.0, 1.0]), "in ascending order"),
        (lambda y: cumulative_dynamic_auc(y, y[0], [0.5, 1.0]), "the first event of y.*at 1;"),
        (lambda y: survival_quality(GradientBoostingRegressor(), [[1]], y), "is for Gradient"),
    ],
)
def test_arguments_of_metrics(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call((np.array([1.0, 2.0, 3.0]), np.array([True, False, True])))
