"""How far to go: from a fitted term to its values.

The one idea: a step sees one stage (the bound loss, the term, the scores before it) and returns the
move: what the term adds to each of its outputs before shrinkage. `newton` keeps the tree's own
-G/(H+λ); `region_optimum` gives every region the best constant of the loss; `votes` and
`log_odds` are AdaBoost's two ways to use a tree of classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.learners.histogram_tree import GrownTerm, TreeGrowth
from stagewise.losses import BoundLoss, Loss
from stagewise.losses.logarithm import FARTHEST, exact_log

__all__ = [
    "Move",
    "Stage",
    "Step",
    "log_odds",
    "newton",
    "region_optimum",
    "step_for",
    "symmetric",
    "votes",
]

Vector = npt.NDArray[np.float64]

ROUNDING = 1e-6
"""Weights of rows have the 24 bits of a float32: less of the whole than this is nothing."""


@dataclass(frozen=True)
class Stage:
    """One term on its way into the model.

    Attributes
    ----------
    loss, bound : Loss, BoundLoss
        What is minimised, and its derivatives at the scores before this term.
    outputs : sequence of int
        Which scores the term adds to.
    growth, term : TreeGrowth, GrownTerm
        Who made the term, and the term.
    y : array
        The targets.
    score : float64 array of shape (n_outputs, n_rows)
        The scores before this term.
    """

    loss: Loss
    bound: BoundLoss
    outputs: Sequence[int]
    growth: TreeGrowth
    term: GrownTerm
    y: npt.NDArray[Any]
    score: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Move:
    """What a step decides.

    Attributes
    ----------
    values : sequence of float64 array
        The values of the term's nodes, for each of its outputs; none: the term is not taken.
    last : str
        Why there can be no round after this one; empty: there can.
    """

    values: Sequence[Vector]
    last: str = ""


Step = Callable[[Stage], Move]


def newton(stage: Stage) -> Move:
    """Return w = -G / (H + λ) of every node, as the tree was grown (Chen & Guestrin, eq. 5)."""
    return Move([stage.term.tree.value])


def symmetric(stage: Stage) -> Move:
    """Return Newton's step for K symmetric scores: (K-1)/K of it (FHT 2000, Algorithm 6)."""
    k = stage.loss.n_outputs
    return Move([stage.term.tree.value * ((k - 1) / k if k > 1 else 1.0)])


def region_optimum(max_step: float = 0.0) -> Step:
    """Return the step that takes each region's own optimum: γ_j = argmin Σ L(y, F + γ).

    Friedman (2001): a quantile of y - F (Algorithm 3), from the median one step of the Huber loss
    (Algorithm 4), or what the sums of the region's derivatives say (Algorithms 5 and 6); clipped
    to ±max_step (0: any).
    """

    def step(stage: Stage) -> Move:
        loss, growth, term = stage.loss, stage.growth, stage.term
        (output,) = stage.outputs
        residual = stage.y - stage.score[output] if loss.leaf_quantile is not None else None
        if residual is None:
            sums = growth.node_sums(term, stage.bound.gradients(output))
            value = loss.region_optimum(sums.gradient[:, 0], sums.hessian)
        elif stage.bound.width is None:
            value = growth.leaf_quantiles(term, residual, loss.leaf_quantile or 0.0)
        else:
            value = growth.leaf_huber_means(term, residual, stage.bound.width)
        return Move([np.clip(value, -max_step, max_step) if max_step > 0 else value])

    return step


def step_for(loss: Loss, max_step: float = 0.0) -> Step:
    """Return the step a loss calls for; a Newton tree has clipped its values itself."""
    return newton if loss.leaf_quantile is None else region_optimum(max_step)


def votes(stage: Stage) -> Move:
    """Return discrete AdaBoost's votes: every leaf says a class, and all say it equally loud.

    With err the share of weight that the tree gets wrong,

        α = log((1 - err) / err) + log(K - 1)        value = β · (1 for its class, else -1/(K-1))

    with β = (K-1)²/K · α, the best step of the exponential loss (Freund & Schapire 1997; SAMME of
    Zhu et al. 2009). For two classes the value is ±½ log((1 - err) / err). A tree without errors
    gets the α of one that has half a row wrong, and no other follows it; one that is no better than
    chance is not taken.
    """
    sums = stage.growth.node_sums(stage.term, stage.bound.row_weights())
    weights = sums.gradient
    k = weights.shape[1]
    of_leaves = weights[stage.growth.leaf_nodes()]
    right = math.fsum(of_leaves.max(axis=1).tolist())
    wrong = math.fsum(of_leaves.ravel().tolist()) - right
    if not right * (k - 1) > wrong * (1 + ROUNDING):
        return Move([], "no tree is better than chance")
    perfect = wrong <= ROUNDING * right
    rows = float(sums.hessian[0])
    odds = 2 * rows - 1 if perfect else right / wrong
    beta = (k - 1) ** 2 / k * exact_log(odds * (k - 1))
    said = weights.argmax(axis=1)
    return Move(
        [np.where(said == c, beta, -beta / (k - 1)) for c in _classes(stage.outputs, k)],
        "a tree without errors was found" if perfect else "",
    )


def log_odds(stage: Stage) -> Move:
    """Return real AdaBoost's answers: (K-1) (log p_k - mean log p), p the leaf's shares of weight.

    For two classes, ½ log(p / (1 - p)) (FHT 2000, Algorithm 2; SAMME.R of Zhu et al. 2009). Shares
    below e^-8 count as e^-8, so that for two classes no leaf says more than ±4.
    """
    weights = stage.growth.node_sums(stage.term, stage.bound.row_weights()).gradient
    k = weights.shape[1]
    share = weights / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    least = math.exp(-2 * FARTHEST)
    logs = np.array([[exact_log(max(p, least)) for p in node] for node in share.tolist()])
    answer = (k - 1) * (logs - logs.mean(axis=1, keepdims=True))
    return Move([np.ascontiguousarray(answer[:, c]) for c in _classes(stage.outputs, k)])


def _classes(outputs: Sequence[int], n_classes: int) -> Sequence[int]:
    """Return the class that each output is the score of; one output alone is that of class 1."""
    return [1] if len(outputs) < n_classes else outputs
