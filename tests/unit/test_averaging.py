"""The theory of averaging: the three formulas, and simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from stagewise.averaging import ambiguity, majority_vote_accuracy, variance_of_average


def slow_majority(M: int, p: float) -> float:
    need = math.ceil((M + 1) / 2)
    return sum(math.comb(M, s) * p**s * (1 - p) ** (M - s) for s in range(need, M + 1))


# ---- votes ---------------------------------------------------------------------------------------


def test_majority_vote_equals_the_numbers_of_the_lecture():
    assert majority_vote_accuracy(15, 0.6) == pytest.approx(0.787, abs=5e-4)
    assert majority_vote_accuracy(15, 0.6, method="normal") == pytest.approx(0.785, abs=5e-4)
    assert majority_vote_accuracy(51, 0.6) == pytest.approx(0.926, abs=5e-4)


@given(st.integers(1, 60), st.floats(0, 1))
def test_a_majority_is_the_sum_over_the_binomial(M, p):
    assert majority_vote_accuracy(M, p) == pytest.approx(slow_majority(M, p), abs=1e-12)


def test_a_tie_is_no_majority():
    assert majority_vote_accuracy(2, 0.5) == 0.25
    assert majority_vote_accuracy(4, 0.5) == pytest.approx(5 / 16)


def test_the_majority_of_many_voters_is_right_if_p_is_above_one_half():
    M = np.array([1, 3, 11, 101, 1001])
    better, worse = majority_vote_accuracy(M, 0.55), majority_vote_accuracy(M, 0.45)
    assert (np.diff(better) > 0).all()
    assert (np.diff(worse) < 0).all()
    np.testing.assert_allclose(better + worse, 1.0)  # an odd number has no tie
    np.testing.assert_allclose(majority_vote_accuracy(M, 0.5), 0.5)


def test_the_normal_approximation_is_close():
    M, p = np.arange(1, 200, 2)[:, np.newaxis], np.linspace(0.2, 0.8, 13)
    off = np.abs(majority_vote_accuracy(M, p) - majority_vote_accuracy(M, p, method="normal"))
    assert off.shape == (100, 13)
    assert off[20:].max() < 0.003


@pytest.mark.parametrize("method", ["exact", "normal"])
def test_majority_of_probabilities_zero_and_one(method):
    assert majority_vote_accuracy(7, 1.0, method=method) == 1.0
    assert majority_vote_accuracy(7, 0.0, method=method) == 0.0
    np.testing.assert_array_equal(
        majority_vote_accuracy([[1], [8]], [0.0, 1.0], method=method), [[0, 1], [0, 1]]
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: majority_vote_accuracy(0, 0.5), "M must be a whole number of voters.*got 0"),
        (lambda: majority_vote_accuracy([3, 2.5], 0.5), "M must be a whole number.*got 2.5"),
        (lambda: majority_vote_accuracy(math.nan, 0.5), "M must be .*got nan"),
        (lambda: majority_vote_accuracy("many", 0.5), "M must be .*got 'many'"),
        (lambda: majority_vote_accuracy(3, 1.5), "p must be a probability.*got 1.5"),
        (lambda: majority_vote_accuracy(3, [0.5, -0.1]), "p must be a probability.*got -0.1"),
        (lambda: majority_vote_accuracy(3, 0.5, method="best"), "method must be .*got 'best'"),
        (lambda: variance_of_average(0.5, -1, 3), "sigma2 must be a variance.*got -1"),
        (lambda: variance_of_average(2, 1, 3), "rho must be a correlation.*got 2"),
        (lambda: variance_of_average(-0.6, 1, 3), r"rho is -0.6.*-1/\(M - 1\) = -0.5.*smaller M"),
        (lambda: variance_of_average(0.1, math.inf, 3), "sigma2 must be .*got inf"),
        (lambda: ambiguity([1, 2], [1, 2]), r"two dimensions.*shape \(2,\).*np.stack"),
        (lambda: ambiguity(np.empty((0, 3)), [1, 2, 3]), "at least one of each"),
        (lambda: ambiguity([[1, 2]], [1]), r"y has shape \(1,\).*have 2 rows"),
        (lambda: ambiguity([[1, math.nan]], [1, 2]), "predictions must be finite.*got nan"),
        (lambda: ambiguity([[1, 2]], ["a", "b"]), "y must be finite numbers"),
        (lambda: ambiguity([[1], [2]], [1], [1, -1]), "weights must be at least 0.*got -1"),
        (lambda: ambiguity([[1], [2]], [1], [1]), "one number for each of 2 members"),
        (lambda: ambiguity([[1], [2]], [1], [0, 0]), "not all 0"),
    ],
)
def test_invalid_arguments_are_refused_by_name(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# ---- averages ------------------------------------------------------------------------------------


@given(st.floats(0, 100), st.integers(2, 40), st.floats(0, 1))
def test_the_variance_is_the_sum_of_all_covariances(sigma2, M, place):
    rho = place - (1 - place) / (M - 1)
    covariance = sigma2 * (rho * np.ones((M, M)) + (1 - rho) * np.eye(M))
    expected = np.ones(M) @ covariance @ np.ones(M) / M**2
    assert variance_of_average(rho, sigma2, M) == pytest.approx(expected, abs=1e-9)


def test_limits_of_the_variance():
    assert variance_of_average(0, 3.0, 6) == 0.5
    assert variance_of_average(1, 3.0, 6) == 3.0
    assert variance_of_average(-1, 3.0, 2) == 0.0
    assert variance_of_average(-1, 3.0, 1) == 3.0
    np.testing.assert_allclose(
        variance_of_average([0, 0.5], 1.0, [[1], [2]]), [[1, 1], [0.5, 0.75]]
    )


@pytest.mark.slow
def test_an_average_of_trees_has_the_variance_of_the_formula():
    # ρ and σ² from pairs of trees; the average from others, of the same 120 training sets.
    rng, M, sets = np.random.default_rng(0), 12, 120
    at = np.linspace(0.1, 0.9, 9)[:, np.newaxis]
    predicted = np.empty((sets, M + 6, len(at)))
    for number in range(sets):
        x = rng.uniform(size=(40, 1))
        y = np.sin(6 * x[:, 0]) + rng.normal(0, 0.5, 40)
        for m in range(M + 6):
            rows = rng.integers(0, 40, 40)
            tree = DecisionTreeRegressor(random_state=0).fit(x[rows], y[rows])
            predicted[number, m] = tree.predict(at)
    pairs, others = predicted[:, :6], predicted[:, 6:]
    sigma2 = pairs.var(axis=0).mean()
    covariance = [
        np.mean([np.cov(pairs[:, i, k], pairs[:, j, k])[0, 1] for k in range(len(at))])
        for i in range(6)
        for j in range(i)
    ]
    rho = np.mean(covariance) / sigma2
    assert 0.2 < rho < 0.8
    for m in (1, 5, M):
        measured = others[:, :m].mean(axis=1).var(axis=0).mean()
        assert measured == pytest.approx(variance_of_average(rho, sigma2, m), rel=0.15)


numbers = st.floats(-1e3, 1e3)


@st.composite
def ensembles(draw):
    M, n = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    predicted = draw(st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=M, max_size=M))
    y = draw(st.lists(numbers, min_size=n, max_size=n))
    weights = draw(st.lists(st.floats(0.01, 10), min_size=M, max_size=M))
    return np.array(predicted), np.array(y), np.array(weights)


@settings(max_examples=300)
@given(ensembles())
def test_the_ensemble_error_is_at_most_the_mean_error_of_its_estimators(ensemble):
    predicted, y, weights = ensemble
    found = ambiguity(predicted, y, weights)
    share = weights / weights.sum()
    errors = [np.mean([(f - t) ** 2 for f, t in zip(row, y, strict=True)]) for row in predicted]
    assert found.average == pytest.approx(sum(a * e for a, e in zip(share, errors, strict=True)))
    assert found.ambiguity >= 0.0
    assert found.ensemble <= found.average * (1 + 1e-9) + 1e-9
    assert found.ensemble == pytest.approx(found.average - found.ambiguity, abs=1e-6)


def test_estimators_that_agree_have_no_ambiguity():
    assert ambiguity(np.ones((4, 3)), [0, 1, 2]).ambiguity == 0.0


def test_averaging_reduces_uncorrelated_errors():
    rng = np.random.default_rng(0)
    y = rng.normal(size=20_000)
    found = ambiguity(y + rng.normal(size=(10, 20_000)), y)
    assert found.ensemble == pytest.approx(found.average / 10, rel=0.05)
