"""Figures of docs/importance.md and docs/dependence.md, drawn by plot methods."""

from __future__ import annotations

import numpy as np
import pandas as pd
from style import plt, save

from stagewise import GradientBoostingRegressor
from stagewise.inspection import (
    accumulated_effects,
    importance,
    interactions,
    partial_dependence,
    permutation_importance,
)


def houses(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rents of flats: area and rooms are correlated, floor and balcony interact."""
    rng = np.random.default_rng(seed)
    area = rng.uniform(20, 120, n)
    table = pd.DataFrame(
        {
            "area": area,
            "rooms": np.round(area / 28 + rng.normal(size=n) / 2).clip(1),
            "floor": rng.integers(0, 12, n),
            "balcony": rng.uniform(0, 10, n),
            "district": pd.Categorical(rng.choice(["centre", "north", "port", "hill"], n)),
            "noise": rng.normal(size=n),
        }
    )
    place = table.district.map({"centre": 300, "north": 0, "port": 80, "hill": 180}).astype(float)
    rent = 8 * area + place + 4 * table.floor * table.balcony + 120 * np.sin(area / 12)
    return table, (rent + 60 * rng.normal(size=n)).to_numpy()


def inspection() -> None:
    """Draw importance, dependence, effects and interactions of one model."""
    (X, y), (held, y_held) = houses(4000, 0), houses(2000, 1)
    model = GradientBoostingRegressor(n_estimators=150, learning_rate=0.1).fit(X, y)

    fig, axes = plt.subplots(1, 2, figsize=(9, 2.8))
    importance(model).plot(axes[0])
    permutation_importance(model, held, y_held, loss="absolute_error").plot(axes[1])
    save(fig, "importance")

    fig, axes = plt.subplots(1, 3, figsize=(10, 3))
    partial_dependence(model, X, "area", n_ice=60).plot(axes[0])
    partial_dependence(model, X, "district").plot(axes[1])
    partial_dependence(model, X, ["floor", "balcony"], method="recursion").plot(axes[2])
    save(fig, "dependence")

    fig, axes = plt.subplots(1, 3, figsize=(10, 3))
    accumulated_effects(model, X, "area").plot(axes[0])
    accumulated_effects(model, X, ["floor", "balcony"], grid_resolution=10).plot(axes[1])
    found = interactions(model, X)
    found.plot(axes[2], top=6)
    save(fig, "effects")
    for row in found.table()[:3]:
        print(f"  H of {row['features']}: {row['h']:.2f}, strength {row['strength']:.2f}")
