"""The step that fits linear models in the leaves of a tree.

Another step first gives every leaf a constant. Then a ridge regression is fitted in every leaf, in
the numeric features that are tested on its path (Shi, Li & Li 2019). A loss whose best constants
are quantiles has no curvature: it is replaced by the parabola that touches it from above at the
constants (Hunter & Lange 2000), and the intercepts are quantiles of the residuals of the slopes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, residual_quantile
from stagewise.boosting.steps import Step, StepInput, StepResult, newton, tree_of
from stagewise.exact_sums import mean_rows
from stagewise.learners.tree_learner import BoundTree, GrownTerm
from stagewise.trees.linear_leaves import LinearLeafSlopes

__all__ = ["linear_leaves"]

Vector = npt.NDArray[np.float64]

REACH = 4.0
"""Predictions of a leaf are clipped this many of their standard deviations from the intercept."""


def linear_leaves(step: Step, l2: float, max_step: float = 0.0) -> Step:
    """Return a step that fits linear models in the leaves after `step` has set their constants.

        f(x) = b + Σ_j u_j z_j,        minimising Σ_i [g_i f(x_i) + ½ h_i f(x_i)²] + ½ l2 Σ_j u_j²

    over the rows of the leaf without missing values in the features of the path. z_j are these
    features, standardised in the leaf with weights h (Shi et al. 2019, eq. 4, with the features
    centred: b is then the constant, and only slopes are shrunk). Rows with a missing value keep the
    leaf's constant, and b is the constant of the other rows. Predictions are clipped to b ± REACH
    standard deviations of the predictions for these rows, so that extrapolation is bounded; to
    ±max_step (0: not); and, with monotone constraints, to half the distance to the constants of the
    neighbouring leaves.
    """

    def with_linear_leaves(given: StepInput) -> StepResult:
        result = step(given)
        (value,) = result.values
        learner, term = tree_of(given)
        constant = term.with_values(value)
        if given.loss.leaf_quantile is None:
            pairs = given.derivatives(*given.outputs)
            bound = given.loss.hessian_bound
            fitted = learner.fit_linear_leaves(constant, given.source, pairs, l2, bound)
            intercept = _optima(given, step, fitted, max_step)
            intercept = np.where(fitted.complete == 1, value[fitted.node], intercept)
        else:
            pairs = _parabolas(given, constant)
            fitted = learner.fit_linear_leaves(constant, given.source, pairs, l2, 1.0)
            intercept = _quantiles(given, learner, constant, fitted)
        monotone = learner.monotone_bounds(value)
        low, high = _clipping_bounds(value, fitted, intercept, monotone, max_step)
        leaves = fitted.with_intercepts(intercept, low, high, beyond=monotone is not None)
        return replace(result, linear_leaves=leaves if len(leaves.node) else None)

    return with_linear_leaves


def _optima(given: StepInput, step: Step, fitted: LinearLeafSlopes, max_step: float) -> Vector:
    """Return the step's constants for the rows without missing values."""
    if step is newton:
        return fitted.newton
    optima = given.loss.region_optimum(fitted.gradient, fitted.hessian)
    return np.clip(optima, -max_step, max_step) if max_step > 0 else optima


def _parabolas(given: StepInput, constant: GrownTerm) -> Gradients:
    """Return the derivatives, at the constants, of parabolas that lie above the loss.

    For the quantile loss, q r (r > 0) or (q - 1) r, smoothed with ε = the median of |r|, times 2 ε:

        g = -ω r - (2 q - 1) ε,        h = ω,        ω = ε / (ε + |r|)

    (Hunter & Lange 2000, eq. 8); for the Huber loss with width δ, ω = δ / max(δ, |r|) and ε = 0.
    """
    (output,) = given.outputs
    score = given.score[:, output] + given.learner.predictions(constant, given.source)
    y = given.loss.target(given.y, output)
    r = y - score
    distance = np.abs(r)
    width, lean = given.bound.delta_of(output), 0.0
    if width is None:
        quantiles = (
            residual_quantile(given.workers, y, score, given.weight, q) for q in (0.5, 1.0)
        )
        width = next((q for q in quantiles if q > 0), 1.0)
        lean = (2 * (given.loss.leaf_quantile or 0.0) - 1) * width
        share = width / (width + distance)
    else:
        share = width / np.maximum(width, distance) if width > 0 else np.ones_like(r)
    own = given.loss.residual_weight(given.y, output)
    factor = 1.0 if own is None else own / mean_rows(own, given.weight)  # rows of weight 1 count 1
    pairs = Gradients(len(r))
    pairs.assign(given.workers, factor * (-share * r - lean), factor * share, given.weight)
    return given.bag.multiply(pairs, given.workers, given.weight, hessians=True)


def _quantiles(
    given: StepInput, learner: BoundTree, constant: GrownTerm, fitted: LinearLeafSlopes
) -> Vector:
    """Return each leaf's quantile, or Huber step, of the residuals minus the slope terms."""
    (output,) = given.outputs
    residual = given.loss.target(given.y, output) - given.score[:, output]
    unbounded = np.full(len(fitted.node), np.inf)
    slopes = fitted.with_intercepts(np.zeros(len(fitted.node)), -unbounded, unbounded)
    without = constant.with_values(np.where(constant.tree.feature < 0, np.nan, 0.0))
    left = residual - learner.predictions(without.with_linear_leaves(slopes), given.source)
    times, absent = given.quantile_times(output), np.isnan(left)
    if absent.any():  # rows that no linear model predicts
        counted = np.ones(len(left), np.float32) if times is None else times
        times, left = np.where(absent, np.float32(0), counted), np.where(absent, 0.0, left)
    width, value = given.bound.delta_of(output), constant.tree.value
    if width is None:
        found = learner.leaf_quantiles(value, left, given.loss.leaf_quantile or 0.0, times)
    else:
        found = learner.leaf_huber_means(value, left, width, times)
    return np.asarray(found[fitted.node])


def _clipping_bounds(
    value: Vector,
    fitted: LinearLeafSlopes,
    intercept: Vector,
    monotone: tuple[Vector, Vector] | None,
    max_step: float,
) -> tuple[Vector, Vector]:
    """Return the bounds to which the predictions of every linear model are clipped.

    The constants lie between them. With monotone bounds, the intervals of leaves whose order a
    constraint fixes do not overlap.
    """
    constant, reach = value[fitted.node], REACH * fitted.spread
    low, high = np.minimum(intercept - reach, constant), np.maximum(intercept + reach, constant)
    if max_step > 0:
        low, high = np.clip(low, -max_step, max_step), np.clip(high, -max_step, max_step)
    if monotone is not None:
        lower, upper = monotone[0][fitted.node], monotone[1][fitted.node]
        low, high = np.clip(low, lower, upper), np.clip(high, lower, upper)
    return low, high
