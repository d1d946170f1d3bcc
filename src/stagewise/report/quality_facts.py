"""The quality of predictions for the report page, with adjustable threshold and costs.

For classes, everything follows from the true and false positives at each threshold; for numbers
from predicted and observed values. All counts use every row; curves and dots are thinned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from stagewise.inspection.encoded_rows import sample_rows
from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quality.calibration import Calibration
from stagewise.inspection.quality.predictions import Predictions
from stagewise.inspection.quality.residuals import Residuals
from stagewise.inspection.quality.thresholds import Thresholds
from stagewise.report.deviance_facts import DevianceFacts, deviance_facts
from stagewise.report.payload import compact

__all__ = ["ClassQuality", "NumberQuality", "class_quality", "number_quality"]

STEP, COARSE_STEP = 0.001, 0.01
"""The step of the threshold slider; the second if there are many classes."""
FEW_CLASSES = 3
CURVE_POINTS = 150
POINTS = 1200
"""The maximum number of rows drawn as dots."""
BANDS = 24
"""The maximum number of bands of equal weight, each with its quartiles."""
ROWS_OF_A_BAND = 10
"""The minimum number of rows of a band."""
BARS = 41
QUANTILES = 120


@dataclass(frozen=True, eq=False)
class ClassQuality:
    """The quality of one class against the rest.

    Attributes
    ----------
    pos_label : str
        The class.
    step : float
        The step of the threshold slider.
    threshold, true_positive, false_positive : float64 arrays
        Decreasing thresholds, and the weights of true and false positives at each.
    positives, negatives : float
        The weight of all rows of the class, and of all other rows.
    area, average_precision : float
        The area under the ROC curve, and the average precision.
    calibration : Calibration
        Predicted probabilities against observed shares.
    before : Calibration or None
        The same without the calibration map of the model; None: it has none.
    """

    pos_label: str
    step: float
    threshold: Vector
    true_positive: Vector
    false_positive: Vector
    positives: float
    negatives: float
    area: float
    average_precision: float
    calibration: Calibration
    before: Calibration | None = None


@dataclass(frozen=True, eq=False)
class NumberQuality:
    """The quality of predictions of a numeric target.

    Attributes
    ----------
    target : str
        The name of the target.
    row : int64 array
        The indices of the rows drawn as dots.
    predicted, observed, residual : float arrays
        The values of these rows.
    middle : float64 array of shape (n_bands,)
        The mean prediction of each band of equal weight.
    lower, median, upper : float64 arrays of shape (n_bands,)
        The quartiles of the residuals of each band.
    edges, share : float64 arrays
        The histogram of the residuals: bin edges and shares of rows.
    normal, quantile : float64 arrays
        Normal quantiles, and the standardized residuals.
    deviance : DevianceFacts or None
        For counts and amounts, instead of the histogram and the normal quantiles.
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
    deviance: DevianceFacts | None = None


def class_quality(
    predictions: Predictions, before: Predictions | None = None
) -> tuple[ClassQuality, ...]:
    """Return the quality of each class against the rest; of two classes only the second.

    `before` are the predictions without the calibration map of the model, if it has one.

    Classes without rows are left out; the result is empty if all rows are of one class.
    """
    codes = np.unique(predictions.y[predictions.weight > 0])
    if len(codes) < 2 or len(predictions.names) < 2:
        return ()
    indices = [1] if len(predictions.names) == 2 else codes.tolist()
    return tuple(_of_class(predictions, int(k), before) for k in indices)


def _of_class(predictions: Predictions, k: int, before: Predictions | None) -> ClassQuality:
    assert predictions.classes is not None
    label = predictions.classes[k]
    counted = Thresholds.of(predictions, label)
    step = STEP if len(predictions.names) <= FEW_CLASSES else COARSE_STEP
    kept = _kept(counted, step)
    return ClassQuality(
        predictions.names[k],
        step,
        counted.threshold[kept],
        counted.true_positive[kept],
        counted.false_positive[kept],
        counted.positives,
        counted.negatives,
        counted.roc().area,
        counted.precision_recall().average,
        Calibration.of(predictions, label),
        None if before is None else Calibration.of(before, label),
    )


def _kept(counted: Thresholds, step: float) -> npt.NDArray[np.intp]:
    """Return the indices of the thresholds that the page needs.

    These are the thresholds that apply at each step of the slider; the corners of the convex hull
    of the ROC curve, which contain the lowest cost for any costs; and some for smooth curves.
    """
    t = counted.threshold
    n = round(1 / step)
    steps = np.arange(n + 1) / n  # the values of a slider: 0.3, not a sum of steps
    active = len(t) - np.searchsorted(t[::-1], steps, side="left") - 1
    own = np.diff(counted.true_positive, prepend=0.0)
    both = own + np.diff(counted.false_positive, prepend=0.0)
    # The convex hull is the isotonic regression of the slopes (Fawcett & Niculescu-Mizil 2007):
    # a corner is the end of a block.
    steep = np.flatnonzero(both > 0)
    slopes, weights = own[steep] / both[steep], both[steep]
    blocks = isotonic_regression(slopes, weights=weights, increasing=False).blocks
    corners = steep[blocks[1:] - 1]
    thin = np.searchsorted(-t, -counted.thinned(CURVE_POINTS).threshold)
    kept = np.concatenate([active[active >= 0], corners, thin])
    return np.unique(kept).astype(np.intp)


def number_quality(predictions: Predictions, target: str, seed: int) -> NumberQuality:
    """Return the quality of the predictions of one target."""
    found = Residuals.of(predictions)
    residual, weight = found.residual, found.weight
    rows = sample_rows(weight, POINTS, seed)
    bands = int(np.clip(len(rows) // ROWS_OF_A_BAND, 1, BANDS))
    running = found.running(bands)
    # Symmetric about 0, without the most extreme 0.5 %.
    far = np.max(np.abs(found.quantiles([0.0025, 0.9975]))) or 1.0
    bars = (
        int(np.clip(2 * np.sqrt(len(rows)), 5, BARS)) | 1
    )  # odd, so that 0 is the centre of a bar
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
        deviance_facts(predictions, rows, bands),
    )
