"""Simulated tables with known truth: generators of (X, y).

All numbers come from NumPy's `Generator` with a seed. Uniform features, and classes and steps that
are computed from them, are the same bytes on every machine. Normal numbers, sines, cosines and
arcus tangents use functions of the C library, which may differ in the last bit between machines;
relative to the largest value the difference is below 1e-14.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.validation.arguments import check_argument, suggests_arguments
from stagewise.validation.rules import Number

__all__ = [
    "make_banana",
    "make_friedman1",
    "make_friedman2",
    "make_friedman3",
    "make_moons",
    "make_nested_spheres",
    "make_sine",
    "make_step",
    "make_xor",
]

Table = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
Classes = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]
MEDIAN = 9.34
"""The median of chi-squared with ten degrees of freedom, as the book rounds it."""
ROWS, SEED = Number(1, whole=True), Number(0, whole=True)
STANDARD_DEVIATION, PROBABILITY = Number(0.0), Number(0.0, 1.0)


@suggests_arguments
def make_nested_spheres(n_rows: int = 2000, seed: int = 0) -> Classes:
    """Return ten standard normals; y = 1 if Σ x_j² > 9.34, otherwise 0.

    The Bayes error is 0 (Hastie, Tibshirani & Friedman 2009, eq. 10.2).
    """
    n_rows, rng = _rows(n_rows, seed)
    X = rng.normal(size=(n_rows, 10))
    return X, ((X**2).sum(axis=1) > MEDIAN).astype(np.int64)


@suggests_arguments
def make_xor(n_rows: int = 500, noise: float = 0.0, seed: int = 0) -> Classes:
    """Return two uniform numbers in (-1, 1); y = 1 if x_0 x_1 > 0, changed with probability noise.

    The Bayes error is min(noise, 1 - noise). No single split lowers it.
    """
    n_rows, rng = _rows(n_rows, seed)
    noise = check_argument("noise", PROBABILITY, noise)
    X = rng.uniform(-1, 1, size=(n_rows, 2))
    changed = rng.random(n_rows) < noise
    return X, ((X[:, 0] * X[:, 1] > 0) ^ changed).astype(np.int64)


@suggests_arguments
def make_banana(n_rows: int = 500, noise: float = 1.0, seed: int = 0) -> Classes:
    """Return two interleaved crescents, one per class.

    x = 5 (sin θ, cos θ) + ε with θ uniform in (π/8, 11π/8) for y = 0, and
    x = 5 (sin θ, cos θ) - (3.75, 3.75) + ε with θ uniform in (-7π/8, 3π/8) for y = 1;
    ε ~ N(0, noise² I), and both classes have probability ½. The Bayes error is 1.7 % with
    noise = 1, and 6.7 % with noise = 1.5. The formulas are those of the function gendatb of the
    toolbox PRTools (Duin, Juszczak, Paclik, Pekalska, de Ridder & Tax 2004).
    """
    n_rows, rng = _rows(n_rows, seed)
    noise = check_argument("noise", STANDARD_DEVIATION, noise)
    y = rng.integers(0, 2, n_rows)
    turn = rng.uniform(0, 1.25, n_rows)
    angle = np.pi * np.where(y == 0, 0.125 + turn, 0.375 - turn)
    X = 5 * np.column_stack([np.sin(angle), np.cos(angle)]) - 3.75 * y[:, np.newaxis]
    return X + rng.normal(0, noise, X.shape), y


@suggests_arguments
def make_moons(n_rows: int = 500, noise: float = 0.2, seed: int = 0) -> Classes:
    """Return two interleaved half circles, one per class.

    x = (cos θ, sin θ) + ε for y = 0, and x = (1 - cos θ, ½ - sin θ) + ε for y = 1, with θ uniform
    in (0, π) and ε ~ N(0, noise² I); both classes have probability ½. The Bayes error is 2.9 % with
    noise = 0.2, and 8.5 % with noise = 0.3. The curves are those of `sklearn.datasets.make_moons`,
    whose angles are equidistant.
    """
    n_rows, rng = _rows(n_rows, seed)
    noise = check_argument("noise", STANDARD_DEVIATION, noise)
    y = rng.integers(0, 2, n_rows)
    angle = rng.uniform(0, np.pi, n_rows)
    x, up = np.cos(angle), np.sin(angle)
    X = np.column_stack([np.where(y == 0, x, 1 - x), np.where(y == 0, up, 0.5 - up)])
    return X + rng.normal(0, noise, X.shape), y


@suggests_arguments
def make_friedman1(n_rows: int = 500, noise: float = 1.0, seed: int = 0) -> Table:
    """Return ten uniform numbers, five of them without influence, and Friedman's first function.

    y = 10 sin(π x_0 x_1) + 20 (x_2 - ½)² + 10 x_3 + 5 x_4 + ε with ε ~ N(0, noise²). The smallest
    mean squared error is noise² (Friedman 1991, section 4.3).
    """
    n_rows, rng = _rows(n_rows, seed)
    X = rng.uniform(size=(n_rows, 10))
    mean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, _with_noise(mean + 10 * X[:, 3] + 5 * X[:, 4], noise, rng)


@suggests_arguments
def make_friedman2(n_rows: int = 500, noise: float = 125.0, seed: int = 0) -> Table:
    """Return the parts of an electric circuit, and its impedance: Friedman's second function.

    y = √(x_0² + (x_1 x_2 - 1 / (x_1 x_3))²) + ε with ε ~ N(0, noise²). The features are uniform:
    the resistance x_0 in (0, 100), the angular frequency x_1 in (40π, 560π), the inductance x_2 in
    (0, 1) and the capacity x_3 in (1, 11). The smallest mean squared error is noise²; with
    noise = 125 the standard deviation of the mean is about three times that of ε (Friedman 1991,
    section 4.4).
    """
    n_rows, rng = _rows(n_rows, seed)
    X = _circuits(n_rows, rng)
    return X, _with_noise(np.sqrt(X[:, 0] ** 2 + _reactance(X) ** 2), noise, rng)


@suggests_arguments
def make_friedman3(n_rows: int = 500, noise: float = 0.1, seed: int = 0) -> Table:
    """Return the parts of an electric circuit, and its phase angle: Friedman's third function.

    y = arctan((x_1 x_2 - 1 / (x_1 x_3)) / x_0) + ε with ε ~ N(0, noise²), and the features of
    `make_friedman2`. The smallest mean squared error is noise²; with noise = 0.1 the standard
    deviation of the mean is about three times that of ε (Friedman 1991, section 4.4).
    """
    n_rows, rng = _rows(n_rows, seed)
    X = _circuits(n_rows, rng)
    return X, _with_noise(np.arctan(_reactance(X) / X[:, 0]), noise, rng)


@suggests_arguments
def make_step(n_rows: int = 200, noise: float = 0.3, seed: int = 0) -> Table:
    """Return one sorted uniform number; y = 1[x > ½] + ε with ε ~ N(0, noise²)."""
    n_rows, rng = _rows(n_rows, seed)
    x = np.sort(rng.uniform(size=n_rows))
    return x[:, np.newaxis], _with_noise((x > 0.5).astype(np.float64), noise, rng)


@suggests_arguments
def make_sine(n_rows: int = 200, noise: float = 0.3, seed: int = 0) -> Table:
    """Return one sorted uniform number in (0, 10); y = sin x + 0.15 x + ε, ε ~ N(0, noise²)."""
    n_rows, rng = _rows(n_rows, seed)
    x = np.sort(rng.uniform(0, 10, n_rows))
    return x[:, np.newaxis], _with_noise(np.sin(x) + 0.15 * x, noise, rng)


def _rows(n_rows: Any, seed: Any) -> tuple[int, np.random.Generator]:
    """Return the number of rows and the random numbers of a table, both checked."""
    checked = check_argument("n_rows", ROWS, n_rows)
    return checked, np.random.default_rng(check_argument("seed", SEED, seed))


def _with_noise(
    mean: npt.NDArray[np.float64], noise: Any, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Return mean + ε with ε ~ N(0, noise²)."""
    deviation: float = check_argument("noise", STANDARD_DEVIATION, noise)
    return mean + rng.normal(0, deviation, len(mean))


def _circuits(n_rows: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Return resistances, angular frequencies, inductances and capacities, all uniform."""
    low, high = (0.0, 40 * np.pi, 0.0, 1.0), (100.0, 560 * np.pi, 1.0, 11.0)
    return rng.uniform(low, high, size=(n_rows, 4))


def _reactance(X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return x_1 x_2 - 1 / (x_1 x_3)."""
    return X[:, 1] * X[:, 2] - 1 / (X[:, 1] * X[:, 3])
