"""Small samples of times until an event."""

from __future__ import annotations

import numpy as np

from stagewise.data.survival_target import SURVIVAL

__all__ = ["competing", "proportional", "random_target", "structured"]


def structured(time, event, entry=None, stratum=None, upper=None):
    """Return a target with the fields that losses read."""
    y = np.zeros(len(time), dtype=SURVIVAL)
    y["time"], y["event"] = time, event
    y["upper"] = np.where(y["event"] > 0, y["time"], np.inf) if upper is None else upper
    y["entry"] = -np.inf if entry is None else entry
    y["stratum"] = 0 if stratum is None else stratum
    return y


def random_target(rng, n=40, causes=1):
    """Return a target with ties, entry times and strata, whole weights and scores."""
    time = rng.integers(1, 12, n).astype(float)
    event = rng.integers(0, causes + 1, n)
    entry = np.where(rng.random(n) < 0.5, -np.inf, time - rng.integers(1, 6, n))
    y = structured(time, event, entry, rng.integers(0, 3, n))
    return y, rng.integers(0, 4, n).astype(float), rng.normal(size=n)


def proportional(n=300, seed=0):
    """Return rows with hazards e^(x_0 - x_1 / 2), a third of them censored."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    time = rng.exponential(np.exp(-X[:, 0] + 0.5 * X[:, 1]))
    end = rng.exponential(2.5, size=n)
    return X, np.minimum(time, end), time <= end


def competing(n=400, seed=0):
    """Return rows with two causes, whose hazards depend on the first and the second feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    times = rng.exponential(np.exp(-np.column_stack([X[:, 0], X[:, 1]])))
    end = rng.exponential(2.0, size=n)
    first = np.minimum(times.min(axis=1), end)
    return X, first, np.where(first == end, 0, times.argmin(axis=1) + 1)
