"""The figure and the table of docs/methods/bias_variance.md."""

from __future__ import annotations

import numpy as np
from data import TEXTBOOK
from style import BLUE, GREEN, GREY, ORANGE, plt, save

from stagewise import (
    BaggingRegressor,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from stagewise.datasets import make_friedman1
from stagewise.inspection import BiasVariance, bias_variance

__all__ = ["METHODS", "bias_variance_figure", "line", "measure"]

ROUNDS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300)


def friedman(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return make_friedman1(200, noise=1.0, seed=seed)


def truth(X: np.ndarray) -> np.ndarray:
    mean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return mean + 10 * X[:, 3] + 5 * X[:, 4]


BOOSTED_STUMPS = GradientBoostingRegressor(
    n_estimators=300, max_depth=1, learning_rate=0.1, min_samples_leaf=1, **TEXTBOOK
)
METHODS = {
    "stump": DecisionTreeRegressor(max_depth=1),
    "bagged stumps": BaggingRegressor(DecisionTreeRegressor(max_depth=1), n_estimators=50),
    "boosted stumps": BOOSTED_STUMPS,
    "large tree": DecisionTreeRegressor(),
    "bagged trees": BaggingRegressor(DecisionTreeRegressor(), n_estimators=50),
    "random forest": RandomForestRegressor(n_estimators=50, max_features=1 / 3),
}


def measure(name: str) -> BiasVariance:
    """Return the parts of the error of a method, with 50 training sets of 200 rows."""
    return bias_variance(METHODS[name], friedman, truth=truth)


def line(name: str, parts: BiasVariance) -> str:
    """Return a line of the table of the page."""
    cells = " | ".join(f"{value:.2f}" for value in parts.table()[0].values())
    return f"| {name} | {cells} |"


def bias_variance_figure() -> None:
    """Draw bias² and variance of six methods, and those of boosted stumps by rounds."""
    found = {name: measure(name) for name in METHODS}
    for name, parts in found.items():
        print("  " + line(name, parts))
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
    place = np.arange(len(found))[::-1]
    bias, variance, noise = (
        np.array([getattr(parts, name)[0] for parts in found.values()])
        for name in ("bias", "variance", "noise")
    )
    left.barh(place, bias, color=BLUE, label="bias²", height=0.65)
    left.barh(place, variance, left=bias, color=ORANGE, label="variance", height=0.65)
    left.barh(place, noise, left=bias + variance, color=GREY, label="noise", height=0.65)
    left.set_yticks(place, list(found))
    left.grid(visible=False, axis="y")
    left.set(xlabel="expected squared error")
    left.legend()
    by_rounds = bias_variance(BOOSTED_STUMPS, friedman, truth=truth, rounds=ROUNDS)
    for row in by_rounds.table():
        if row["rounds"] in (1, 10, 100, 300):
            print("  " + ", ".join(f"{name} {value:.2f}" for name, value in row.items()))
    right.plot(ROUNDS, by_rounds.bias, color=BLUE, lw=1.8, label="bias²")
    right.plot(ROUNDS, by_rounds.variance, color=ORANGE, lw=1.8, label="variance")
    right.plot(ROUNDS, by_rounds.error, color=GREEN, lw=1.8, label="error, with noise")
    right.set(xscale="log", xlabel="rounds of boosted stumps", ylabel="squared error")
    right.legend()
    save(fig, "bias_variance")
