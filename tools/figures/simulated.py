"""The figure of the simulated tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from style import BLUE, GREY, ORANGE, plt, save

from stagewise.datasets import (
    make_banana,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_moons,
    make_nested_spheres,
    make_sine,
    make_step,
    make_xor,
)

__all__ = ["simulated"]


def draw_classes(ax: Any, x: np.ndarray, up: np.ndarray, y: np.ndarray) -> None:
    """Draw the rows of both classes."""
    for k, (colour, marker) in enumerate(((BLUE, "D"), (ORANGE, "o"))):
        rows = y == k
        ax.plot(x[rows], up[rows], marker, color=colour, ms=2.4, mew=0, label=f"y = {k}")


def simulated() -> None:
    """Draw every simulated table: four with classes, two with a line, three with a surface."""
    fig, axes = plt.subplots(3, 3, figsize=(9, 7.8))
    (spheres, xor, banana), (moons, step, sine), friedman = axes
    X, y = make_nested_spheres(600)
    draw_classes(spheres, X[:, 0], np.linalg.norm(X, axis=1), y)
    spheres.set(title="make_nested_spheres", xlabel="x₀", ylabel="√(x₀² + … + x₉²)")
    for ax, make, noise in (
        (xor, make_xor, 0.05),
        (banana, make_banana, 1.0),
        (moons, make_moons, 0.2),
    ):
        X, y = make(600, noise=noise)
        draw_classes(ax, *X.T, y)
        ax.set(title=f"{make.__name__}, noise = {noise:g}", xlabel="x₀", ylabel="x₁")
    moons.legend(loc="upper right", markerscale=2.5, handletextpad=0.1, borderaxespad=0)
    for ax, make, mean in (
        (step, make_step, lambda x: (x > 0.5).astype(float)),
        (sine, make_sine, lambda x: np.sin(x) + 0.15 * x),
    ):
        X, y = make()
        grid = np.linspace(X.min(), X.max(), 1_000)
        ax.plot(X[:, 0], y, ".", color=GREY, ms=4, mew=0)
        ax.plot(grid, mean(grid), color=BLUE)
        ax.set(title=make.__name__, xlabel="x₀", ylabel="y")
    for ax, make, (a, b) in (
        (friedman[0], make_friedman1, (0, 1)),
        (friedman[1], make_friedman2, (1, 2)),
        (friedman[2], make_friedman3, (0, 2)),
    ):
        X, y = make(1_000)
        points = ax.scatter(X[:, a], X[:, b], c=y, s=7, cmap="viridis", linewidths=0)
        ax.set(title=make.__name__, xlabel=f"x{'₀₁₂₃'[a]}", ylabel=f"x{'₀₁₂₃'[b]}")
        fig.colorbar(points, ax=ax, label="y", pad=0.02)
    save(fig, "simulated")
