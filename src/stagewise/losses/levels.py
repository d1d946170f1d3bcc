"""Losses of several levels at once: quantiles or expectiles that never cross.

The prediction of the middle level is a score. Each further level is its neighbour towards the
middle, plus or minus the exponential of a score. So the order of the levels cannot be violated,
whatever the scores are. Each docstring: domain, link, formula, hessian.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers, weighted_quantile
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss, LateBoundLoss
from stagewise.losses.regression import Expectile
from stagewise.losses.scores import Matrix, Vector

__all__ = ["Expectiles", "LevelsLoss", "Quantiles", "read_levels"]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
LOG_GAP_BOUNDS = (-40.0, 20.0)
"""The bounds of the logarithms of gaps, in standard deviations of the target; at -40 it is 0."""
TIED_SHARE = 2.0**-10
"""The first gap of equal quantiles, as a share of the smallest gap of others: it can grow."""


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

    Domain: y any finite number. Link: with the middle level c, the one nearest to 1/2,

        Q_c = F_c,    Q_k = Q_(k-1) + e^(F_k) for k > c,    Q_k = Q_(k+1) - e^(F_k) for k < c

        L(y, F) = 1/K Σ_k L_τk(y, Q_k)

    A tree is fitted to the derivatives with respect to Q_1, …, Q_K, and its leaves have the values
    of `stagewise.boosting.level_step`.

    Parameters
    ----------
    levels : sequence of float
        Increasing, between 0 and 1.
    """

    parameter_names = ("levels",)
    shares_trees = True
    learns = True

    def __init__(self, levels: Iterable[float] = LEVELS) -> None:
        self.levels = read_levels(levels)
        self.n_outputs = len(self.levels)
        self.location: int = int(np.argmin(np.abs(np.array(self.levels) - 0.5)))
        self.prediction_names = tuple(f"{level:g}" for level in self.levels)
        names = list(self.prediction_names)
        for k, inner in self.outward:
            low, high = sorted((self.levels[k], self.levels[inner]))
            names[k] = f"log gap {low:g} to {high:g}"
        self.output_names = tuple(names)

    @property
    def outward(self) -> tuple[tuple[int, int], ...]:
        """The other levels from the middle outwards, each with its neighbour towards the middle."""
        middle, n = self.location, self.n_outputs
        above = [(k, k - 1) for k in range(middle + 1, n)]
        below = [(k, k + 1) for k in range(middle - 1, -1, -1)]
        return tuple(above + below)

    def gaps(self, score: Matrix, output: int) -> Vector:
        """Return the distances of a level to its neighbour, which are positive."""
        return np.asarray(np.exp(np.clip(score[:, output], *LOG_GAP_BOUNDS)))

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the predictions of all levels, in increasing order."""
        found = np.array(score, dtype=np.float64, order="F")
        for k, inner in self.outward:
            gap = np.where(score[:, k] > LOG_GAP_BOUNDS[0], self.gaps(score, k), 0.0)
            found[:, k] = found[:, inner] + (gap if k > inner else -gap)
        return found

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return the scores of predictions of all levels, which must increase."""
        levels = np.asarray(mean)
        if levels.ndim != 2 or levels.shape[1] != self.n_outputs:
            raise ValueError(
                f"init must predict {self.n_outputs} levels, shape (n_rows, {self.n_outputs}); got "
                f"{levels.shape}. Use a model with the same levels, or init='mean'."
            )
        score = np.array(levels, dtype=np.float64, order="F")
        for k, inner in self.outward:
            gap = np.abs(levels[:, k] - levels[:, inner])
            score[:, k] = np.log(np.maximum(gap, np.exp(LOG_GAP_BOUNDS[0])))
        return score

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
        """Return the derivatives with respect to the predictions of the levels."""
        predicted = self.mean(score)
        gradient, hessian = np.empty_like(predicted), np.empty_like(predicted)
        for k, tau in enumerate(self.levels):
            gradient[:, k], hessian[:, k] = self.level_derivatives(y, tau, predicted[:, k])
        return gradient, hessian

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        """Return ∂L/∂F by the chain rule, and Σ_k h_k (∂Q_k/∂F)² / K as a hessian."""
        slope, curve = LevelsLoss.tree_derivatives(self, y, score)
        gradient, hessian = np.empty_like(slope), np.empty_like(curve)
        middle = self.location
        for k in range(self.n_outputs):
            reached, factor = self._reached(k), np.ones(len(score))
            if k != middle:
                factor = self.gaps(score, k) * (1.0 if k > middle else -1.0)
                factor[(score[:, k] <= LOG_GAP_BOUNDS[0]) | (score[:, k] > LOG_GAP_BOUNDS[1])] = 0.0
            total = slope[:, reached].sum(axis=1) * factor
            gradient[:, k] = total / self.n_outputs
            # A gap is convex in its score: where it grows by a step, |total| is a part of it.
            bent = np.abs(total) if k != middle else 0.0
            hessian[:, k] = (curve[:, reached].sum(axis=1) * factor**2 + bent) / self.n_outputs
        return gradient, hessian

    def _reached(self, output: int) -> list[int]:
        """Return the levels that a score changes: the further ones; of the middle one, all."""
        middle = self.location
        if output == middle:
            return list(range(self.n_outputs))
        return list(range(output, self.n_outputs) if output > middle else range(output + 1))

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        """Return constant scores, those of all quantiles or expectiles of y.

        The gap of equal ones is a small share of the smallest other gap, or, if all are equal, of
        the mean distance of y to them. So one outlier does not change it. It is 0 if y is constant.
        """
        own = np.ascontiguousarray(y)
        found = np.array([self.level_constant(own, tau, weight) for tau in self.levels])
        gaps = np.diff(found)
        if (gaps > 0).any():
            unit = gaps[gaps > 0].min()
        else:
            unit = np.average(np.abs(own - found[self.location]), weights=weight)
        score, least = found.copy(), max(TIED_SHARE * unit, math.exp(LOG_GAP_BOUNDS[0]))
        for k, inner in self.outward:
            gap = abs(found[k] - found[inner])
            score[k] = max(math.log(gap if gap > 0 else least), LOG_GAP_BOUNDS[0])
        return score

    def learn(self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix) -> dict[str, Vector]:
        """Return the levels: predictions depend on which one is the middle."""
        return {"levels": np.array(self.levels)}

    def with_learned(self, learned: Mapping[str, Vector]) -> LevelsLoss:
        """Return the loss with the levels that a model has."""
        return type(self)(learned["levels"].tolist()) if "levels" in learned else self

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _LevelsBoundLoss(self, workers, y, weight, f"{type(self).__name__}.tree_derivatives")


class _LevelsBoundLoss(LateBoundLoss):
    """The derivatives with respect to the predictions, to which trees are fitted."""

    _loss: LevelsLoss

    def _derivatives(self, scores: Matrix) -> Any:
        return self._loss.tree_derivatives(self._y, scores)


class Quantiles(LevelsLoss):
    """Several quantiles that never cross (Koenker & Bassett 1978; the gaps as in `LevelsLoss`).

    Domain: y any finite number. Link: that of `LevelsLoss`.

        L_τ(y, Q) = τ (y - Q) if y > Q, else (1 - τ) (Q - y)        ∂L_τ/∂Q = 1[y ≤ Q] - τ

    Hessian: 1 is used, with the derivatives over 2 √(τ (1 - τ)). The value of a leaf is the
    τ-quantile of y - Q for the middle level, and for another one the logarithm of the quantile of
    (y - Q_inner) / gap with the weights of the gaps.

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
    """Several expectiles that never cross (Newey & Powell 1987; the gaps as in `LevelsLoss`).

    Domain: y any finite number. Link: that of `LevelsLoss`.

        L_τ(y, E) = a (y - E)²,  a = τ if y > E, else 1 - τ        ∂L_τ/∂E = 2 a (E - y)

    Hessian: exact, 2 a. The value of a leaf is the τ-expectile of y - E for the middle level, and
    for another one the logarithm of that of (y - E_inner) / gap with the weights gap².

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
