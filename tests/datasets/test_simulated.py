"""Simulated tables: formulas, Bayes errors, seeds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn import datasets as sklearn_datasets

from stagewise.datasets import (
    make_banana,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_moons,
    make_nested_spheres,
    make_sine,
    make_step,
    make_xor,
)

CLASSES = [make_banana, make_moons, make_nested_spheres, make_xor]
NUMBERS = [make_friedman1, make_friedman2, make_friedman3, make_sine, make_step]
MAKERS = CLASSES + NUMBERS


@pytest.mark.parametrize("make", MAKERS)
def test_a_seed_gives_one_table_and_another_seed_another(make):
    X, y = make(50, seed=3)
    again, other = make(50, seed=3), make(50, seed=4)
    assert X.shape[0] == y.shape[0] == 50
    assert X.dtype == np.float64
    assert y.dtype == (np.int64 if make in CLASSES else np.float64)
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


def crescents() -> tuple[np.ndarray, np.ndarray]:
    """Return points of the two curves of the banana data, at the middles of equal angles."""
    turn = 1.25 * np.pi * (np.arange(200) + 0.5) / 200
    first, second = np.pi / 8 + turn, 3 * np.pi / 8 - turn
    return (
        5 * np.column_stack([np.sin(first), np.cos(first)]),
        5 * np.column_stack([np.sin(second), np.cos(second)]) - 3.75,
    )


def half_circles() -> tuple[np.ndarray, np.ndarray]:
    """Return points of the two curves of the moons, at the middles of equal angles."""
    angle = np.pi * (np.arange(200) + 0.5) / 200
    first = np.column_stack([np.cos(angle), np.sin(angle)])
    return first, [1, 0.5] - first


def density(points: np.ndarray, curve: np.ndarray, noise: float) -> np.ndarray:
    """Return the density of a curve with normal noise, as a mean over its points."""
    squares = ((points[:, np.newaxis] - curve) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * noise**2)).mean(axis=1) / (2 * np.pi * noise**2)


@pytest.mark.parametrize(
    ("make", "curves", "noise", "bayes"),
    [
        (make_banana, crescents(), 1.0, 0.017),
        (make_banana, crescents(), 1.5, 0.067),
        (make_moons, half_circles(), 0.2, 0.029),
        (make_moons, half_circles(), 0.3, 0.085),
    ],
)
def test_the_documented_bayes_error_is_that_of_the_density(make, curves, noise, bayes):
    """The error of the rule p_1(x) > p_0(x): integrated over a grid, and of drawn rows."""
    low = np.min([curve.min(axis=0) for curve in curves], axis=0) - 5 * noise
    high = np.max([curve.max(axis=0) for curve in curves], axis=0) + 5 * noise
    sides = [np.linspace(low[k], high[k], 120) for k in (0, 1)]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    smaller = np.minimum(*(density(grid, curve, noise) for curve in curves))
    area = np.prod([side[1] - side[0] for side in sides])
    assert smaller.sum() * area / 2 == pytest.approx(bayes, abs=0.0005)
    X, y = make(4_000, noise)
    first, second = (density(X, curve, noise) for curve in curves)
    deviation = np.sqrt(bayes * (1 - bayes) / 4_000)
    assert np.mean((second > first) != y) == pytest.approx(bayes, abs=4 * deviation)


@pytest.mark.parametrize("make", [make_banana, make_moons])
def test_crescents_without_noise_are_on_their_curves(make):
    X, y = make(300, noise=0.0)
    if make is make_banana:
        centres = np.where(y[:, np.newaxis] == 0, [0.0, 0.0], [-3.75, -3.75])
        np.testing.assert_allclose(np.linalg.norm(X - centres, axis=1), 5, rtol=1e-12)
    else:
        centres = np.where(y[:, np.newaxis] == 0, [0.0, 0.0], [1.0, 0.5])
        np.testing.assert_allclose(np.linalg.norm(X - centres, axis=1), 1, rtol=1e-12)
        assert (np.where(y == 0, X[:, 1], 0.5 - X[:, 1]) >= 0).all()
    assert 0.4 < y.mean() < 0.6


@pytest.mark.parametrize(
    ("make", "theirs"),
    [
        (make_friedman1, sklearn_datasets.make_friedman1),
        (make_friedman2, sklearn_datasets.make_friedman2),
        (make_friedman3, sklearn_datasets.make_friedman3),
    ],
)
def test_friedmans_functions_are_those_of_scikit_learn(make, theirs, monkeypatch):
    """scikit-learn draws the uniform numbers of our seed; its formulas do the rest."""
    draws = np.random.default_rng(5)
    monkeypatch.setattr("sklearn.datasets._samples_generator.check_random_state", lambda _: draws)
    X_theirs, y_theirs = theirs(200, noise=0.0)
    X, y = make(200, noise=0.0, seed=5)
    np.testing.assert_allclose(X, X_theirs, rtol=1e-14)
    np.testing.assert_allclose(y, y_theirs, rtol=1e-12)


@pytest.mark.parametrize("make", [make_friedman2, make_friedman3])
def test_the_signal_of_a_circuit_is_three_times_its_noise(make):
    noise = make.__wrapped__.__defaults__[1]
    mean = make(50_000, noise=0.0)[1]
    assert mean.std() / noise == pytest.approx(3, abs=0.2)
    noisy = make(50_000)[1]
    assert np.std(noisy - mean) == pytest.approx(noise, rel=0.02)


@pytest.mark.parametrize(
    ("make", "value", "total"),
    [
        (make_banana, -4.520653433982964, 11),
        (make_friedman1, 0.5383963798772446, 287.7693877923409),
        (make_friedman2, 2.454599537609269, 9424.905227407593),
        (make_friedman3, 2.454599537609269, 27.155468468373993),
        (make_moons, 0.8400881427308251, 11),
        (make_nested_spheres, 1.5149729826647176, 5),
        (make_sine, 9.955002834343926, 16.792743048565452),
        (make_step, 0.9955002834343927, 9.156255496075126),
        (make_xor, -0.6910778378771203, 11),
    ],
)
def test_a_seed_gives_the_documented_table(make, value, total):
    """Uniform numbers and counts to the bit; normals and sines up to the C library's rounding."""
    X, y = make(20, seed=7)
    uniform = make not in (make_banana, make_moons, make_nested_spheres)
    assert X[-1, -1] == (value if uniform else pytest.approx(value, rel=1e-13))
    assert y.sum() == (total if make in CLASSES else pytest.approx(total, rel=1e-13))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_rows": 0}, "n_rows must be a whole number at least 1; got 0"),
        ({"n_rows": 2.5}, "n_rows must be a whole number at least 1; got 2.5"),
        ({"n_rows": "many"}, "n_rows must be a whole number at least 1; got 'many'"),
        ({"seed": -1}, "seed must be a whole number at least 0; got -1"),
        ({"seed": None}, "seed must be a whole number at least 0; got None"),
    ],
)
def test_a_wrong_argument_is_named_with_its_value(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


@pytest.mark.parametrize("make", [make for make in MAKERS if make is not make_nested_spheres])
@pytest.mark.parametrize("noise", [-0.5, np.nan, np.inf, "low"])
def test_noise_is_a_finite_number_that_is_not_negative(make, noise):
    with pytest.raises(ValueError, match="noise must be a number at least 0"):
        make(10, noise=noise)


def test_the_noise_of_xor_is_a_probability():
    with pytest.raises(ValueError, match="noise must be a number at least 0 and at most 1; got 2"):
        make_xor(10, noise=2)


def test_names_of_scikit_learn_have_a_hint():
    with pytest.raises(TypeError, match="Here it is n_rows"):
        make_banana(n_samples=10)
    with pytest.raises(TypeError, match="Here it is seed"):
        make_banana(random_state=10)
