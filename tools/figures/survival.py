"""The figure of docs/survival.md."""

from __future__ import annotations

import numpy as np
from style import plt, save

from stagewise import GradientBoostingSurvival
from stagewise.inspection import survival_quality


def survival() -> None:
    """Draw the quality of a Cox model of simulated times."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 6))
    hazard = np.exp(X[:, 0] + 0.5 * X[:, 1] ** 2 - X[:, 2] * (X[:, 3] > 0))
    time, end = rng.weibull(1.3, 4_000) * 6 / hazard, rng.uniform(0, 12, 4_000)
    y = np.minimum(time, end), time <= end
    model = GradientBoostingSurvival().fit(X[:2_000], tuple(part[:2_000] for part in y))
    found = survival_quality(model, X[2_000:], tuple(part[2_000:] for part in y))
    fig, axes = plt.subplots(1, 3, figsize=(12, 3.4))
    found.plot(axes=axes)
    save(fig, "survival")
    print(f"survival: C {found.c_index:.3f}, integrated Brier {found.integrated_brier:.3f}")
