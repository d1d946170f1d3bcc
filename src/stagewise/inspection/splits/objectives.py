"""What a split lowers: the second-order objective of a boosted tree, or an impurity.

Each row has a vector of numbers whose sums over a node determine its score. The gain of a split is
the score of its sides minus that of the node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.learners.histogram_tree import HistogramTree
from stagewise.trees.impurity import class_impurity

__all__ = ["GradientObjective", "ImpurityObjective", "Objective", "Order"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


def gain_by_chance(n_categories: int) -> float:
    """Return the gain of the best cut of so many sorted means beyond that of a number."""
    return max(0.0, 2 / np.pi * (n_categories - 1) - 6.0)


@dataclass(frozen=True, eq=False)
class Order:
    """An order of the categories of a node: a split cuts it, or takes one category out.

    Attributes
    ----------
    places : integer array
        Positions of the categories.
    alone : bool
        Whether each category is tried against the rest.
    l2, chance : float
        The number that is added to λ, and the number that is subtracted from the gain.
    """

    places: Indices
    alone: bool = False
    l2: float = 0.0
    chance: float = 0.0


@dataclass(frozen=True, eq=False)
class GradientObjective:
    """Σ_k G_k w_k + ½ (H_k + λ) w_k² + α |w_k|; the sums are (G_1, …, G_K, H_1, …, H_K).

    Parameters
    ----------
    row_sums : float64 array of shape (n_rows, 2 K)
        Gradients and hessians, times the weights.
    rules : HistogramTree
        λ, α, the largest step and the rules of categories, in the units of the gradients.
    dispersion : float
        Σ w g² / Σ w h over all rows of the tree, summed over the outputs.
    """

    row_sums: Matrix
    rules: HistogramTree
    dispersion: float
    gain_name: str = "gain"

    def _parts(self, sums: Matrix) -> tuple[Matrix, Matrix]:
        gradient, hessian = np.split(sums, 2, axis=-1)
        return gradient, hessian

    def _values(self, sums: Matrix, l2: float) -> Matrix:
        gradient, hessian = self._parts(sums)
        below = hessian + self.rules.l2 + l2
        shrunk = np.sign(gradient) * np.maximum(np.abs(gradient) - self.rules.l1, 0.0)
        value = np.divide(-shrunk, below, out=np.zeros_like(shrunk), where=below > 0)
        most = self.rules.max_step
        return np.asarray(np.clip(value, -most, most) if most > 0 else value)

    def score(self, sums: Matrix, l2: float = 0.0) -> Vector:
        """Return the scores of nodes."""
        return -self.cost(sums, self._values(sums, l2), l2)

    def cost(self, sums: Matrix, value: Matrix, l2: float = 0.0) -> Vector:
        """Return the objective of nodes with these values."""
        gradient, hessian = self._parts(sums)
        square = 0.5 * (hessian + self.rules.l2 + l2) * value**2
        each = gradient * value + square + self.rules.l1 * np.abs(value)
        return np.asarray(each.sum(axis=-1))

    def enough(self, sums: Matrix) -> npt.NDArray[np.bool_]:
        """Return whether a leaf may have these sums."""
        hessian = self._parts(sums)[1].mean(axis=-1)
        return np.asarray((hessian >= self.rules.min_hessian) & (hessian > 0))

    def orders(self, sums: Matrix) -> Iterator[Order]:
        """Return the orders of categories that are searched."""
        rules, n = self.rules, len(sums)
        gradient, hessian = self._parts(sums)
        below = hessian + rules.category_smoothing
        point = np.divide(gradient, below, out=np.zeros_like(gradient), where=below > 0)
        along, share = point[:, 0], 1.0
        if point.shape[1] > 1:
            along, share = _principal(point, hessian.mean(axis=1))
        places = np.argsort(along, kind="stable")
        if n <= rules.one_vs_rest:
            yield Order(places, alone=True)
            return
        chance = rules.category_chance * self.dispersion * share * gain_by_chance(n) / 2
        yield Order(places, l2=rules.category_l2, chance=chance)

    def columns(self, sums: Vector) -> dict[str, Any]:
        """Return the named numbers of a side."""
        gradient, hessian = (part.tolist() for part in self._parts(sums))
        if len(gradient) == 1:
            return {"G": gradient[0], "H": hessian[0]}
        return {"G": tuple(gradient), "H": tuple(hessian)}

    def value(self, sums: Vector) -> Vector:
        """Return the value of a leaf."""
        return self._values(sums, 0.0)


def _principal(points: Matrix, mass: Vector) -> tuple[Vector, float]:
    """Return points along their first principal direction, and its share of their variance."""
    centred = points - np.average(points, axis=0, weights=mass)
    variance, directions = np.linalg.eigh((centred * mass[:, np.newaxis]).T @ centred)
    direction = directions[:, -1]
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    total = float(variance.sum())
    return points @ direction, float(variance[-1]) / total if total > 0 else 1.0


@dataclass(frozen=True, eq=False)
class ImpurityObjective:
    """W times an impurity; the sums are the weights of the classes, or (W, Σ w y, Σ w y²).

    Parameters
    ----------
    row_sums : float64 array of shape (n_rows, n_classes), or (n_rows, 3)
        The sums of each row.
    criterion : {"gini", "entropy", "misclassification", "squared_error"}
        The impurity.
    rules : HistogramTree
        The rules of categories.
    dispersion : float or None
        Trees of numbers, and of two classes by the Gini index: the decrease by chance of a further
        category. None: the core counts classes, and categories have no other rules.
    """

    row_sums: Matrix
    criterion: str
    rules: HistogramTree
    dispersion: float | None = None
    gain_name: str = "decrease"

    def weight(self, sums: Matrix) -> Vector:
        """Return the weights of nodes."""
        return sums[..., 0] if self.criterion == "squared_error" else sums.sum(axis=-1)

    def impurity(self, sums: Matrix) -> Vector:
        """Return the impurity of nodes; 0 for a node without rows."""
        weight = np.asarray(self.weight(sums))
        below = weight[..., np.newaxis]
        share = np.divide(sums, below, out=np.zeros_like(sums), where=below > 0)
        if self.criterion == "squared_error":
            return np.asarray(np.maximum(share[..., 2] - share[..., 1] ** 2, 0.0))
        return class_impurity(share, self.criterion)

    def score(self, sums: Matrix, l2: float = 0.0) -> Vector:
        """Return the scores of nodes."""
        return np.asarray(-self.weight(sums) * self.impurity(sums))

    def enough(self, sums: Matrix) -> npt.NDArray[np.bool_]:
        """Return whether a leaf may have these sums."""
        return np.asarray(self.weight(sums) > 0)

    def orders(self, sums: Matrix) -> Iterator[Order]:
        """Return the orders of categories that are searched."""
        weight, n = self.weight(sums)[:, np.newaxis], len(sums)
        share = np.divide(sums, weight, out=np.zeros_like(sums), where=weight > 0)
        if self.dispersion is None:
            for own in share.T:
                yield Order(np.argsort(own, kind="stable"))
            return
        places = np.argsort(-share[:, 1], kind="stable")  # by the mean, or by the second class
        alone = n <= self.rules.one_vs_rest
        chance = self.rules.category_chance * self.dispersion * gain_by_chance(n)
        yield Order(places, alone=alone, chance=0.0 if alone else chance)

    def columns(self, sums: Vector) -> dict[str, Any]:
        """Return the named numbers of a side."""
        return {"weight": float(self.weight(sums)), "impurity": float(self.impurity(sums))}

    def value(self, sums: Vector) -> Vector:
        """Return the value of a leaf."""
        if self.criterion == "squared_error":
            return np.asarray([sums[1] / sums[0] if sums[0] > 0 else 0.0])
        return np.asarray(sums / max(float(sums.sum()), np.finfo(np.float64).tiny))


Objective = GradientObjective | ImpurityObjective
