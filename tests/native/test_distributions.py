"""Kernels of distributions: equal to the reference, the same bits everywhere, safe at the ends."""

import numpy as np
import pytest

from reference import distributions as reference
from stagewise._native import DistributionRule, Workers, supported_isas
from stagewise.losses.distributions import DISTRIBUTION_LOSSES
from stagewise.losses.distributions.counts import PoissonDistributionLoss
from stagewise.losses.distributions.real import StudentTLoss

pytestmark = pytest.mark.native

LOSSES = {kind.name: kind() for kind in (*DISTRIBUTION_LOSSES, PoissonDistributionLoss)}
LOSSES |= {"t with df=4": StudentTLoss(4.0)}
N = 403  # not a multiple of the lanes


def rows(loss, spread=0.7, seed=0):
    """Return targets that the distributions of the scores could have, and scores."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(N, loss.n_outputs)) * spread
    y = rng.normal(size=N) * 2.0
    if loss.name in ("log_normal", "gamma_distribution", "weibull"):
        y = np.exp(y)
    elif loss.name == "beta":
        y = rng.uniform(1e-6, 1.0 - 1e-6, size=N)
    elif loss.log_link:
        y = rng.negative_binomial(1.0, 0.3, size=N).astype(float)
    return y, score


def df_of(loss):
    return loss.df if isinstance(loss, StudentTLoss) else None


@pytest.mark.parametrize("name", LOSSES)
def test_losses_equal_those_of_the_distributions(name):
    loss = LOSSES[name]
    y, score = rows(loss)
    expected = loss.distribution(score).nll(y)
    np.testing.assert_allclose(loss.loss(y, score), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("spread", [0.7, 3.0])
def test_gradients_and_information_equal_the_reference(name, spread):
    loss = LOSSES[name]
    y, score = rows(loss, spread)
    score = loss.within(score)
    with np.errstate(all="ignore"):
        gradient = reference.gradient(loss.name, y, score, df_of(loss))
        information = reference.information(loss.name, score, df_of(loss))
    np.testing.assert_allclose(loss.gradient(y, score), gradient, rtol=2e-7, atol=1e-9)
    np.testing.assert_allclose(loss.information(score), information, rtol=2e-7, atol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_what_trees_are_fitted_to_equals_the_reference(name):
    loss = LOSSES[name]
    for spread in (0.7, 3.0):
        y, score = rows(loss, spread, seed=1)
        expected = reference.tree_derivatives(loss.name, y, score, loss.bounds, df_of(loss))
        found = loss.tree_derivatives(y, score)
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(own.reshape(other.shape), other, rtol=3e-6, atol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_instruction_sets_threads_and_single_rows_have_the_same_bits(name):
    loss = LOSSES[name]
    for spread in (0.7, 4.0):
        y, score = (np.tile(own, (21, 1)) for own in (rows(loss, spread)[0], rows(loss, spread)[1]))
        y, columns = y.reshape(-1), np.ravel(score, order="F")
        n = len(y)
        assert n == 21 * N  # more rows than a chunk
        found = {bytes_of(loss.rule(), None, y, columns)}
        found |= {
            bytes_of(loss.rule(), Workers(threads, isa), y, columns)
            for isa in supported_isas()
            for threads in (1, 3)
        }
        assert len(found) == 1
        whole = loss.tree_derivatives(y, score)
        for i in (0, 5, 402):
            one = loss.tree_derivatives(y[i : i + 1], score[i : i + 1])
            for own, other in zip(one, whole, strict=True):
                np.testing.assert_array_equal(own[0], other[i])


def bytes_of(rule, workers, y, columns):
    """Return all that the kernels compute, as bytes."""
    n, k = len(y), len(columns) // len(y)
    losses = np.empty(n)
    rule.losses(workers, y, columns, losses)
    steps = np.empty(n), np.empty(n * k), np.empty(n * k)
    rule.steps(workers, y, columns, *steps)
    np.testing.assert_array_equal(losses, steps[0])
    gradient, information = np.empty(n * k), np.empty(n * k * k)
    rule.information(workers, y, columns, gradient, information)
    return b"".join(own.tobytes() for own in (*steps, gradient, information))


@pytest.mark.parametrize("name", LOSSES)
def test_steps_are_finite_for_all_targets_and_scores(name):
    loss = LOSSES[name]
    ends = np.array([-1e308, -50.0, 0.0, 50.0, 1e308])
    score = np.array(np.meshgrid(*[ends] * loss.n_outputs)).reshape(loss.n_outputs, -1).T
    targets = [5e-324, 1.0, 1e308] if loss.log_link else [-1e300, 0.0, 1e300]
    if "poisson" in name or "binomial" in name:
        targets = [0.0, 1.0, 1e15]
    elif name == "beta":
        targets = [5e-324, 0.5, 1.0 - 2.0**-53]
    for target in targets:
        for found in loss.tree_derivatives(np.full(len(score), target), score):
            assert np.isfinite(found).all()
            assert np.abs(found).max() < 1e38  # a float32 in the core


def test_wrong_shapes_and_families_are_refused():
    two = np.zeros(2), np.ones(2)
    with pytest.raises(ValueError, match="family"):
        DistributionRule("uniform", 0.0, *two)
    with pytest.raises(ValueError, match="two bounds"):
        DistributionRule("student_t", 0.0, *two)
    rule = DistributionRule("normal", 0.0, *two)
    with pytest.raises(ValueError, match="rows x scores"):
        rule.losses(None, np.zeros(3), np.zeros(5), np.zeros(3))
    with pytest.raises(ValueError, match="one loss"):
        rule.losses(None, np.zeros(3), np.zeros(6), np.zeros(4))
    with pytest.raises(ValueError, match="one derivative"):
        rule.steps(None, np.zeros(3), np.zeros(6), np.zeros(3), np.zeros(6), np.zeros(5))
    with pytest.raises(ValueError, match="a matrix"):
        rule.information(None, np.zeros(3), np.zeros(6), np.zeros(6), np.zeros(6))
    rule.losses(None, np.zeros(0), np.zeros(0), np.zeros(0))
