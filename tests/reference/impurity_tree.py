"""Splits of forests by brute force: every cut of every feature is tried.

The gain of a split is the decrease of the impurity times the weight, the mean over the targets; the
squared error is halved. A cut of a feature with a monotone direction is valid if the means of both
sides are in order and within the bounds of the node. This module does not call the core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Bounds", "Problem", "best_gain", "gain_of", "lanes", "mean_value"]

Vector = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Bounds = tuple[float, float]


@dataclass
class Problem:
    """Rows with numbers (n, k) or classes (n, k), and the rules of a tree."""

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    weight: Vector
    criterion: str
    categorical: Sequence[int] = ()
    least: float = 0.0
    monotone: Sequence[int] = ()

    @property
    def of_classes(self) -> bool:
        return self.criterion in ("gini", "entropy", "misclassification")


def lanes(problem: Problem) -> npt.NDArray[np.float64]:
    """Return the numbers of each row that nodes average: targets, or indicators of classes."""
    if not problem.of_classes:
        return problem.y
    columns = []
    for k in range(problem.y.shape[1]):
        columns += [problem.y[:, k] == c for c in np.unique(problem.y[:, k])]
    return np.column_stack(columns).astype(float)


def cost(problem: Problem, rows: Mask) -> float:
    """Return the weight of a node times the mean impurity of its targets."""
    w, total = problem.weight[rows], problem.weight[rows].sum()
    each = []
    for k in range(problem.y.shape[1]):
        y = problem.y[rows, k]
        if problem.of_classes:
            share = np.array([w[y == c].sum() for c in np.unique(y)]) / total
            share = share[share > 0]
            each.append(
                {
                    "gini": 1 - (share**2).sum(),
                    "entropy": -(share * np.log(share)).sum(),
                    "misclassification": 1 - share.max(),
                }[problem.criterion]
            )
            continue
        mean = (w * y).sum() / total
        if problem.criterion == "poisson":
            logs = np.log(np.where(y > 0, y / mean, 1.0)) if mean > 0 else np.zeros_like(y)
            each.append((w * y * logs).sum() / total)
        else:
            each.append(0.5 * (w * (y - mean) ** 2).sum() / total)
    return float(total * np.mean(each))


def mean_value(problem: Problem, rows: Mask) -> float:
    """Return the value of a node with one target: the mean, or p_1 - p_0."""
    w = problem.weight[rows]
    y = problem.y[rows, 0] * (2 if problem.of_classes else 1) - (1 if problem.of_classes else 0)
    return float((w * y).sum() / w.sum())


def gain_of(problem: Problem, rows: Mask, left: Mask, feature: int, bounds: Bounds) -> float:
    """Return the gain of a cut; -inf if it is not valid."""
    sides = (rows & left, rows & ~left)
    weights = [problem.weight[side].sum() for side in sides]
    if min(weights) <= 0 or min(weights) < problem.least - 1e-9:
        return -np.inf
    if problem.criterion == "poisson":
        sums = [(problem.weight[s, None] * problem.y[s]).sum(axis=0).min() for s in sides]
        if min(sums) <= 0:
            return -np.inf
    direction = problem.monotone[feature] if len(problem.monotone) else 0
    if direction:
        a, b = (mean_value(problem, side) for side in sides)
        slack = 1e-9
        if (b - a) * direction < -slack or min(a, b) < bounds[0] - slack:
            return -np.inf
        if max(a, b) > bounds[1] + slack:
            return -np.inf
    return cost(problem, rows) - sum(cost(problem, side) for side in sides)


def cuts(problem: Problem, rows: Mask, feature: int) -> Iterator[Mask]:
    """Yield the rows that go left at every cut, with missing values on either side."""
    x, counted = problem.X[:, feature], rows & (problem.weight > 0)
    present = np.unique(x[counted & ~np.isnan(x)])
    orders = [present]
    if feature in problem.categorical:
        orders = []
        for lane in lanes(problem).T:
            means = []
            for category in present:
                own = counted & (x == category)
                means.append((problem.weight[own] * lane[own]).sum() / problem.weight[own].sum())
            orders.append(present[np.argsort(means, kind="stable")])
    for order in orders:
        for n in range(1, len(order) + 1):
            left = np.isin(x, order[:n])
            yield left
            if np.isnan(x[counted]).any():
                yield left | np.isnan(x)


def best_gain(problem: Problem, rows: Mask, bounds: Bounds) -> float:
    """Return the largest gain of a split of a node; -inf if there is none."""
    return max(
        (
            gain_of(problem, rows, left, feature, bounds)
            for feature in range(problem.X.shape[1])
            for left in cuts(problem, rows, feature)
        ),
        default=-np.inf,
    )
