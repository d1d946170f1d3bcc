"""Steps: the values of a fitted term.

A step gets a fitted term with the loss and the scores before it (`StepInput`), and returns the
values that the term adds to each of its outputs before shrinkage (`StepResult`). `newton` keeps the
tree's own -G/(H+λ); `region_optimum` gives every region the best constant of the loss; `votes` and
`log_odds` are AdaBoost's two ways to use a classification tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from stagewise.boosting.level_step import level_step
from stagewise.boosting.step_input import Step, StepInput, StepResult, newton, tree_of
from stagewise.exact_sums import sum_rows
from stagewise.losses import Loss
from stagewise.losses.levels import LevelsLoss
from stagewise.losses.logarithm import MAX_LOG_RATIO, MAX_STEP, exact_log
from stagewise.losses.scores import squeeze_outputs

__all__ = [
    "Step",
    "StepInput",
    "StepResult",
    "line_search",
    "log_odds",
    "newton",
    "optimum_for",
    "region_optimum",
    "step_for",
    "symmetric",
    "tree_of",
    "votes",
]

Vector = npt.NDArray[np.float64]

ROUNDING = 1e-6
"""Row weights are float32, with 24 bits: a smaller share of their sum counts as 0."""


def symmetric(given: StepInput) -> StepResult:
    """Return Newton's step for K symmetric scores: (K-1)/K of it (FHT 2000, Algorithm 6)."""
    k = given.loss.n_outputs
    return StepResult([given.term.value * ((k - 1) / k if k > 1 else 1.0)])


def region_optimum(max_step: float = 0.0) -> Step:
    """Return the step that takes each region's own optimum: γ_j = argmin Σ L(y, F + γ).

    Friedman (2001): a quantile of y - F (Algorithm 3), from the median one step of the Huber loss
    (Algorithm 4), or the optimum by the sums of the region's derivatives (Algorithms 5 and 6);
    clipped to ±max_step (0: not), and changed where it would break a monotone constraint.
    """

    def step(given: StepInput) -> StepResult:
        loss = given.loss
        learner, term = tree_of(given)
        inner = newton(given).values

        def optimum(output: int, value: Vector) -> Vector:
            if loss.leaf_quantile is None:
                sums = learner.node_sums(term, given.derivatives(output))
                return loss.region_optimum(sums.gradient[:, 0], sums.hessian)
            residual = loss.target(given.y, output) - given.score[:, output]
            width, times = given.bound.delta_of(output), given.quantile_times(output)
            if width is None:
                return learner.leaf_quantiles(value, residual, loss.leaf_quantile, times)
            return learner.leaf_huber_means(value, residual, width, times)

        found = [optimum(o, value) for o, value in zip(given.outputs, inner, strict=True)]
        clipped = [np.clip(v, -max_step, max_step) if max_step > 0 else v for v in found]
        return StepResult([learner.enforce_monotone(value) for value in clipped])

    return step


def line_search(given: StepInput) -> StepResult:
    """Return ρ times the term, ρ = argmin Σ L(y, F + ρ b(x)) (Friedman 2001, Algorithm 1).

    The search starts from Newton's step, -Σgb / Σhb². Where the loss has no minimum (separated
    classes, counts that are all zero) no score moves by more than MAX_STEP.
    """
    (output,) = given.outputs
    rows = slice(None) if given.bag.rows is None else given.bag.rows
    weight = given.bag.weight_of(rows, given.weight)
    y, b = given.y[rows], given.learner.predictions(given.term, given.source)[rows]
    pairs = given.bound.gradients(output).pairs().astype(np.float64).reshape(-1, 2)[rows]
    slope, curve = sum_rows(pairs[:, 0] * b, weight), sum_rows(pairs[:, 1] * b * b, weight)
    if not (curve > 0 and slope != 0):
        return StepResult([np.zeros_like(given.term.value)])
    before = given.score[rows]
    moved = np.array(before, order="F")

    def total(rho: float) -> float:
        moved[:, output] = before[:, output] + rho * b
        with np.errstate(over="ignore", invalid="ignore"):
            losses = given.loss.loss_with_delta(y, squeeze_outputs(moved), given.bound.delta)
            found = sum_rows(losses, weight)
        return found if math.isfinite(found) else math.inf

    guess = -slope / curve
    # Brent's method ends where the loss no longer changes, at about the root of its precision.
    with np.errstate(over="ignore", invalid="ignore"):
        rho = float(minimize_scalar(total, bracket=(0.0, guess), options={"xtol": 1e-9}).x)
    if given.loss.degree is None:
        limit = MAX_STEP / np.abs(b).max()
        rho = min(max(rho, -limit), limit)
    return StepResult([(rho if total(rho) <= total(0.0) else 0.0) * given.term.value])


def step_for(loss: Loss, max_step: float = 0.0) -> Step:
    """Return the default step of a loss; a Newton tree has already clipped its values."""
    if isinstance(loss, LevelsLoss):
        return level_step(max_step)
    return newton if loss.leaf_quantile is None else region_optimum(max_step)


def optimum_for(loss: Loss, max_step: float = 0.0) -> Step:
    """Return the step that takes the optimum of each region, of one level or of several."""
    return level_step(max_step) if isinstance(loss, LevelsLoss) else region_optimum(max_step)


def votes(given: StepInput) -> StepResult:
    """Return discrete AdaBoost's votes: every leaf votes for one class with the same weight β.

    With err the share of the weight of misclassified rows,

        α = log((1 - err) / err) + log(K - 1)        value = β · (1 for its class, else -1/(K-1))

    with β = (K-1)²/K · α, the best step of the exponential loss (Freund & Schapire 1997; SAMME of
    Zhu et al. 2009). For two classes the value is ±½ log((1 - err) / err). A tree without errors
    gets the α of one with half a row wrong, and the fit ends; a tree that is no better than chance
    is rejected, and the fit ends. With row sampling neither ends the fit.
    """
    sums = given.learner.node_sums(given.term, given.row_weights())
    k = sums.gradient.shape[1]
    of_leaves = sums.gradient[sums.leaves]
    own = of_leaves[np.arange(len(of_leaves)), sums.majority[sums.leaves]]
    right = math.fsum(own.tolist())
    wrong = math.fsum(of_leaves.ravel().tolist()) - right
    if not right * (k - 1) > wrong * (1 + ROUNDING):
        if not given.drawn:
            return StepResult([], "no tree is better than chance")
        return StepResult([np.zeros(len(sums.majority)) for _ in given.outputs])
    perfect = wrong <= ROUNDING * right
    rows = math.fsum(sums.hessian[sums.leaves].tolist())
    odds = max(2 * rows - 1, 3.0) if perfect else right / wrong
    beta = (k - 1) ** 2 / k * exact_log(odds * (k - 1))
    return StepResult(
        [np.where(sums.majority == c, beta, -beta / (k - 1)) for c in _classes(given.outputs, k)],
        "a tree without errors was found" if perfect and not given.drawn else "",
    )


def log_odds(given: StepInput) -> StepResult:
    """Return real AdaBoost's values: (K-1) (log p_k - mean log p), p the class shares of a leaf.

    For two classes, ½ log(p / (1 - p)) (FHT 2000, Algorithm 2; SAMME.R of Zhu et al. 2009). Shares
    of weight below e^-8 count as e^-8, so that for two classes no value is beyond ±4.
    """
    learner, term = tree_of(given)
    weights = learner.node_sums(term, given.row_weights()).gradient
    k = weights.shape[1]
    values = np.array([_centred_logs(node) for node in weights.tolist()]) * (k - 1)
    return StepResult([np.ascontiguousarray(values[:, c]) for c in _classes(given.outputs, k)])


def _centred_logs(weights: list[float]) -> list[float]:
    """Return log p_k - mean log p; sums are exact, so every machine gives the same bits."""
    total, least = math.fsum(weights), math.exp(-2 * MAX_LOG_RATIO)
    if total <= 0.0:
        return [0.0] * len(weights)
    logs = [exact_log(max(w / total, least)) for w in weights]
    mean = math.fsum(logs) / len(logs)
    return [log - mean for log in logs]


def _classes(outputs: Sequence[int], n_classes: int) -> Sequence[int]:
    """Return the class of each output; a single output is the score of class 1."""
    return [1] if len(outputs) < n_classes else outputs
