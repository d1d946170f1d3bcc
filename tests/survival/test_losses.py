"""The losses of times: their derivatives, their laws, and what they learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import logistic, norm

from reference.survival import partial_loss
from stagewise.losses import Aft, CauseSpecific, Cox, DiscreteTime, FineGray
from stagewise.losses.survival.cox import risk_sets, terms_at
from stagewise.workers import make_workers
from survival.samples import random_target, structured

WORKERS = make_workers(1)


def value(loss, y, weight, score):
    """Return the weighted sum of a bound loss."""
    return loss.bind(WORKERS, y, weight).evaluate(np.asfortranarray(score.reshape(len(y), -1)))


def numeric_gradient(total, score, step=1e-5):
    found = np.zeros(score.size)
    for i in range(score.size):
        up, down = score.copy(), score.copy()
        up.flat[i] += step
        down.flat[i] -= step
        found[i] = (total(up) - total(down)) / (2 * step)
    return found.reshape(score.shape)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_partial_likelihood_is_that_of_the_definition(ties, seed):
    y, weight, score = random_target(np.random.default_rng(seed), 20)
    own = y["entry"], y["time"], y["event"] > 0, y["stratum"], weight
    expected = partial_loss(*own, score, ties)
    assert value(Cox(ties), y, weight, score) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_the_gradient_of_cox_is_that_of_its_loss(ties):
    y, weight, score = random_target(np.random.default_rng(1))
    gradient = terms_at(risk_sets(y, weight), ties, score)[1] * weight
    expected = numeric_gradient(lambda f: value(Cox(ties), y, weight, f), score)
    np.testing.assert_allclose(gradient, expected, atol=1e-7)


def test_the_hessian_of_cox_is_the_diagonal_of_rows_of_weight_1():
    y, _, score = random_target(np.random.default_rng(2))
    loss = Cox()
    hessian = loss.derivatives(y, score)[1]

    def slope(i, f):
        return loss.derivatives(y, f)[0][i]

    for i in range(len(y)):
        up, down = score.copy(), score.copy()
        up[i] += 1e-5
        down[i] -= 1e-5
        assert hessian[i] == pytest.approx((slope(i, up) - slope(i, down)) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_a_row_of_weight_2_is_the_row_twice_to_the_last_digit(ties):
    y, weight, score = random_target(np.random.default_rng(3))
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    rows = np.random.default_rng(4).permutation(rows)
    once = terms_at(risk_sets(y, weight), ties, score)[1:]
    again = terms_at(risk_sets(y[rows], None), ties, score[rows])[1:]
    for own, other in zip(once, again, strict=True):
        np.testing.assert_array_equal(own[rows], other)
    assert value(Cox(ties), y, weight, score) == value(Cox(ties), y[rows], None, score[rows])


def test_scores_that_are_far_apart_have_finite_derivatives():
    y = structured(np.arange(1.0, 7.0), np.ones(6))
    gradient, hessian = Cox().derivatives(y, np.array([900.0, -900, 0, 300, -300, 5]))
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()


def test_the_baseline_hazard_of_equal_scores_is_that_of_nelson_and_aalen():
    y = structured([1.0, 2, 2, 3, 4], [1, 1, 0, 1, 0])
    learned = Cox().learn(y, None, np.zeros((5, 1)))
    np.testing.assert_allclose(learned["hazard"], np.cumsum([1 / 5, 1 / 4, 1 / 2]))


# ---- accelerated failure times -------------------------------------------------------------------


def intervals(rng, n=60):
    """Return targets with events, right, left and interval censoring, and entry times."""
    time = rng.exponential(2.0, n) + 0.1
    kind = rng.integers(0, 4, n)
    lower = np.where(kind == 2, 0.0, time)
    upper = np.select([kind == 0, kind == 1], [time, np.inf], time + rng.random(n) + 0.1)
    entry = np.where((rng.random(n) < 0.3) & (kind != 2), time * 0.4, -np.inf)
    return structured(lower, np.isfinite(upper), entry, upper=upper)


@pytest.mark.parametrize("name", ["normal", "logistic", "extreme"])
def test_the_gradient_of_aft_is_that_of_its_loss(name):
    rng = np.random.default_rng(0)
    y, score = intervals(rng), rng.normal(size=60)
    loss = Aft(name, scale=0.7)
    gradient, _ = loss.derivatives(y, score)
    expected = numeric_gradient(lambda f: loss.loss(y, f).sum(), score)
    np.testing.assert_allclose(gradient, 0.7**2 * expected, atol=1e-6)


@pytest.mark.parametrize("name", ["normal", "logistic", "extreme"])
def test_the_scale_of_aft_minimises_the_loss(name):
    rng = np.random.default_rng(1)
    y, score = intervals(rng), rng.normal(size=60)
    best = value(Aft(name), y, None, score)
    others = [value(Aft(name, scale=s), y, None, score) for s in np.linspace(0.2, 5.0, 200)]
    assert best <= min(others) + 1e-9
    assert best == pytest.approx(min(others), rel=1e-3)


def test_the_loss_of_aft_is_that_of_the_distributions():
    y = structured([2.0, 3.0], [1, 0])
    z = (np.log([2.0, 3.0]) - 0.5) / 0.8
    for name, known in (("normal", norm), ("logistic", logistic)):
        expected = [-known.logpdf(z[0]) + np.log(0.8 * 2.0), -known.logsf(z[1])]
        np.testing.assert_allclose(Aft(name, 0.8).loss(y, np.full(2, 0.5)), expected)


@pytest.mark.parametrize("name", ["normal", "logistic", "extreme"])
@pytest.mark.parametrize("sigma", [0.001, 0.2, 1.0, 1.3, 5.0])
def test_restricted_means_of_aft_are_integrals_for_any_limit(name, sigma):
    loss = Aft(name)
    number = np.array([float(["normal", "logistic", "extreme"].index(name))])
    learned = {"time_distribution": number, "sigma": np.array([sigma]), "times": np.ones(1)}
    fitted, score = loss.with_learned(learned), np.array([[0.5]])
    for limit in (1e-9, 1.0, 20.0, 1e6):
        # Points at small steps of z, where S falls, and of t before.
        z = np.linspace(-40.0, 40.0, 40_001)
        times = np.unique(np.clip(np.exp(0.5 + sigma * z), 0.0, limit))
        times = np.unique(np.concatenate([np.linspace(0.0, limit, 20_001), times]))
        area = np.trapezoid(fitted.survival(score, None, times)[0], times)
        assert fitted.restricted_mean(score, None, limit)[0] == pytest.approx(area, rel=1e-4)


@pytest.mark.parametrize("name", ["normal", "logistic", "extreme"])
def test_the_hessian_of_aft_is_not_negative_far_away(name):
    y = intervals(np.random.default_rng(2))
    for shift in (-50.0, 50.0):
        gradient, hessian = Aft(name, 0.5).derivatives(y, np.full(60, shift))
        assert np.isfinite(gradient).all()
        assert np.isfinite(hessian).all()
        assert (hessian >= 0).all()


# ---- discrete time and competing risks ----------------------------------------------------------


def test_the_hazards_of_constant_scores_are_those_of_kaplan_and_meier():
    rng = np.random.default_rng(0)
    y = structured(rng.integers(1, 7, 200).astype(float), rng.random(200) < 0.6)
    loss = DiscreteTime(n_intervals=1000).of_rows(y, None)
    score = loss.best_constant(y, None)
    np.testing.assert_array_equal(loss.grid, np.unique(y["time"][y["event"] > 0]))
    survival = loss.survival(score[None, :], np.zeros(1), loss.grid)[0]
    at_risk = np.array([(y["time"] >= t).sum() for t in loss.grid])
    deaths = np.array([((y["time"] == t) & (y["event"] > 0)).sum() for t in loss.grid])
    np.testing.assert_allclose(survival, np.cumprod(1 - deaths / at_risk), rtol=0.02)


def test_the_gradient_of_discrete_time_is_that_of_its_loss():
    rng = np.random.default_rng(1)
    y, _, _ = random_target(rng)
    y["stratum"] = 0
    loss = DiscreteTime(4).of_rows(y, None)
    score = rng.normal(size=(len(y), loss.n_outputs))
    expected = numeric_gradient(lambda f: loss.loss(y, f).sum(), score)
    np.testing.assert_allclose(loss.derivatives(y, score)[0], expected, atol=1e-7)


def test_cause_specific_hazards_are_one_partial_likelihood_for_each_cause():
    rng = np.random.default_rng(2)
    y, weight, _ = random_target(rng, causes=3)
    loss = CauseSpecific().of_rows(y, None)
    score = rng.normal(size=(len(y), 3))
    each = []
    for cause in (1, 2, 3):
        own = y.copy()
        own["event"] = y["event"] == cause
        each.append(value(Cox(), own, weight, score[:, cause - 1]))
    assert value(loss, y, weight, score) == pytest.approx(sum(each))


def test_incidences_and_survival_sum_to_1():
    rng = np.random.default_rng(3)
    y, weight, _ = random_target(rng, 100, causes=2)
    y["stratum"] = 0
    loss, score = CauseSpecific(), rng.normal(size=(100, 2))
    fitted = loss.with_learned(loss.learn(y, weight, score))
    times, codes = np.linspace(0, 12, 30), np.zeros(100)
    whole = fitted.cumulative_incidence(score, codes, times).sum(axis=1)
    np.testing.assert_allclose(whole + fitted.survival(score, codes, times), 1.0)


def fine_gray_by_definition(y, weight, score, cause):
    """Return the loss of Fine and Gray, event by event."""
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    time, event, score = y["time"][rows], y["event"][rows], score[rows]

    def g(t):  # just before t
        found = 1.0
        for u in np.unique(time[(event == 0) & (time < t)]):
            at_risk = (time > u).sum() + ((time == u) & (event == 0)).sum()
            found *= 1 - ((time == u) & (event == 0)).sum() / at_risk
        return found

    total = 0.0
    for i in np.flatnonzero(event == cause):
        t, whole = time[i], 0.0
        for j in range(len(time)):
            stays = event[j] not in (0, cause) and time[j] < t
            factor = 1.0 if time[j] >= t else (g(t) / g(time[j]) if stays else 0.0)
            whole += factor * np.exp(score[j])
        total += np.log(whole) - score[i]
    return total


def test_the_loss_of_fine_and_gray_is_that_of_the_definition():
    rng = np.random.default_rng(4)
    y = structured(rng.integers(1, 9, 30).astype(float), rng.integers(0, 3, 30))
    weight, score = rng.integers(0, 3, 30).astype(float), rng.normal(size=30)
    for cause in (1, 2):
        expected = fine_gray_by_definition(y, weight, score, cause)
        assert value(FineGray(cause), y, weight, score) == pytest.approx(expected)


def test_the_gradient_of_fine_and_gray_is_that_of_its_loss():
    rng = np.random.default_rng(5)
    y = structured(rng.integers(1, 9, 40).astype(float), rng.integers(0, 3, 40))
    score = rng.normal(size=40)
    gradient, hessian = FineGray().derivatives(y, score)
    expected = numeric_gradient(lambda f: value(FineGray(), y, None, f), score)
    np.testing.assert_allclose(gradient, expected, atol=1e-7)
    assert (hessian >= 0).all()


def test_without_other_causes_fine_and_gray_is_cox():
    rng = np.random.default_rng(6)
    y, weight, score = random_target(rng)
    y["stratum"], y["entry"] = 0, -np.inf
    assert value(FineGray(), y, weight, score) == pytest.approx(
        value(Cox("breslow"), y, weight, score)
    )
