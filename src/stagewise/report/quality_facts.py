"""How good a model is, for a page where thresholds and costs can be moved.

The one idea: of two classes, or one against the rest, everything follows from how many rows of
either lie above each threshold; of numbers, from predictions beside what came true. Both are kept
thin enough to be carried, and what is drawn was all counted on every row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from stagewise.inspection.encoded_rows import drawn_rows
from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quality.calibration import Calibration
from stagewise.inspection.quality.predictions import Answers
from stagewise.inspection.quality.residuals import Residuals
from stagewise.inspection.quality.thresholds import Thresholds
from stagewise.report.payload import compact

__all__ = ["ClassQuality", "NumberQuality", "class_quality", "number_quality"]

STEP, COARSE_STEP = 0.001, 0.01
"""Of the slider of thresholds; the second where many classes have one each."""
FEW_CLASSES = 3
CURVE_POINTS = 150
POINTS = 1200
"""How many rows are drawn as dots."""
BANDS = 24
"""Into how many parts of equal weight predictions are divided, each with its quartiles."""
ROWS_OF_A_BAND = 10
"""Fewer rows have no quartiles worth a picture."""
BARS = 41
QUANTILES = 120


@dataclass(frozen=True, eq=False)
class ClassQuality:
    """How well one class is told from the rest.

    Attributes
    ----------
    positive : str
        The class.
    step : float
        In steps of what the threshold can be moved.
    threshold, true_positive, false_positive : float64 arrays
        What counts as that class from each threshold on, by weight; thresholds decrease.
    positives, negatives : float
        The weight of all rows of the class, and of all others.
    area, average_precision : float
        Under the ROC curve; of the precision over recall.
    calibration : Calibration
        Probabilities beside shares that came true.
    """

    positive: str
    step: float
    threshold: Vector
    true_positive: Vector
    false_positive: Vector
    positives: float
    negatives: float
    area: float
    average_precision: float
    calibration: Calibration


@dataclass(frozen=True, eq=False)
class NumberQuality:
    """How close predictions of a number come.

    Attributes
    ----------
    target : str
        What is predicted.
    row : int64 array
        The rows drawn as dots.
    predicted, observed, residual : float arrays
        Of these rows.
    middle : float64 array of shape (n_bands,)
        The mean predictions of parts of equal weight.
    lower, median, upper : float64 arrays of shape (n_bands,)
        The quartiles of the residuals there.
    edges, share : float64 arrays
        The distribution of residuals: edges of bars, and the share of rows between them.
    normal, quantile : float64 arrays
        Normal quantiles, and residuals in units of their spread that belong to them.
    """

    target: str
    row: npt.NDArray[np.int64]
    predicted: Vector
    observed: Vector
    residual: Vector
    middle: Vector
    lower: Vector
    median: Vector
    upper: Vector
    edges: Vector
    share: Vector
    normal: Vector
    quantile: Vector


def class_quality(answers: Answers) -> tuple[ClassQuality, ...]:
    """Return how well classes are told from the rest: the second of two, or each of more.

    Classes that none of the rows has, or all, cannot be told from anything and are left out.
    """
    codes = np.unique(answers.y[answers.weight > 0])
    if len(codes) < 2 or len(answers.names) < 2:
        return ()
    asked = [1] if len(answers.names) == 2 else codes.tolist()
    return tuple(_of_class(answers, int(k)) for k in asked)


def _of_class(answers: Answers, k: int) -> ClassQuality:
    assert answers.classes is not None
    label = answers.classes[k]
    counted = Thresholds.of(answers, label)
    step = STEP if len(answers.names) <= FEW_CLASSES else COARSE_STEP
    kept = _kept(counted, step)
    return ClassQuality(
        answers.names[k],
        step,
        counted.threshold[kept],
        counted.true_positive[kept],
        counted.false_positive[kept],
        counted.positives,
        counted.negatives,
        counted.roc().area,
        counted.precision_recall().average,
        Calibration.of(answers, label),
    )


def _kept(counted: Thresholds, step: float) -> npt.NDArray[np.intp]:
    """Return the thresholds that a page cannot do without.

    Those in force at each step of its slider; the corners of the hull of the ROC curve, where the
    least costs lie, whatever they are; and some between, so that curves look as they do.
    """
    t = counted.threshold
    n = round(1 / step)
    steps = np.arange(n + 1) / n  # the doubles that a slider gives: 0.3, not the sum of its steps
    in_force = len(t) - np.searchsorted(t[::-1], steps, side="left") - 1
    own = np.diff(counted.true_positive, prepend=0.0)
    both = own + np.diff(counted.false_positive, prepend=0.0)
    # The hull of the curve is what isotonic regression makes of its slopes (Fawcett & Niculescu-
    # Mizil 2007): a corner is where a block ends.
    steep = np.flatnonzero(both > 0)
    slopes, weights = own[steep] / both[steep], both[steep]
    blocks = isotonic_regression(slopes, weights=weights, increasing=False).blocks
    corners = steep[blocks[1:] - 1]
    thin = np.searchsorted(-t, -counted.thinned(CURVE_POINTS).threshold)
    kept = np.concatenate([in_force[in_force >= 0], corners, thin])
    return np.unique(kept).astype(np.intp)


def number_quality(answers: Answers, target: str, seed: int) -> NumberQuality:
    """Return how close the predictions of one number come."""
    found = Residuals.of(answers)
    residual, weight = found.residual, found.weight
    rows = drawn_rows(weight, POINTS, seed)
    bands = int(np.clip(len(rows) // ROWS_OF_A_BAND, 1, BANDS))
    running = found.running(bands)
    # Symmetric about 0, without the farthest half percent.
    far = np.max(np.abs(found.quantiles([0.0025, 0.9975]))) or 1.0
    bars = int(np.clip(2 * np.sqrt(len(rows)), 5, BARS)) | 1  # odd: one of them has 0 in its middle
    edges = np.linspace(-far, far, bars + 1)
    share, _ = np.histogram(residual, bins=edges, weights=weight)
    normal, own = found.against_normal()
    kept = np.unique(np.linspace(0, len(own) - 1, QUANTILES).round().astype(np.intp))
    return NumberQuality(
        target,
        rows,
        compact(found.predicted[rows]),
        compact(found.observed[rows]),
        compact(residual[rows]),
        running["predicted"],
        running["lower"],
        running["median"],
        running["upper"],
        edges,
        share / weight.sum(),
        normal[kept],
        own[kept],
    )
