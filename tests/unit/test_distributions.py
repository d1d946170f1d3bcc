"""Predicted distributions: agreement with scipy.stats, and laws that hold for all of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from stagewise import distributions as d
from stagewise.distributions import base

CASES = {
    "normal": (d.Normal(loc=[0.3, -2.0], scale=[0.5, 3.0]), stats.norm([0.3, -2], [0.5, 3])),
    "laplace": (d.Laplace(loc=[0.3, -2.0], scale=[0.5, 3.0]), stats.laplace([0.3, -2], [0.5, 3])),
    "student_t": (
        d.StudentT(loc=[0.3, -2.0], scale=[0.5, 3.0], df=[3.5, 40.0]),
        stats.t([3.5, 40.0], [0.3, -2], [0.5, 3]),
    ),
    "log_normal": (
        d.LogNormal(mu=[0.3, -1.0], sigma=[0.5, 1.0]),
        stats.lognorm([0.5, 1.0], scale=np.exp([0.3, -1.0])),
    ),
    "gamma": (
        d.GammaDistribution(mu=[0.3, 4.0], shape=[0.7, 9.0]),
        stats.gamma([0.7, 9.0], scale=[0.3 / 0.7, 4 / 9]),
    ),
    "weibull": (
        d.Weibull(scale=[0.3, 4.0], shape=[0.7, 3.0]),
        stats.weibull_min([0.7, 3.0], scale=[0.3, 4.0]),
    ),
    "beta": (
        d.Beta(mu=[0.3, 0.9], precision=[2.0, 40.0]),
        stats.beta([0.6, 36.0], [1.4, 4.0]),
    ),
    "poisson": (d.Poisson(mu=[0.3, 12.0]), stats.poisson([0.3, 12.0])),
    "negative_binomial": (
        d.NegativeBinomial(mu=[0.3, 12.0], dispersion=[0.5, 2.0]),
        stats.nbinom([2.0, 0.5], [2 / 2.3, 0.5 / 12.5]),
    ),
}
OTHER_ZEROS = {
    "zero_inflated_poisson": d.ZeroInflatedPoisson(mu=[0.3, 12.0], zero_probability=[0.6, 0.1]),
    "zero_inflated_negative_binomial": d.ZeroInflatedNegativeBinomial(
        mu=[0.3, 12.0], dispersion=[0.5, 2.0], zero_probability=[0.6, 0.1]
    ),
    "hurdle_poisson": d.HurdlePoisson(mu=[0.3, 12.0], zero_probability=[0.6, 0.1]),
    "hurdle_negative_binomial": d.HurdleNegativeBinomial(
        mu=[0.3, 12.0], dispersion=[0.5, 2.0], zero_probability=[0.6, 0.1]
    ),
}
EVERY = {name: ours for name, (ours, _) in CASES.items()} | OTHER_ZEROS
LEVELS = np.array([0.001, 0.05, 0.3, 0.5, 0.8, 0.99])


@pytest.mark.parametrize("name", CASES)
def test_functions_agree_with_scipy(name):
    ours, theirs = CASES[name]
    y = theirs.rvs(size=(20, 2), random_state=1).T
    is_count = isinstance(ours, d.CountDistribution)
    density = theirs.logpmf if is_count else theirs.logpdf
    np.testing.assert_allclose(ours.log_density(y), density(y.T).T, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(ours.density(y[:, 0]), np.exp(density(y[:, 0])), rtol=1e-9)
    np.testing.assert_allclose(ours.cdf(y), theirs.cdf(y.T).T, rtol=1e-9)
    np.testing.assert_allclose(ours.mean, theirs.mean(), rtol=1e-9)
    np.testing.assert_allclose(ours.var, theirs.var(), rtol=1e-9)
    np.testing.assert_allclose(ours.std, theirs.std(), rtol=1e-9)
    expected = np.column_stack([theirs.ppf(q) for q in LEVELS])
    np.testing.assert_allclose(ours.quantile(LEVELS), expected, rtol=1e-8)
    np.testing.assert_allclose(ours.quantile(0.3), expected[:, 2], rtol=1e-8)


@pytest.mark.parametrize("name", EVERY)
def test_samples_have_the_mean_and_the_cdf(name):
    ours = EVERY[name]
    drawn = ours.sample(40_000, random_state=3)
    assert drawn.shape == (2, 40_000)
    np.testing.assert_array_equal(drawn[:, :5], ours.sample(40_000, random_state=3)[:, :5])
    np.testing.assert_allclose(drawn.mean(axis=1), ours.mean, atol=5 * (ours.std / 200).max())
    middle = ours.quantile(0.6)
    np.testing.assert_allclose(
        (drawn <= middle[:, np.newaxis]).mean(axis=1), ours.cdf(middle), atol=0.02
    )


@pytest.mark.parametrize("name", [n for n, own in EVERY.items() if n in OTHER_ZEROS or n == "beta"])
def test_densities_sum_to_one(name):
    ours = EVERY[name]
    if isinstance(ours, d.CountDistribution):
        counts = np.tile(np.arange(3000.0), (2, 1))
        probability = ours.density(counts)
        np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=1e-9)
        np.testing.assert_allclose((probability * counts).sum(axis=1), ours.mean, rtol=1e-6)
        squares = (probability * counts**2).sum(axis=1) - ours.mean**2
        np.testing.assert_allclose(squares, ours.var, rtol=1e-6)
        np.testing.assert_allclose(
            ours.cdf(counts[:, :40]), probability[:, :40].cumsum(axis=1), atol=1e-9
        )
    else:
        assert quad(lambda y: ours.density(y)[0], 0, 1)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("name", EVERY)
def test_quantiles_are_the_inverse_of_the_cdf(name):
    ours = EVERY[name]
    found = ours.quantile(LEVELS)
    at = ours.cdf(found)
    if isinstance(ours, d.CountDistribution):
        assert (at >= LEVELS - 1e-12).all()
        below = ours.cdf(found - 1.0)
        assert (below < LEVELS + 1e-12).all()
    else:
        np.testing.assert_allclose(at, np.tile(LEVELS, (2, 1)), rtol=1e-7)
    low, high = ours.interval(0.8).T
    np.testing.assert_allclose(low, ours.quantile(0.1), rtol=1e-9)
    np.testing.assert_allclose(high, ours.quantile(0.9), rtol=1e-9)


@pytest.mark.parametrize("name", EVERY)
def test_the_crps_is_its_integral(name):
    ours = EVERY[name]
    y = ours.quantile(0.8)
    if isinstance(ours, d.CountDistribution):
        counts = np.tile(np.arange(3000.0), (2, 1))
        expected = ((ours.cdf(counts) - (y[:, np.newaxis] <= counts)) ** 2).sum(axis=1)
    else:
        levels = (np.arange(20_000) + 0.5) / 20_000
        residual = y[:, np.newaxis] - ours.quantile(levels)
        expected = 2 * np.maximum(levels * residual, (levels - 1) * residual).mean(axis=1)
    np.testing.assert_allclose(ours.crps(y), expected, rtol=2e-3)
    two = ours.crps(np.column_stack([y, y]))
    np.testing.assert_allclose(two[:, 1], ours.crps(y), rtol=1e-12)


def test_extreme_parameters_are_limits_and_not_nan():
    counts = np.array([0.0, 1.0, 7.0, 200.0])
    poisson = stats.poisson(9.0).logpmf(counts)
    for dispersion in (1e-5, 1e-9, 1e-14):
        nb = d.NegativeBinomial(mu=np.full(4, 9.0), dispersion=np.full(4, dispersion))
        np.testing.assert_allclose(nb.log_density(counts), poisson, rtol=0.2 * dispersion * 1e4)
        np.testing.assert_allclose(nb.cdf(counts), stats.poisson(9.0).cdf(counts), atol=1e-3)
        np.testing.assert_array_equal(nb.quantile(0.5), np.full(4, 9.0))
    y = np.array([-40.0, 0.0, 3.0, 8.0])
    t = d.StudentT(loc=np.zeros(4), scale=np.ones(4), df=np.full(4, 1e8))
    np.testing.assert_allclose(t.log_density(y), stats.norm.logpdf(y), rtol=1e-4)
    gamma = d.GammaDistribution(mu=np.full(3, 2.0), shape=np.full(3, 1e9))
    inside = np.array([1.9999, 2.0, 2.0001])
    expected = stats.norm(2.0, 2 / np.sqrt(1e9)).logpdf(inside)
    np.testing.assert_allclose(gamma.log_density(inside), expected, atol=0.05)
    beta = d.Beta(mu=[1e-9, 1 - 1e-9, 0.5], precision=[5.0, 5.0, 1e8])
    assert np.isfinite(beta.log_density([1e-12, 1 - 1e-12, 0.5])).all()
    for own in EVERY.values():
        assert np.isfinite(own.quantile([1e-6, 1 - 1e-6])).all()


def test_values_outside_the_domain_have_no_density():
    for name in ("log_normal", "gamma", "weibull", "beta", "poisson", "negative_binomial"):
        ours = EVERY[name]
        np.testing.assert_array_equal(ours.log_density(-1.0), [-np.inf, -np.inf])
        np.testing.assert_array_equal(ours.cdf(-1.0), [0.0, 0.0])
    assert (EVERY["poisson"].density(0.5) == 0).all()


def test_the_crps_of_a_wide_log_normal_distribution_is_its_integral():
    y, log_t = np.array([3.0, 1e-9]), np.linspace(-500.0, 500.0, 100_001)
    for mu, sigma in ((0.5, 13.0), (-1.0, 20.0)):
        z = (log_t - mu) / sigma
        tails = np.where(np.log(y)[:, None] <= log_t, stats.norm.sf(z), stats.norm.cdf(z))
        expected = np.trapezoid(tails**2 * np.exp(log_t), log_t, axis=1)
        found = d.LogNormal(mu=[mu, mu], sigma=sigma).crps(y)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_variances_that_are_too_large_are_infinite():
    assert d.Normal(loc=0.0, scale=1e300).var == np.inf
    assert d.GammaDistribution(mu=1e300, shape=2.0).var == np.inf
    assert d.LogNormal(mu=1e3, sigma=2.0).mean == np.inf


@pytest.mark.parametrize("name", EVERY)
def test_numbers_that_are_not_finite(name):
    ours, y = EVERY[name], np.array([np.nan, np.inf])
    np.testing.assert_array_equal(ours.log_density(y), [np.nan, -np.inf])
    np.testing.assert_array_equal(ours.cdf(y), [np.nan, 1.0])
    np.testing.assert_array_equal(ours.crps(y), [np.nan, np.inf])
    np.testing.assert_array_equal(ours.cdf(-np.inf), [0.0, 0.0])
    if not isinstance(ours, d.CountDistribution):
        far = ours.log_density(1e300)
        assert ((far < -100) & ~np.isnan(far)).all()


@pytest.mark.parametrize("dispersion", [None, 0.5])
def test_counts_above_a_hurdle_may_all_be_1(dispersion):
    mu = np.array([1e-3, 1e-4, 1e-13, 1e-17])
    kind, own = (d.HurdlePoisson, {}) if dispersion is None else (d.HurdleNegativeBinomial, {})
    own |= {} if dispersion is None else {"dispersion": dispersion}
    ours = kind(mu=mu, zero_probability=0.4, **own)
    spread = 1.0 if dispersion is None else 1.0 + dispersion
    np.testing.assert_allclose(ours.mean, 0.6 * (1.0 + 0.5 * spread * mu), rtol=1e-6)
    np.testing.assert_allclose(ours.cdf(1.0), 1.0 - 0.3 * spread * mu, rtol=1e-6)
    levels = np.array([0.0, 0.4, 0.41, 0.99, 1.0 - 1e-5, 1.0 - 1e-12])
    expected = (ours.cdf(np.tile(np.arange(9.0), (4, 1)))[:, :, None] < levels).sum(axis=1)
    np.testing.assert_array_equal(ours.quantile(levels), expected)
    assert ours.sample(1000).max() <= 4.0
    np.testing.assert_allclose(ours.crps(1.0), 0.16, atol=1e-3)


def test_the_crps_of_many_counts_is_that_of_all_counts(monkeypatch):
    y, rows = np.array([0.0, 7.0, 1500.0, 2100.0, 9000.0]), np.full(5, 2000.0)
    for ours in (
        d.Poisson(mu=rows),
        d.NegativeBinomial(mu=rows, dispersion=0.7),
        d.ZeroInflatedNegativeBinomial(mu=rows, dispersion=1e-3, zero_probability=0.4),
    ):
        expected = ours.crps(y)
        with monkeypatch.context() as patched:
            patched.setattr(base, "MOST_COUNTS", 0)
            np.testing.assert_allclose(ours.crps(y), expected, rtol=1e-3)


def test_large_counts_have_quantiles_and_a_crps():
    mu = np.array([1e8, 1e10, 1e12, 1e15])
    for ours in (d.Poisson(mu=mu), d.ZeroInflatedPoisson(mu=mu, zero_probability=1e-9)):
        z = (ours.quantile([0.05, 0.5, 0.95]) - mu[:, None]) / np.sqrt(mu)[:, None]
        np.testing.assert_allclose(z, np.tile([-1.645, 0.0, 1.645], (4, 1)), atol=1e-3)
    near, normal = d.Poisson(mu=mu), d.Normal(loc=mu, scale=np.sqrt(mu))
    y = mu + 0.7 * np.sqrt(mu)
    np.testing.assert_allclose(near.crps(np.floor(y)), normal.crps(y), rtol=1e-3)


def test_the_randomised_pit_of_counts_is_uniform():
    ours = d.Poisson(mu=np.full(20_000, 1.3))
    u = ours.pit(ours.sample(1, random_state=5)[:, 0])
    assert stats.kstest(u, "uniform").pvalue > 0.001


def test_rows_are_selected_and_pickled():
    ours = EVERY["student_t"]
    np.testing.assert_array_equal(ours[[1]].loc, [-2.0])
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.df, ours.df)
    assert len(ours) == 2
    assert "StudentT" in repr(ours)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda o: o.quantile(1.2), "from 0 to 1"),
        (lambda o: o.interval(1.0), "coverage"),
        (lambda o: o.sample(0), "n must be"),
        (lambda o: o.cdf([1.0, 2.0, 3.0]), "shape"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call(EVERY["normal"])
