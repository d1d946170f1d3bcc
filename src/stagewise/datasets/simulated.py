"""Simulated tables with known truth: generators of (X, y).

All numbers come from NumPy's `Generator` with a seed, so a call returns the same table on every
machine.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["make_friedman1", "make_nested_spheres", "make_sine", "make_step", "make_xor"]

Table = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
Classes = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]
MEDIAN = 9.34
"""The median of chi-squared with ten degrees of freedom, as the book rounds it."""


def make_nested_spheres(n_rows: int = 2000, seed: int = 0) -> Classes:
    """Return ten standard normals; y = 1 if Σ x_j² > 9.34, otherwise 0.

    The Bayes error is 0 (Hastie, Tibshirani & Friedman 2009, eq. 10.2).
    """
    X = np.random.default_rng(seed).normal(size=(n_rows, 10))
    return X, ((X**2).sum(axis=1) > MEDIAN).astype(np.int64)


def make_xor(n_rows: int = 500, noise: float = 0.0, seed: int = 0) -> Classes:
    """Return two uniform numbers in (-1, 1); y = 1 if x_0 x_1 > 0, changed with probability noise.

    The Bayes error is min(noise, 1 - noise). No single split lowers it.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_rows, 2))
    changed = rng.random(n_rows) < noise
    return X, ((X[:, 0] * X[:, 1] > 0) ^ changed).astype(np.int64)


def make_friedman1(n_rows: int = 500, noise: float = 1.0, seed: int = 0) -> Table:
    """Return ten uniform numbers, five of them without influence, and Friedman's first function.

    y = 10 sin(π x_0 x_1) + 20 (x_2 - ½)² + 10 x_3 + 5 x_4 + ε with ε ~ N(0, noise²), which is the
    smallest mean squared error, too (Friedman 1991, section 4.3).
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 10))
    mean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, mean + 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(0, noise, n_rows)


def make_step(n_rows: int = 200, noise: float = 0.3, seed: int = 0) -> Table:
    """Return one sorted uniform number; y = 1[x > ½] + ε with ε ~ N(0, noise²)."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=n_rows))
    return x[:, np.newaxis], (x > 0.5) + rng.normal(0, noise, n_rows)


def make_sine(n_rows: int = 200, noise: float = 0.3, seed: int = 0) -> Table:
    """Return one sorted uniform number in (0, 10); y = sin x + 0.15 x + ε, ε ~ N(0, noise²)."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, n_rows))
    return x[:, np.newaxis], np.sin(x) + 0.15 * x + rng.normal(0, noise, n_rows)
