"""Figures of docs/intervals.md and docs/calibration.md."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import ListedColormap
from style import BLUE, GREEN, GREY, ORANGE, plt, save

from stagewise import Conformal, GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.inspection import calibration as calibration_of
from stagewise.inspection import coverage


def _noisy(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, size=n)
    return x[:, np.newaxis], np.sin(x) + (0.1 + 0.08 * x) * rng.normal(size=n)


def prediction_intervals() -> None:
    """Draw intervals of residuals and of conformalised quantiles, and their coverage."""
    X, y = _noisy(1000, 0)
    grid = np.linspace(0.05, 9.95, 400)[:, np.newaxis]
    rules = {"n_estimators": 60, "max_leaf_nodes": 8, "min_samples_leaf": 30}
    models = {
        "absolute residuals": GradientBoostingRegressor(conformal="cv", **rules),
        "conformalised quantiles": GradientBoostingRegressor(
            conformal="cv", loss="quantile", quantile=[0.05, 0.5, 0.95], **rules
        ),
    }
    fig, axes = plt.subplots(1, 3, figsize=(10.2, 3.1))
    X_new, y_new = _noisy(5000, 1)
    for ax, (title, model), colour in zip(axes, models.items(), (BLUE, ORANGE), strict=False):
        bounds = model.fit(X, y).predict_interval(grid)
        ax.plot(X[:400, 0], y[:400], ".", color=GREY, ms=3, alpha=0.6)
        ax.fill_between(grid[:, 0], *bounds.T, color=colour, alpha=0.35, lw=0)
        ax.set(xlabel="x", ylabel="y", title=title, ylim=(-4, 4))
        found = coverage(model, X_new, y_new, levels=np.arange(0.1, 1.0, 0.1))
        axes[2].plot(found.nominal, found.observed, "o-", color=colour, ms=4, label=title)
        nine = coverage(model, X_new, y_new, levels=[0.9])
        print(title, np.round([nine.observed[0], nine.size[0]], 3))
    axes[2].plot([0, 1], [0, 1], "--", color=GREY, lw=1)
    axes[2].set(xlabel="nominal coverage", ylabel="observed coverage", title="5,000 new rows")
    axes[2].legend(frameon=False)
    fig.tight_layout()
    save(fig, "prediction_intervals")


def calibrated_probabilities() -> None:
    """Draw the reliability of a model with class weights, before and after calibration."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 5))
    score = X[:, 0] + X[:, 1] * X[:, 2] - 2.5
    y = (rng.random(9000) < 1 / (1 + np.exp(-score))).astype(int)
    rules = {"n_estimators": 300, "early_stopping": "cv", "class_weight": "balanced"}
    fig, axes = plt.subplots(1, 2, figsize=(8.0, 3.4), sharey=True)
    for ax, kind, colour in zip(axes, (None, "beta"), (ORANGE, GREEN), strict=True):
        model = GradientBoostingClassifier(calibration=kind, **rules).fit(X[:4000], y[:4000])
        found = calibration_of(model, X[4000:], y[4000:])
        ax.plot([0, 1], [0, 1], "--", color=GREY, lw=1)
        ax.vlines(found.predicted, found.low, found.high, color=colour, lw=3, alpha=0.4)
        ax.plot(found.predicted, found.observed, "o-", color=colour, ms=4)
        title = "class_weight='balanced'" if kind is None else "and calibration='beta'"
        ax.set(xlabel="predicted probability", title=title)
        print(kind, round(found.error, 4))
    axes[0].set(ylabel="observed share")
    fig.tight_layout()
    save(fig, "calibrated_probabilities")


def _overlapping(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points in the plane of a frequent, a less frequent and a rare class."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, size=n, p=[0.62, 0.3, 0.08])
    centre = np.array([[-1.0, -0.6], [1.0, -0.6], [0.0, 1.0]])[y]
    return centre + rng.normal(0, 0.8, (n, 2)), y


def prediction_sets() -> None:
    """Draw the number of classes in the set of each point, and the coverage of each class."""
    (X, y), (X_new, y_new) = _overlapping(3000, 0), _overlapping(20_000, 1)
    side = np.linspace(-3.2, 3.2, 160)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    ways = {
        "one threshold": (Conformal(method="cv"), BLUE, "o-"),
        "per_class=True": (Conformal(method="cv", per_class=True), ORANGE, "s--"),
    }
    fig, axes = plt.subplots(1, 3, figsize=(10.6, 3.5), layout="constrained")
    shades = ListedColormap(["#f4f4f4", "#bcd4ee", "#5f97d3"])
    for ax, (name, (conformal, colour, line)) in zip(axes, ways.items(), strict=False):
        model = GradientBoostingClassifier(conformal=conformal, max_leaf_nodes=8).fit(X, y)
        size = model.predict_set(grid, coverage=0.9).sum(axis=1).reshape(160, 160)
        image = ax.pcolormesh(side, side, size, cmap=shades, vmin=0.5, vmax=3.5)
        for k, mark in enumerate(("k.", "ws", "k^")):
            style = {"ms": (3, 3, 4)[k], "mec": "black", "mew": 0.6}
            ax.plot(*X[:300][y[:300] == k].T, mark, label=f"class {k}", **style)
        sets = model.predict_set(X_new, coverage=0.9)
        own = sets[np.arange(len(y_new)), y_new]
        shares = [own.mean(), *(own[y_new == k].mean() for k in range(3))]
        print(f"  {name}: {np.round(shares, 3)}, {sets.sum(axis=1).mean():.2f} classes")
        ax.set(title=name, xlabel="first feature", xlim=(-3.2, 3.2), ylim=(-3.2, 3.2))
        ax.grid(visible=False)
        axes[2].plot(range(4), shares, line, color=colour, ms=5, label=name)
    axes[0].set(ylabel="second feature")
    axes[0].legend(loc="lower left", fontsize=7, frameon=True)
    fig.colorbar(image, ax=axes[1], ticks=(1, 2, 3), label="classes in the set")
    axes[2].axhline(0.9, color=GREY, ls=":", lw=1)
    labels = ["all", "class 0\n62 %", "class 1\n30 %", "class 2\n8 %"]
    axes[2].set(title="coverage of new rows", ylim=(0.5, 1.0), xticks=range(4))
    axes[2].set_xticklabels(labels)
    axes[2].legend(loc="lower left")
    save(fig, "prediction_sets")


FIGURES = (prediction_intervals, prediction_sets, calibrated_probabilities)
