"""Figures of docs/quantiles.md and docs/distributions.md."""

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


def families() -> None:
    """Draw densities of a row by two families, and their probability integral transforms."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, (7_000, 1))
    spread = 0.25 + 0.05 * x[:, 0]
    y = np.exp(1 + 0.1 * x[:, 0] + spread * rng.normal(size=7_000))
    fig, axes = plt.subplots(1, 3, figsize=(10.2, 3.3), width_ratios=(4, 3, 3))
    values = np.linspace(-3, 25, 400)
    row = np.array([[6.0]])
    for ax, (loss, colour, line) in zip(
        axes[1:], (("normal", ORANGE, "--"), ("log_normal", BLUE, "-")), strict=True
    ):
        model = GradientBoostingRegressor(loss=loss).fit(x[:2_000], y[:2_000])
        density = model.predict_dist(row).density(values[np.newaxis])[0]
        axes[0].plot(values, density, color=colour, ls=line, label=f'loss="{loss}"')
        found = model.predict_dist(x[2_000:])
        likelihood = found.log_density(y[2_000:]).mean()
        print(f"  {loss}: log-likelihood {likelihood:.3f}")
        u = found.cdf(y[2_000:])
        ax.hist(u, bins=20, range=(0, 1), density=True, color=colour, alpha=0.8)
        ax.axhline(1, color=GREY, ls=":")
        title = f"{loss}\nlog-likelihood {likelihood:.2f}"
        ax.set(xlabel="u = cdf(y), 5,000 new rows", title=title, ylim=(0, 2.6))
    positive = values[values > 0]
    z = (np.log(positive) - 1.6) / 0.55
    true = np.exp(-(z**2) / 2) / (0.55 * positive * np.sqrt(2 * np.pi))
    axes[0].plot(positive, true, color="black", ls=":", lw=2, label="true density")
    axes[0].set(xlabel="y", ylabel="density at x = 6", title="the distribution of one row")
    axes[0].legend()
    axes[1].set(ylabel="density of u")
    save(fig, "families")
