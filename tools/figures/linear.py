"""Figures of the linear models: intervals, sets of features, and paths of coefficients."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import lars_path
from style import BLUE, GREEN, GREY, ORANGE, RED, plt, save

from stagewise import LinearRegression, StagewiseLinearRegressor, StepwiseRegressor

__all__ = ["best_subset", "linear_model", "stagewise_linear", "stepwise"]


def linear_model() -> None:
    """Draw both intervals around a line, and residuals of a line and of a curve."""
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0, 10, 40))
    y = 1.0 + 0.5 * x + rng.normal(0, 1, 40)
    curve = 1.0 + 0.5 * x + 0.12 * (x - 5) ** 2 + rng.normal(0, 0.5, 40)
    model = LinearRegression().fit(x[:, None], y)
    bent = LinearRegression().fit(x[:, None], curve)
    grid = np.linspace(-2, 12, 200)[:, None]
    fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.2), width_ratios=(1.5, 1, 1))
    left, middle, right = axes
    for kind, alpha in (("prediction", 0.15), ("mean", 0.35)):
        low, high = model.predict_interval(grid, kind=kind).T
        left.fill_between(grid[:, 0], low, high, color=BLUE, alpha=alpha, lw=0)
    left.plot(grid[:, 0], model.predict(grid), color=BLUE)
    left.plot(x, y, ".", color="black", ms=4)
    left.set(xlabel="x", ylabel="y")
    for ax, fit, target, title in (
        (middle, model, y, "a line"),
        (right, bent, curve, "a curve"),
    ):
        predicted = fit.predict(x[:, None])
        ax.axhline(0, color=GREY, lw=1)
        ax.plot(predicted, target - predicted, ".", color=BLUE, ms=4)
        ax.set(xlabel="predicted", title=f"residuals: {title}")
    low, high = model.predict_interval(x[:, None]).T
    print(f"  {np.mean((y >= low) & (y <= high)):.2f} of the rows are in their intervals")
    save(fig, "linear_model")


def stepwise() -> None:
    """Draw BIC by step, forward and backward, and of the best subset of each size."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    fig, axes = plt.subplots(1, 3, figsize=(10.4, 3.2), sharey=True)
    for ax, direction in zip(axes, ("forward", "backward", "best_subset"), strict=True):
        model = StepwiseRegressor(direction=direction, criterion="bic").fit(X, y)
        model.plot_path(axes=ax)
        ax.set_title(direction)
        print(f"  {direction}: {model.selected_features_}, BIC {model.bic_:.1f}")
    for ax in axes[1:]:
        ax.set_ylabel("")
    save(fig, "stepwise")


def best_subset() -> None:
    """Draw the features of the best subset of each size, and the RSS beside forward selection."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    best = StepwiseRegressor(direction="best_subset").fit(X, y).path_
    forward = StepwiseRegressor(n_features_to_select=X.shape[1]).fit(X, y).path_
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.3))
    names = list(X.columns)
    member = np.array([[name in chosen for chosen in best["features"][1:]] for name in names])
    left.pcolormesh(
        np.arange(0.5, len(names) + 1), np.arange(len(names) + 1), member, cmap="Blues", vmax=1.4,
        edgecolors="white", linewidth=1.5,
    )  # fmt: skip
    left.set_yticks(np.arange(len(names)) + 0.5, names)
    left.set_xticks(range(1, len(names) + 1))
    left.invert_yaxis()
    left.grid(visible=False)
    left.set(xlabel="number of features", title="features of the best subset")
    right.plot(forward["n_features"], forward["rss"] / 1e6, "o--", color=ORANGE, ms=6, mfc="none")
    right.plot(best["n_features"], best["rss"] / 1e6, "o-", color=BLUE, ms=3.5)
    right.legend(["forward selection", "best subset"])
    right.set(xlabel="number of features", ylabel="RSS / 10⁶", title="until the RSS is flat")
    right.set(ylim=(1.2, 1.45), xlim=(1.5, 10.5))
    for size in range(1, len(names) + 1):
        ratio = best["rss"][size] / forward["rss"][size]
        print(f"  {size}: RSS {best['rss'][size]:.0f}, {1 - ratio:.2%} less than forward")
    flat = StepwiseRegressor(criterion="rss", tol=0.01).fit(X, y)
    print(f"  until flat: {flat.selected_features_}")
    save(fig, "best_subset")


def stagewise_linear() -> None:
    """Draw the paths of the lasso, of small steps and of full steps, in standard deviations."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    Z, spread = (X - X.mean()) / X.std(ddof=0), y.std(ddof=0)
    _, _, lasso = lars_path(Z.to_numpy(), (y - y.mean()).to_numpy() / spread, method="lasso")
    small = StagewiseLinearRegressor(step_size=0.02, n_estimators=5000).fit(Z, y)
    full = StagewiseLinearRegressor(n_estimators=200).fit(Z, y)
    paths = {
        "lasso": lasso.T,
        "steps of 0.02": small.coef_path_ / spread,
        "full steps": full.coef_path_ / spread,
    }
    fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.4), sharey=True)
    colours = [BLUE, ORANGE, GREEN, RED, "#7a5aa6", "#8a6d3b", GREY, "#2aa198", "black", "#d78fb9"]
    for ax, (title, path) in zip(axes, paths.items(), strict=True):
        length = np.abs(path).sum(axis=1)
        kept = length <= 1.8
        for j, colour in enumerate(colours):
            ax.plot(length[kept], path[kept, j], color=colour, lw=1.2, label=X.columns[j])
        ax.set(xlabel="Σ |β|", title=title, xlim=(0, 1.8))
        print(f"  {title}: {len(path) - 1} steps")
    axes[0].set_ylabel("coefficient, standardised")
    axes[2].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    save(fig, "stagewise_linear")
