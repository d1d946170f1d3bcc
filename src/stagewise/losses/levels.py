"""Losses of several levels at once: quantiles or expectiles that never cross.

Each level has a score, and the predictions are the sorted scores of a row. So the order of the
levels cannot be violated, whatever the scores are. Each docstring: domain, link, formula, hessian.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers, weighted_quantile
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss, LateBoundLoss
from stagewise.losses.regression import Expectile
from stagewise.losses.scores import Matrix, Vector

__all__ = ["Expectiles", "LevelsBoundLoss", "LevelsLoss", "Quantiles", "read_levels"]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
SORTED = "sorted_levels"
"""The name of the levels in a model."""


def read_levels(levels: Any, name: str = "levels") -> tuple[float, ...]:
    """Return levels as floats, or raise ValueError unless they increase between 0 and 1."""
    if isinstance(levels, (str, bytes)) or not isinstance(levels, Iterable):
        raise ValueError(f"{name} must be a list of numbers between 0 and 1; got {levels!r}.")
    found = list(levels)
    for place, level in enumerate(found):
        if (
            isinstance(level, bool)
            or not isinstance(level, numbers.Real)
            or not 0.0 < float(level) < 1.0
        ):
            raise ValueError(
                f"{name} must be numbers between 0 and 1, both excluded; got {level!r} at "
                f"position {place}."
            )
    own = tuple(float(level) for level in found)
    if len(own) < 2:
        raise ValueError(
            f"{name} must have at least two numbers; got {found!r}. Pass one number for one level."
        )
    for place, (low, high) in enumerate(pairwise(own)):
        if not low < high:
            raise ValueError(
                f"{name} must increase, but {high:g} follows {low:g} at position {place + 1}. "
                "Sort them, and leave repeated ones out."
            )
    return own


class LevelsLoss(Loss):
    """The base class: the mean over the levels τ_1 < … < τ_K of a loss L_τ of one level.

    Domain: y any finite number. Link: sorting,

        Q_1 ≤ … ≤ Q_K = F_1, …, F_K in increasing order        L(y, F) = 1/K Σ_k L_τk(y, Q_k)

    The sorted estimates of quantiles are never worse than the unsorted ones (Chernozhukov,
    Fernández-Val & Galichon 2010). A tree is fitted to the derivatives of L_τk(y, F_k), and its
    leaves have the values of `stagewise.boosting.level_step`.

    Parameters
    ----------
    levels : sequence of float
        Increasing, between 0 and 1.
    """

    parameter_names = ("levels",)
    shares_trees = True
    learns = True
    needs_all_rows = "the values of a leaf are levels of its residuals; fit a model for each level"

    def __init__(self, levels: Iterable[float] = LEVELS) -> None:
        self.levels = read_levels(levels)
        self.n_outputs = len(self.levels)
        self.location: int = int(np.argmin(np.abs(np.array(self.levels) - 0.5)))
        self.offset_outputs = tuple(range(self.n_outputs))
        self.prediction_names = self.output_names = tuple(f"{level:g}" for level in self.levels)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the predictions of all levels, in increasing order."""
        return np.asfortranarray(np.sort(np.asarray(score, dtype=np.float64), axis=1))

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return the scores of predictions of all levels, which must increase."""
        levels = np.asarray(mean)
        if levels.ndim != 2 or levels.shape[1] != self.n_outputs:
            raise ValueError(
                f"init must predict {self.n_outputs} levels, shape (n_rows, {self.n_outputs}); got "
                f"{levels.shape}. Use a model with the same levels, or init='mean'."
            )
        return np.array(levels, dtype=np.float64, order="F")

    def row_losses(self, y: npt.NDArray[Any], level: float, predicted: Vector) -> Vector:
        """Return the loss of one level for every row."""
        raise NotImplementedError

    def level_derivatives(
        self, y: npt.NDArray[Any], level: float, predicted: Vector
    ) -> tuple[Vector, Vector]:
        """Return the derivative of the loss of one level, and a bound of the second one."""
        raise NotImplementedError

    def level_constant(self, y: npt.NDArray[Any], level: float, weight: Vector | None) -> float:
        """Return the best constant of one level."""
        raise NotImplementedError

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        predicted = self.mean(score)
        each = [self.row_losses(y, tau, predicted[:, k]) for k, tau in enumerate(self.levels)]
        return np.asarray(np.mean(each, axis=0))

    def tree_derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        """Return the derivatives of L_τk(y, F_k) with respect to F_k, for all levels."""
        gradient, hessian = np.empty_like(score, order="F"), np.empty_like(score, order="F")
        for k, tau in enumerate(self.levels):
            gradient[:, k], hessian[:, k] = self.level_derivatives(y, tau, score[:, k])
        return gradient, hessian

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        """Return ∂L/∂F and ∂²L/∂F²: each score is the prediction of one level."""
        rank = np.argsort(np.argsort(score, axis=1, kind="stable"), axis=1)
        slope, curve = LevelsLoss.tree_derivatives(self, y, self.mean(score))
        found = [np.take_along_axis(own, rank, axis=1) for own in (slope, curve)]
        return found[0] / self.n_outputs, found[1] / self.n_outputs

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        """Return constant scores: the quantiles or expectiles of y."""
        own = np.ascontiguousarray(y)
        return np.array([self.level_constant(own, tau, weight) for tau in self.levels])

    def spread(self, y: npt.NDArray[Any], weight: Vector | None) -> float:
        """Return the smallest positive distance of two levels of y, or its mean from the middle.

        One outlier does not change it, unless all levels are equal.
        """
        found = self.best_constant(y, weight)
        gaps = np.diff(found)
        if (gaps > 0).any():
            return float(gaps[gaps > 0].min())
        return float(np.average(np.abs(y - found[self.location]), weights=weight))

    def learn(self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix) -> dict[str, Vector]:
        """Return the levels: offsets and point predictions depend on them."""
        return {SORTED: np.array(self.levels)}

    def with_learned(self, learned: Mapping[str, Vector]) -> LevelsLoss:
        """Return the loss with the levels that a model has."""
        if "levels" in learned:
            raise ValueError(
                f"a model of several levels (loss={self.name!r}) of a development version, whose "
                "scores were the logarithms of gaps; fit it again"
            )
        return type(self)(learned[SORTED].tolist()) if SORTED in learned else self

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return LevelsBoundLoss(self, workers, y, weight, f"{type(self).__name__}.tree_derivatives")


class LevelsBoundLoss(LateBoundLoss):
    """The derivatives to which trees are fitted, each of the score of one level.

    Attributes
    ----------
    spread : float
        As of `LevelsLoss.spread`, of the rows.
    """

    _loss: LevelsLoss

    @cached_property
    def spread(self) -> float:
        return self._loss.spread(self._y, self._weight)

    def _derivatives(self, scores: Matrix) -> Any:
        return self._loss.tree_derivatives(self._y, scores)


class Quantiles(LevelsLoss):
    """Several quantiles that never cross (Koenker & Bassett 1978).

    Domain: y any finite number. Link: that of `LevelsLoss`.

        L_τ(y, Q) = τ (y - Q) if y > Q, else (1 - τ) (Q - y)        ∂L_τ/∂Q = 1[y ≤ Q] - τ

    Hessian: 1 is used, with the derivatives over 2 √(τ (1 - τ)). The value of a leaf is the
    τ-quantile of y - F of each level.

    Parameters
    ----------
    levels : sequence of float, default=(0.05, 0.25, 0.5, 0.75, 0.95)
        τ, increasing, between 0 and 1.
    """

    name = "quantiles"
    degree = 1
    hessian_bound = 1.0
    hessian_is_weight = True

    def row_losses(self, y: npt.NDArray[Any], level: float, predicted: Vector) -> Vector:
        residual = y - predicted
        return np.asarray(np.maximum(level * residual, (level - 1.0) * residual))

    def level_derivatives(
        self, y: npt.NDArray[Any], level: float, predicted: Vector
    ) -> tuple[Vector, Vector]:
        return np.where(y > predicted, -level, 1.0 - level), np.zeros(len(y))

    def tree_derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        """Return the derivatives of each level over their standard deviation, √(τ (1 - τ)).

        So a split that improves an outer level counts as much as one that improves the middle.
        """
        gradient, _ = super().tree_derivatives(y, score)
        deviation = np.sqrt([tau * (1.0 - tau) for tau in self.levels])
        return gradient / (2.0 * deviation), np.ones_like(gradient)

    def level_constant(self, y: npt.NDArray[Any], level: float, weight: Vector | None) -> float:
        return float(weighted_quantile(y, weight, level))


class Expectiles(LevelsLoss):
    """Several expectiles that never cross (Newey & Powell 1987).

    Domain: y any finite number. Link: that of `LevelsLoss`.

        L_τ(y, E) = a (y - E)²,  a = τ if y > E, else 1 - τ        ∂L_τ/∂E = 2 a (E - y)

    Hessian: exact, 2 a. The value of a leaf is the τ-expectile of y - F of each level.

    Parameters
    ----------
    levels : sequence of float, default=(0.05, 0.25, 0.5, 0.75, 0.95)
        τ, increasing, between 0 and 1.
    """

    name = "expectiles"
    degree = 2

    def __init__(self, levels: Iterable[float] = LEVELS) -> None:
        super().__init__(levels)
        self.hessian_bound = 2.0 * max(self.levels[-1], 1.0 - self.levels[0])

    def row_losses(self, y: npt.NDArray[Any], level: float, predicted: Vector) -> Vector:
        return Expectile(level).loss(y, predicted)

    def level_derivatives(
        self, y: npt.NDArray[Any], level: float, predicted: Vector
    ) -> tuple[Vector, Vector]:
        return Expectile(level).derivatives(y, predicted)

    def level_constant(self, y: npt.NDArray[Any], level: float, weight: Vector | None) -> float:
        return float(Expectile(level).best_constant(y, weight)[0])
