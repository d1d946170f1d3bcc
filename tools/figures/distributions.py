"""The figure of docs/quantiles.md and docs/distributions.md: fans of a simulated table."""

from __future__ import annotations

import numpy as np
from style import BLUE, GREY, ORANGE, plt, save

from stagewise import GradientBoostingRegressor

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]


def distributions() -> None:
    """Draw five quantiles of one model, five separate models, and a normal distribution."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, 500))
    y = np.sin(x) + (0.1 + 0.09 * x) * rng.normal(size=500)
    X, grid = x[:, np.newaxis], np.linspace(0, 10, 500)[:, np.newaxis]
    own = {"n_estimators": 100, "min_samples_leaf": 20}
    one = GradientBoostingRegressor(loss="quantile", quantile=LEVELS, **own).fit(X, y)
    separate = np.column_stack(
        [
            GradientBoostingRegressor(loss="quantile", quantile=q, **own).fit(X, y).predict(grid)
            for q in LEVELS
        ]
    )
    normal = GradientBoostingRegressor(loss="normal", **own).fit(X, y)
    fans = {
        "five models of one quantile": separate,
        "one model of five quantiles": one.predict(grid),
        "normal distributions": normal.predict_dist(grid).quantile(LEVELS),
    }
    fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.2), sharey=True)
    for axis, (title, levels) in zip(axes, fans.items(), strict=True):
        axis.plot(x, y, ".", color=GREY, ms=2, alpha=0.5)
        axis.fill_between(grid[:, 0], levels[:, 0], levels[:, 4], color=BLUE, alpha=0.2, lw=0)
        axis.fill_between(grid[:, 0], levels[:, 1], levels[:, 3], color=BLUE, alpha=0.3, lw=0)
        axis.plot(grid[:, 0], levels[:, 2], color=ORANGE, lw=1.5)
        crossing = int((np.diff(levels, axis=1) < 0).any(axis=1).sum())
        axis.set(xlabel="x", title=f"{title}\n{crossing} of 500 points cross")
    axes[0].set_ylabel("y")
    fig.tight_layout()
    save(fig, "distributions")
