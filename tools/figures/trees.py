"""Figures of single trees and of pruning."""

from __future__ import annotations

from typing import Any

import numpy as np
from data import bananas
from matplotlib.colors import ListedColormap
from style import BLUE, GREEN, GREY, ORANGE, plt, save

from stagewise import (
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)

__all__ = ["decision_tree", "pruning"]


def decision_tree() -> None:
    """Draw one tree, the same pruned, a forest and a boosted model on two arcs."""
    (X, y), (X_test, y_test) = bananas(600, 0), bananas(10_000, 1)
    models: dict[str, Any] = {
        "one tree": DecisionTreeClassifier(),
        "pruned": DecisionTreeClassifier(pruning="cost_complexity"),
        "forest": RandomForestClassifier(n_estimators=300),
        "boosted": GradientBoostingClassifier(n_estimators=200, early_stopping="cv"),
    }
    across, up = np.meshgrid(np.linspace(-3.2, 3.2, 300), np.linspace(-3.2, 3.2, 300))
    grid = np.column_stack([across.ravel(), up.ravel()])
    fig, axes = plt.subplots(1, 4, figsize=(10, 2.9), sharey=True)
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        predicted = model.fit(X, y).predict_proba(grid)[:, 1].reshape(across.shape)
        error = np.mean(model.predict(X_test) != y_test)
        size = (
            f", {model.get_n_leaves()} leaves" if isinstance(model, DecisionTreeClassifier) else ""
        )
        print(f"  {name}: test error {error:.3f}{size}")
        ax.pcolormesh(across, up, predicted > 0.5, cmap=ListedColormap([BLUE, ORANGE]), alpha=0.3)
        for k, colour in ((0, BLUE), (1, ORANGE)):
            ax.plot(*X[y == k].T, ".", color=colour, ms=2)
        ax.set(title=f"{name}: {100 * error:.1f} %", xticks=[], yticks=[])
        ax.set(xlim=(-3.2, 3.2), ylim=(-2.6, 2.6))
        ax.grid(visible=False)
    save(fig, "decision_tree")


def pruning() -> None:
    """Draw the errors along the path of weakest links."""
    (X, y), (X_test, y_test) = bananas(600, 0), bananas(10_000, 1)
    chosen = DecisionTreeClassifier(pruning="cost_complexity").fit(X, y)
    rule = DecisionTreeClassifier(pruning="cost_complexity", one_standard_error=True).fit(X, y)
    path = chosen.pruning_path_
    trees = [DecisionTreeClassifier(pruning="cost_complexity", ccp_alpha=a) for a in path.alphas]
    test = [np.mean(tree.fit(X, y).predict(X_test) != y_test) for tree in trees]
    train = [np.mean(tree.predict(X) != y) for tree in trees]
    for name, tree in (("least error", chosen), ("one standard error", rule)):
        error = np.mean(tree.predict(X_test) != y_test)
        print(f"  {name}: {tree.get_n_leaves()} leaves, test error {error:.3f}")
    print(f"  whole: {path.n_leaves[0]} leaves, test error {test[0]:.3f}; best {min(test):.3f}")
    fig, ax = plt.subplots()
    ax.errorbar(
        path.n_leaves, path.errors, path.standard_errors, color=BLUE, elinewidth=0.6, label="folds"
    )
    ax.plot(path.n_leaves, test, color=ORANGE, label="test set")
    ax.plot(path.n_leaves, train, color=GREEN, label="training")
    ax.axvline(chosen.get_n_leaves(), color=GREY, ls="--")
    ax.text(chosen.get_n_leaves() * 1.05, 0.4, f"{chosen.get_n_leaves()} leaves", color=GREY)
    ax.set(xlabel="leaves", ylabel="error rate", xscale="log")
    ax.legend()
    save(fig, "pruning")
