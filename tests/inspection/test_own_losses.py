"""Scores by the loss of a model: distributions, formulas and losses of one's own."""

from __future__ import annotations

import numpy as np
import pytest

import stagewise
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.inspection import scores
from stagewise.losses.distributions import DISTRIBUTION_LOSSES
from stagewise.metrics.probabilistic import coverage

SMALL = {"n_estimators": 15, "min_samples_leaf": 5}
NAMES = [kind.name for kind in DISTRIBUTION_LOSSES]


def table(name: str, n: int = 300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    if "binomial" in name or "poisson" in name:
        return X, rng.poisson(np.exp(0.5 * X[:, 0]) * rng.gamma(2.0, 0.5, n)).astype(float)
    y = 50.0 * X[:, 0] + 20.0 * rng.normal(size=n)
    return X, 1.0 / (1.0 + np.exp(-y / 50.0)) if name == "beta" else y if name in REAL else np.exp(
        y / 60
    )


REAL = ("normal", "laplace", "student_t")


@pytest.mark.parametrize("name", NAMES)
def test_distributions_have_their_likelihood_crps_and_coverage(name):
    X, y = table(name)
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    model = GradientBoostingRegressor(loss=name, **SMALL).fit(X, y)
    found = scores(model, X, y, sample_weight=weight, n_resamples=20)
    dist = model.predict_dist(X)
    assert [s.name for s in found.scores] == ["nll", "crps", "coverage_90", "rmse", "mae", "r2"]
    for own in ("nll", "crps"):
        expected = np.average(getattr(dist, own)(y), weights=weight)
        np.testing.assert_allclose(found[own].value, expected, rtol=1e-9)
        assert found[own].low <= found[own].value <= found[own].high
        assert found[own].value < found[own].baseline
    expected = coverage(y, dist.interval(0.9), weight)
    np.testing.assert_allclose(found["coverage_90"].value, expected)


def test_the_baseline_is_the_distribution_of_the_largest_likelihood():
    X, y = table("normal")
    model = GradientBoostingRegressor(loss="normal", **SMALL).fit(X, y)
    expected = 0.5 * np.log(2.0 * np.pi * y.var()) + 0.5
    np.testing.assert_allclose(scores(model, X, y)["nll"].baseline, expected, rtol=1e-8)
    offset = 10.0 * X[:, 1]
    moved = GradientBoostingRegressor(loss="normal", **SMALL).fit(X, y, offset=offset)
    found = scores(moved, X, y, offset=offset, n_resamples=0)["nll"]
    expected = 0.5 * np.log(2.0 * np.pi * (y - offset).var()) + 0.5
    np.testing.assert_allclose(found.baseline, expected, rtol=1e-8)
    nll = moved.predict_dist(X, offset=offset).nll(y).mean()
    np.testing.assert_allclose(found.value, nll, rtol=1e-8)


def test_exposures_are_part_of_the_likelihood():
    X, y = table("poisson")
    exposure = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = GradientBoostingRegressor(loss="negative_binomial", **SMALL)
    model.fit(X, y, exposure=exposure)
    found = scores(model, X, y, exposure=exposure, n_resamples=0)
    expected = model.predict_dist(X, exposure=exposure).nll(y).mean()
    np.testing.assert_allclose(found["nll"].value, expected, rtol=1e-9)
    assert found["nll"].value < found["nll"].baseline


def test_formulas_have_their_mean_loss():
    X, y = table("normal")
    loss = stagewise.Loss.from_formula("log(cosh((y - f) / 30))")
    model = GradientBoostingRegressor(loss=loss, **SMALL).fit(X, y)
    found = scores(model, X, y, n_resamples=20)
    assert [s.name for s in found.scores] == ["loss", "rmse", "mae", "r2"]
    expected = np.log(np.cosh((y - model.predict(X)) / 30)).mean()
    np.testing.assert_allclose(found["loss"].value, expected, rtol=1e-6)
    assert found["loss"].low < found["loss"].value < found["loss"].high
    assert found["loss"].value < found["loss"].baseline

    squares = stagewise.Loss.from_formula("(y - f)**2")  # fitted to scaled targets
    model = GradientBoostingRegressor(loss=squares, **SMALL).fit(X, y)
    found = scores(model, X, y, n_resamples=0)
    np.testing.assert_allclose(found["loss"].value, found["rmse"].value ** 2, rtol=1e-9)
    np.testing.assert_allclose(found["loss"].baseline, y.var(), rtol=1e-6)


def test_formulas_of_classes_have_their_mean_loss(tmp_path):
    X, y = table("normal")
    loss = stagewise.Loss.from_formula("log(1 + exp(-y*f))", y="±1")
    model = GradientBoostingClassifier(loss=loss, **SMALL).fit(X, y > 0)
    model.save(tmp_path / "m.stgw")
    for own in (model, stagewise.load(tmp_path / "m.stgw")):
        found = scores(own, X, y > 0, n_resamples=0)
        assert found.scores[0].name == "loss"
        np.testing.assert_allclose(found["loss"].value, found["log_loss"].value, rtol=1e-9)
        np.testing.assert_allclose(found["loss"].baseline, found["log_loss"].baseline, rtol=1e-6)


def test_losses_by_their_derivatives_have_no_mean():
    X, y = table("normal")
    model = GradientBoostingRegressor(loss=lambda y, f: (f - y, np.ones_like(y)), **SMALL)
    found = scores(model.fit(X, y), X, y, n_resamples=0)
    assert [s.name for s in found.scores] == ["rmse", "mae", "r2"]
