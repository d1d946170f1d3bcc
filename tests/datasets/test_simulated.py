"""Simulated tables: formulas, Bayes errors, seeds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from stagewise.datasets import (
    make_friedman1,
    make_nested_spheres,
    make_sine,
    make_step,
    make_xor,
)

MAKERS = [make_friedman1, make_nested_spheres, make_sine, make_step, make_xor]


@pytest.mark.parametrize("make", MAKERS)
def test_a_seed_gives_one_table_and_another_seed_another(make):
    X, y = make(50, seed=3)
    again, other = make(50, seed=3), make(50, seed=4)
    assert X.shape[0] == y.shape[0] == 50
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(y, again[1])
    assert not np.array_equal(X, other[0])


def test_nested_spheres_have_equal_classes():
    X, y = make_nested_spheres(20_000)
    np.testing.assert_array_equal(y, np.linalg.norm(X, axis=1) > np.sqrt(9.34))
    assert y.mean() == pytest.approx(chi2.sf(9.34, 10), abs=0.01)


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_the_noise_of_xor_is_its_bayes_error(noise):
    X, y = make_xor(20_000, noise)
    assert np.mean((np.sign(X).prod(axis=1) > 0) != y) == pytest.approx(noise, abs=0.01)


@pytest.mark.parametrize(
    ("make", "mean"),
    [
        (make_step, lambda x: np.where(x[:, 0] > 0.5, 1.0, 0.0)),
        (make_sine, lambda x: np.sin(x[:, 0]) + 0.15 * x[:, 0]),
        (
            make_friedman1,
            lambda x: (
                10 * np.sin(np.pi * x[:, 0] * x[:, 1])
                + 20 * (x[:, 2] - 0.5) ** 2
                + 10 * x[:, 3]
                + 5 * x[:, 4]
            ),
        ),
    ],
)
def test_the_smallest_error_is_the_variance_of_the_noise(make, mean):
    X, y = make(20_000, noise=0.7)
    assert np.mean((y - mean(X)) ** 2) == pytest.approx(0.49, abs=0.02)
    X, y = make(100, noise=0.0)
    np.testing.assert_allclose(y, mean(X), atol=1e-12)
