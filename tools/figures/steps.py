"""Figures of gradient and Newton steps: error curves, and f and sign f for three learning rates."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from style import BLUE, GREEN, ORANGE, plt, save

from stagewise import StagewiseClassifier
from stagewise.learners import HistogramTree

__all__ = [
    "errors",
    "fit",
    "gradient_rates",
    "newton_errors",
    "newton_rates",
    "noisy_waves",
    "sign_changes",
    "surface",
]

TREE = HistogramTree(max_leaf_nodes=4, min_samples_leaf=1, l2=0.0)
METHODS = {
    "gradient": ({"response": "gradient", "step": "newton"}, BLUE),
    "gradient, region optimum": ({"response": "gradient", "step": "region_optimum"}, GREEN),
    "Newton": ({"response": "newton", "step": "newton"}, ORANGE),
}
TABLES = 10
SIDE = np.linspace(-2, 2, 201)
RATES = {"1": 1.0, "1/10": 0.1, "1/100": 0.01}


def noisy_waves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two uniform numbers; the log odds of class 1 are 4 sin(2 x_0) - 3 x_1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    p = 1 / (1 + np.exp(3 * X[:, 1] - 4 * np.sin(2 * X[:, 0])))
    return X, (rng.random(n) < p).astype(int)


def fit(method: str, rate: float, X: np.ndarray, y: np.ndarray) -> StagewiseClassifier:
    """Return a model of 100 trees with four leaves."""
    settings, _ = METHODS[method]
    return StagewiseClassifier(
        "log_loss", learner=TREE, learning_rate=rate, n_estimators=100, **settings
    ).fit(X, y)


def errors(method: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and test errors by rounds with ν = 1, means of ten tables."""
    train, test = np.zeros(100), np.zeros(100)
    for seed in range(TABLES):
        (X, y), (X_test, y_test) = noisy_waves(300, seed), noisy_waves(3_000, 100 + seed)
        model = fit(method, 1.0, X, y)
        train += [np.mean(p != y) / TABLES for p in model.staged_predict(X)]
        test += [np.mean(p != y_test) / TABLES for p in model.staged_predict(X_test)]
    return train, test


def newton_errors() -> None:
    """Draw the training and test errors of gradient and Newton steps with ν = 1."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6))
    for name, (_, colour) in METHODS.items():
        train, test = errors(name)
        best = int(np.argmin(test))
        print(
            f"  {name}: training error after 10 rounds {train[9]:.3f}, after 100 {train[-1]:.3f}; "
            f"least test error {test[best]:.3f} at {best + 1}, after 100 {test[-1]:.3f}"
        )
        left.plot(range(1, 101), train, color=colour, lw=1.8, label=name)
        right.plot(range(1, 101), test, color=colour, lw=1.8, label=name)
        right.plot(best + 1, test[best], "o", color=colour, ms=5)
    left.set(xlabel="rounds", ylabel="training error", xscale="log", ylim=(0, None))
    right.set(xlabel="rounds", ylabel="test error", xscale="log")
    left.legend()
    save(fig, "newton_errors")


def sign_changes(f: np.ndarray) -> float:
    """Return how often the sign of f differs between neighbours of a grid, in percent."""
    return 100 * float(np.mean(np.diff(f > 0, axis=0)) + np.mean(np.diff(f > 0, axis=1))) / 2


def surface(model: StagewiseClassifier) -> np.ndarray:
    """Return f on a grid of the plane."""
    grid = np.stack(np.meshgrid(SIDE, SIDE), -1).reshape(-1, 2)
    return model.decision_function(grid).reshape(len(SIDE), len(SIDE))


def rates(method: str, name: str) -> None:
    """Draw f and sign f after 100 rounds, for three learning rates."""
    (X, y), (X_test, y_test) = noisy_waves(300, 0), noisy_waves(3_000, 100)
    fig, axes = plt.subplots(2, 3, figsize=(8.2, 5.7), sharex=True, sharey=True)
    colours = mpl.colors.ListedColormap(["#8fb6df", "#f0c48c"])
    for (label, rate), (above, below) in zip(RATES.items(), axes.T, strict=True):
        model = fit(method, rate, X, y)
        f = surface(model)
        limit = np.abs(f).max()
        above.pcolormesh(SIDE, SIDE, f, cmap="PuOr_r", vmin=-limit, vmax=limit)
        below.pcolormesh(SIDE, SIDE, np.sign(f), cmap=colours)
        below.scatter(*X.T, c=np.where(y == 1, "#b05f00", "#1f4f86"), s=3)
        error = np.mean(model.predict(X_test) != y_test)
        print(f"  ν = {label}: test error {error:.3f}, changes of the sign {sign_changes(f):.2f} %")
        above.set_title(f"ν = {label}, |f| ≤ {limit:.2g}")
        for ax in (above, below):
            ax.set_xticks([])
            ax.set_yticks([])
            ax.grid(visible=False)
            ax.set_aspect("equal")
    axes[0, 0].set_ylabel("f(x)")
    axes[1, 0].set_ylabel("sign f(x)")
    save(fig, name)


def newton_rates() -> None:
    """Draw f and sign f of Newton steps."""
    rates("Newton", "newton_rates")


def gradient_rates() -> None:
    """Draw f and sign f of gradient steps."""
    rates("gradient", "gradient_rates")
