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
from stagewise.boosting.steps import Move, Stage, Step, newton, tree_of
from stagewise.learners.histogram_tree import GrownTerm, TreeGrowth
from stagewise.trees.linear_leaves import FittedLines

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

    def with_lines(stage: Stage) -> Move:
        move = step(stage)
        (value,) = move.values
        growth, term = tree_of(stage)
        settled = term.with_values(value)
        if stage.loss.leaf_quantile is None:
            pairs = stage.derivatives(*stage.outputs)
            bound = stage.loss.hessian_bound
            fitted = growth.fit_lines(settled, stage.source, pairs, l2, bound)
            intercept = _optima(stage, step, fitted, max_step)
            intercept = np.where(fitted.complete == 1, value[fitted.node], intercept)
        else:
            pairs = _parabolas(stage, settled)
            fitted = growth.fit_lines(settled, stage.source, pairs, l2, 1.0)
            intercept = _quantiles(stage, growth, settled, fitted)
        room = growth.room(value)
        low, high = _bounds(value, fitted, intercept, room, max_step)
        lines = fitted.lines(intercept, low, high, beyond=room is not None)
        return replace(move, lines=lines if len(lines.node) else None)

    return with_lines


def _optima(stage: Stage, step: Step, fitted: FittedLines, max_step: float) -> Vector:
    """Return what the step would say of leaves of nothing but the rows of the lines."""
    if step is newton:
        return fitted.newton
    optima = stage.loss.region_optimum(fitted.gradient, fitted.hessian)
    return np.clip(optima, -max_step, max_step) if max_step > 0 else optima


def _parabolas(stage: Stage, settled: GrownTerm) -> Gradients:
    """Return derivatives, at the constants, of parabolas that lie above the loss.

    Of q r (r > 0) or (q - 1) r, smoothed with ε = the median of |r|, and times 2 ε:

        g = -ω r - (2 q - 1) ε,        h = ω,        ω = ε / (ε + |r|)

    (Hunter & Lange 2000, eq. 8); of the Huber loss with width δ, ω = δ / max(δ, |r|) and ε = 0.
    """
    (output,) = stage.outputs
    score = stage.score[output] + stage.growth.predictions(settled, stage.source)
    y = stage.loss.target(stage.y, output)
    r = y - score
    distance = np.abs(r)
    width, lean = stage.bound.width_of(output), 0.0
    if width is None:
        quantiles = (
            residual_quantile(stage.workers, y, score, stage.weight, q) for q in (0.5, 1.0)
        )
        width = next((q for q in quantiles if q > 0), 1.0)
        lean = (2 * (stage.loss.leaf_quantile or 0.0) - 1) * width
        share = width / (width + distance)
    else:
        share = width / np.maximum(width, distance) if width > 0 else np.ones_like(r)
    pairs = Gradients(len(r))
    pairs.assign(stage.workers, -share * r - lean, share, stage.weight)
    return stage.bag.count(pairs, stage.workers, stage.weight, hessians=True)


def _quantiles(stage: Stage, growth: TreeGrowth, settled: GrownTerm, fitted: FittedLines) -> Vector:
    """Return the leaves' quantiles, or Huber steps, of the residuals less what the slopes say."""
    (output,) = stage.outputs
    residual = stage.loss.target(stage.y, output) - stage.score[output]
    nowhere = np.full(len(fitted.node), np.inf)
    slopes = fitted.lines(np.zeros(len(fitted.node)), -nowhere, nowhere)
    unsaid = settled.with_values(np.where(settled.tree.feature < 0, np.nan, 0.0))
    left = residual - growth.predictions(unsaid.with_lines(slopes), stage.source)
    times, absent = stage.bag.times, np.isnan(left)
    if absent.any():  # such rows have no line
        counted = np.ones(len(left), np.float32) if times is None else times
        times, left = np.where(absent, np.float32(0), counted), np.where(absent, 0.0, left)
    width, value = stage.bound.width_of(output), settled.tree.value
    if width is None:
        found = growth.leaf_quantiles(value, left, stage.loss.leaf_quantile or 0.0, times)
    else:
        found = growth.leaf_huber_means(value, left, width, times)
    return np.asarray(found[fitted.node])


def _bounds(
    value: Vector,
    fitted: FittedLines,
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
