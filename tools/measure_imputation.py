"""Missing values: learned sides against imputation. Prints the table of docs/data.md.

tests/estimators/test_imputation.py compares both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from stagewise import DecisionTreeRegressor, GradientBoostingRegressor, RandomForestRegressor
from stagewise.datasets import make_friedman1

__all__ = ["MECHANISMS", "MODELS", "measure", "table_row"]

Rng = np.random.Generator


def at_random(X: np.ndarray, y: np.ndarray, rng: Rng) -> np.ndarray:
    """Return which values are missing: 30 %, independent of everything."""
    return rng.random(X.shape) < 0.3


def large_values(X: np.ndarray, y: np.ndarray, rng: Rng) -> np.ndarray:
    """Return which values are missing: 60 % of those above the median."""
    return (X > 0.5) & (rng.random(X.shape) < 0.6)


def large_targets(X: np.ndarray, y: np.ndarray, rng: Rng) -> np.ndarray:
    """Return which values are missing: 60 % in the rows with y above its median."""
    return (y > np.median(y))[:, np.newaxis] & (rng.random(X.shape) < 0.6)


MECHANISMS: dict[str, Callable[[np.ndarray, np.ndarray, Rng], np.ndarray]] = {
    "at random": at_random,
    "large values": large_values,
    "rows with large y": large_targets,
}
"""Which values are missing, by name."""


def forest() -> Any:
    return RandomForestRegressor(n_estimators=100)


def boosting() -> Any:
    return GradientBoostingRegressor(n_estimators=200, max_leaf_nodes=6)


def single_tree(strategy: str) -> Any:
    return DecisionTreeRegressor(min_samples_leaf=10, missing_strategy=strategy)


MODELS: dict[str, Callable[[], Any]] = {
    "tree, learned": lambda: single_tree("learned"),
    "tree, mean": lambda: single_tree("mean"),
    "tree, probability": lambda: single_tree("probability"),
    "forest, learned": forest,
    "forest, mean": lambda: make_pipeline(SimpleImputer(), forest()),
    "boosting, learned": boosting,
    "boosting, mean": lambda: make_pipeline(SimpleImputer(), boosting()),
}
"""The models of the comparison, by name."""


def measure(mechanism: str, n_draws: int = 3) -> list[float]:
    """Return the squared error of 4,000 test rows for each model, means over draws."""
    errors = np.zeros((n_draws, len(MODELS)))
    for draw in range(n_draws):
        X, y = make_friedman1(5_000, seed=draw)
        X = np.where(MECHANISMS[mechanism](X, y, np.random.default_rng(100 + draw)), np.nan, X)
        for place, model in enumerate(MODELS.values()):
            predicted = model().fit(X[:1_000], y[:1_000]).predict(X[1_000:])
            errors[draw, place] = np.mean((predicted - y[1_000:]) ** 2)
    return errors.mean(axis=0).tolist()


def table_row(mechanism: str, errors: list[float]) -> str:
    """Return a row of the table of the page."""
    return f"| {mechanism} | {' | '.join(f'{error:.1f}' for error in errors)} |"


if __name__ == "__main__":
    print(f"| missing | {' | '.join(MODELS)} |")
    for name in MECHANISMS:
        print(table_row(name, measure(name)))
