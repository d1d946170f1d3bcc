"""From leaves that say constants to leaves that say lines.

The one idea: a step settles the constants as ever; then every leaf is fitted once more, by a ridge
regression in the numeric features that were asked about on its path (Shi, Li & Li 2019). A loss
whose best constants are quantiles has no curvature to fit by: it is replaced by the parabola that
touches it from above at the constants (Hunter & Lange 2000), and the intercepts are quantiles of
what the slopes leave over.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, residual_quantile
from stagewise.boosting.steps import Step, StepInput, StepResult, newton, tree_of
from stagewise.learners.histogram_tree import BoundTree, GrownTerm
from stagewise.trees.linear_leaves import LinearLeafSlopes

__all__ = ["linear_leaves"]

Vector = npt.NDArray[np.float64]

REACH = 4.0
"""How many standard deviations of what it says of its rows a line may go from its intercept."""


def linear_leaves(step: Step, l2: float, max_step: float = 0.0) -> Step:
    """Return a step that gives the leaves lines after the step has given them constants.

        f(x) = b + Σ_j u_j z_j,        minimising Σ_i [g_i f(x_i) + ½ h_i f(x_i)²] + ½ l2 Σ_j u_j²

    over the rows that have all features of the path, z_j being these, standardised in the leaf with
    weights h (Shi et al. 2019, eq. 4, with the features centred: b is then the constant, and only
    slopes are shrunk). Where rows of the leaf lack a feature, they keep the leaf's constant, and b
    is the constant of the others. A line is cut off REACH standard deviations of what it says of
    these rows from b, so that no value far from theirs can take it anywhere; at ±max_step (0:
    nowhere); and, where features have directions, half-way to the constants of the leaves around.
    """

    def with_linear_leaves(given: StepInput) -> StepResult:
        result = step(given)
        (value,) = result.values
        learner, term = tree_of(given)
        settled = term.with_values(value)
        if given.loss.leaf_quantile is None:
            pairs = given.derivatives(*given.outputs)
            bound = given.loss.hessian_bound
            fitted = learner.fit_linear_leaves(settled, given.source, pairs, l2, bound)
            intercept = _optima(given, step, fitted, max_step)
            intercept = np.where(fitted.complete == 1, value[fitted.node], intercept)
        else:
            pairs = _parabolas(given, settled)
            fitted = learner.fit_linear_leaves(settled, given.source, pairs, l2, 1.0)
            intercept = _quantiles(given, learner, settled, fitted)
        room = learner.monotone_bounds(value)
        low, high = _bounds(value, fitted, intercept, room, max_step)
        lines = fitted.with_intercepts(intercept, low, high, beyond=room is not None)
        return replace(result, linear_leaves=lines if len(lines.node) else None)

    return with_linear_leaves


def _optima(given: StepInput, step: Step, fitted: LinearLeafSlopes, max_step: float) -> Vector:
    """Return what the step would say of leaves of nothing but the rows of the lines."""
    if step is newton:
        return fitted.newton
    optima = given.loss.region_optimum(fitted.gradient, fitted.hessian)
    return np.clip(optima, -max_step, max_step) if max_step > 0 else optima


def _parabolas(given: StepInput, settled: GrownTerm) -> Gradients:
    """Return derivatives, at the constants, of parabolas that lie above the loss.

    Of q r (r > 0) or (q - 1) r, smoothed with ε = the median of |r|, and times 2 ε:

        g = -ω r - (2 q - 1) ε,        h = ω,        ω = ε / (ε + |r|)

    (Hunter & Lange 2000, eq. 8); of the Huber loss with width δ, ω = δ / max(δ, |r|) and ε = 0.
    """
    (output,) = given.outputs
    score = given.score[output] + given.learner.predictions(settled, given.source)
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
    pairs = Gradients(len(r))
    pairs.assign(given.workers, -share * r - lean, share, given.weight)
    return given.bag.count(pairs, given.workers, given.weight, hessians=True)


def _quantiles(
    given: StepInput, learner: BoundTree, settled: GrownTerm, fitted: LinearLeafSlopes
) -> Vector:
    """Return the leaves' quantiles, or Huber steps, of the residuals less what the slopes say."""
    (output,) = given.outputs
    residual = given.loss.target(given.y, output) - given.score[output]
    nowhere = np.full(len(fitted.node), np.inf)
    slopes = fitted.with_intercepts(np.zeros(len(fitted.node)), -nowhere, nowhere)
    unsaid = settled.with_values(np.where(settled.tree.feature < 0, np.nan, 0.0))
    left = residual - learner.predictions(unsaid.with_linear_leaves(slopes), given.source)
    times, absent = given.bag.times, np.isnan(left)
    if absent.any():  # such rows have no line
        counted = np.ones(len(left), np.float32) if times is None else times
        times, left = np.where(absent, np.float32(0), counted), np.where(absent, 0.0, left)
    width, value = given.bound.delta_of(output), settled.tree.value
    if width is None:
        found = learner.leaf_quantiles(value, left, given.loss.leaf_quantile or 0.0, times)
    else:
        found = learner.leaf_huber_means(value, left, width, times)
    return np.asarray(found[fitted.node])


def _bounds(
    value: Vector,
    fitted: LinearLeafSlopes,
    intercept: Vector,
    room: tuple[Vector, Vector] | None,
    max_step: float,
) -> tuple[Vector, Vector]:
    """Return between which numbers every line is kept.

    The constants lie between them too, and with room for leaves that must be in order, the
    intervals of these do not overlap.
    """
    constant, reach = value[fitted.node], REACH * fitted.spread
    low, high = np.minimum(intercept - reach, constant), np.maximum(intercept + reach, constant)
    if max_step > 0:
        low, high = np.clip(low, -max_step, max_step), np.clip(high, -max_step, max_step)
    if room is not None:
        least, most = room[0][fitted.node], room[1][fitted.node]
        low, high = np.clip(low, least, most), np.clip(high, least, most)
    return low, high
