"""Simulated data of the figures, reproducible on every machine."""

from __future__ import annotations

import numpy as np

__all__ = ["TEXTBOOK", "additive", "bananas", "spheres", "wave"]

TEXTBOOK = {"l2_regularization": 0.0, "max_features": None}
"""The settings of the textbooks: no penalty, and all features in every node."""


def spheres(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ten normals, and whether their squares sum to more than the median."""
    X = np.random.default_rng(seed).normal(size=(n, 10))
    return X, ((X**2).sum(axis=1) > 9.34).astype(int)


def bananas(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two interleaved arcs, one per class, with noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    turn = rng.uniform(-0.1, 1.1, n) * np.pi
    side = np.where(y == 1, 1.0, -1.0)
    X = np.column_stack([side * (1.5 * np.cos(turn) - 0.75), side * (1.5 * np.sin(turn) - 0.4)])
    return X + rng.normal(0, 0.4, X.shape), y


def wave(n: int, seed: int, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Return one feature, and a wave of it with noise."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, n))
    return x[:, np.newaxis], np.sin(x) + 0.15 * x + rng.normal(0, noise, n)


def additive(n: int, seed: int, features: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return uniform features, and Friedman's first function of them with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, features))
    mean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, mean + 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(0, 3, n)
