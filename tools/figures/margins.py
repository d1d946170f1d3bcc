"""The figure of docs/methods/margins.md."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from style import BLUE, ORANGE, plt, save

from stagewise import AdaBoostClassifier
from stagewise.datasets import make_nested_spheres
from stagewise.inspection import Margins, ada_boost_path, margins

__all__ = ["ada_boost_path_figure", "line", "margins_figure", "measure"]

Vector = npt.NDArray[np.float64]


def measure() -> tuple[Vector, Vector, Margins]:
    """Return training errors, test errors and margins of boosted trees of eight leaves.

    The margins are those after 5 rounds, when the training error is 0 for the first time, and after
    100 and 500 rounds.
    """
    (X, y), (X_test, y_test) = make_nested_spheres(500), make_nested_spheres(5_000, seed=1)
    model = AdaBoostClassifier(
        n_estimators=500, max_leaf_nodes=8, max_depth=None, criterion="gini"
    ).fit(X, y)
    train = np.array([np.mean(p != y) for p in model.staged_predict(X)])
    test = np.array([np.mean(p != y_test) for p in model.staged_predict(X_test)])
    first = int(np.argmin(train)) + 1
    return train, test, margins(model, X, y, rounds=[5, first, 100, 500])


def line(row: dict[str, Any]) -> str:
    """Return a line of the table of the page."""
    rounds, *shares = row.values()
    return f"| {rounds} | " + " | ".join(f"{share:.3f}" for share in shares) + " |"


def margins_figure() -> None:
    """Draw the errors by rounds, and the distributions of the margins."""
    train, test, found = measure()
    first = found.rounds[1]
    print(f"  test error {test[first - 1]:.3f} after {first} rounds, {test[-1]:.3f} after 500")
    for row in found.table():
        print("  " + line(row))
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6))
    rounds = range(1, 501)
    left.plot(rounds, test, color=ORANGE, lw=1.8, label="test error")
    left.plot(rounds, train, color=BLUE, lw=1.8, label="training error")
    left.axvline(first, color="black", lw=0.8, ls=":")
    left.text(first * 1.1, 0.3, f"training error 0\nafter {first} rounds", va="center")
    left.set(xscale="log", xlabel="rounds", ylabel="error rate", ylim=(-0.01, 0.45))
    left.legend()
    found.plot(right)
    save(fig, "margins")


def ada_boost_path_figure() -> None:
    """Draw the weighted errors of the trees, and the training error below its bound."""
    X, y = make_nested_spheres(500)
    model = AdaBoostClassifier(n_estimators=200).fit(X, y)
    fig, axes = plt.subplots(1, 2, figsize=(9.6, 3.4))
    path = ada_boost_path(model, X, y)
    path.plot(axes)
    last = path.table()[-1]
    print("  " + ", ".join(f"{name} {value:.3g}" for name, value in last.items()))
    save(fig, "ada_boost_path")
