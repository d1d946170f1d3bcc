"""The figures of the guides by task."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from style import BLUE, GREEN, GREY, ORANGE, RED, plt, save

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.inspection import importance, partial_dependence, thresholds
from stagewise.losses import Quantile


def threshold_costs() -> None:
    """Draw precision and recall, and the cost of each threshold, of rare positive rows."""
    X, y = make_classification(4_000, weights=[0.95], flip_y=0.02, random_state=0)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    model = GradientBoostingClassifier(n_estimators=100).fit(X, y)
    found = thresholds(model, X_test, y_test)
    fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.0))
    found.precision_recall().plot(left)
    for cost, colour in ((1, GREY), (10, BLUE), (50, ORANGE)):
        curve = found.cost(false_positive=1, false_negative=cost)
        lowest = curve.cost.min()
        right.plot(curve.threshold, curve.cost / lowest, color=colour, label=f"missed row: {cost}")
        right.plot(curve.best_threshold, 1, "o", color=colour)
    right.axvline(0.5, color=RED, linewidth=1, linestyle=":")
    right.set(xlim=(0, 1), ylim=(0.8, 4), xlabel="threshold", ylabel="cost ÷ smallest cost")
    right.legend(title="cost of a false alarm: 1")
    save(fig, "threshold_costs")


def intervals() -> None:
    """Draw the mean and two quantiles of rows whose noise grows."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, 1_500))
    y = 3 * np.sin(x) + x + rng.normal(0, 0.3 + 0.25 * x)
    X, grid = x[:, np.newaxis], np.linspace(0, 10, 400)[:, np.newaxis]
    mean = GradientBoostingRegressor().fit(X, y)
    low, high = (
        GradientBoostingRegressor(
            loss=Quantile(quantile=q), n_estimators=100, min_samples_leaf=60, max_leaf_nodes=6
        ).fit(X, y)
        for q in (0.1, 0.9)
    )
    fig, ax = plt.subplots(figsize=(6.4, 3.0))
    ax.plot(x, y, ".", color=GREY, markersize=2, label="rows")
    limits = low.predict(grid), high.predict(grid)
    ax.fill_between(grid[:, 0], *limits, color=BLUE, alpha=0.25, label="10 % to 90 % quantile")
    ax.plot(grid[:, 0], mean.predict(grid), color=BLUE, label="mean")
    ax.set(xlabel="feature", ylabel="y")
    ax.legend(loc="upper left")
    save(fig, "intervals")


def columns() -> None:
    """Draw the dependence on a category with missing values, and on a date."""
    rng = np.random.default_rng(0)
    n = 4_000
    X = pd.DataFrame(
        {
            "area": rng.normal(80, 20, n),
            "district": pd.Categorical(rng.choice(["north", "port", "centre", "lake"], n)),
            "sold": rng.choice(pd.date_range("2018-01-01", "2024-12-31"), n),
        }
    )
    level = X["district"].map({"north": 150, "port": 200, "centre": 280, "lake": 320})
    trend = (X["sold"].dt.year - 2018) * 10 + 30 * (X["sold"].dt.year == 2022)
    y = 2 * (X["area"] - 80) + level.astype(float) + trend + rng.normal(0, 20, n)
    X.loc[rng.random(n) < 0.1, "area"] = np.nan
    model = GradientBoostingRegressor(n_estimators=200).fit(X, y)
    fig, axes = plt.subplots(1, 3, figsize=(9.4, 2.8))
    for ax, name in zip(axes, X.columns, strict=True):
        partial_dependence(model, X, name).plot(ax)
        ax.set_ylabel("price" if name == "area" else "")
    axes[2].tick_params(axis="x", labelrotation=25)
    save(fig, "columns")


def tuning() -> None:
    """Draw the held-out loss by rounds of three learning rates."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 10))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + rng.normal(0, 0.7, 3_000)
    fig, ax = plt.subplots(figsize=(6.4, 3.0))
    for rate, colour in ((0.3, RED), (0.1, ORANGE), (0.03, GREEN)):
        model = GradientBoostingRegressor(
            n_estimators=400, learning_rate=rate, early_stopping=False
        ).fit(X[:2_000], y[:2_000])
        errors = [np.sqrt(np.mean((p - y[2_000:]) ** 2)) for p in model.staged_predict(X[2_000:])]
        ax.plot(errors, color=colour, label=f"learning_rate={rate}")
        ax.plot(np.argmin(errors), min(errors), "o", color=colour)
    ax.set(xlabel="round", ylabel="RMSE of held-out rows", ylim=(0.7, 1.25))
    ax.legend()
    save(fig, "tuning")


def tutorial() -> None:
    """Draw the three plots of docs/tutorial.md, from the code of the page."""
    page = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE):
        if ".plot()" in block:
            break
        exec(block, names)
    model, test = names["model"], (names["X_test"], names["y_test"])
    fig, axes = plt.subplots(1, 3, figsize=(9.4, 2.8))
    importance(model).plot(axes[0])
    thresholds(model, *test, pos_label="high").roc().plot(axes[1])
    partial_dependence(model, names["X"], "age", response="mean").plot(axes[2])
    save(fig, "tutorial")


if __name__ == "__main__":
    for figure in (threshold_costs, intervals, columns, tuning, tutorial):
        figure()
