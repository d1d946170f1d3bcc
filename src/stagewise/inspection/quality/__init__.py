"""The quality of predictions: scores, thresholds, calibration, residuals."""

from stagewise.inspection.quality.calibration import Calibration, calibration
from stagewise.inspection.quality.confusion import ConfusionMatrix, confusion_matrix
from stagewise.inspection.quality.coverage import Coverage, coverage
from stagewise.inspection.quality.learning import LearningCurves, learning_curves
from stagewise.inspection.quality.lift import Lift, lift
from stagewise.inspection.quality.predictions import Predictions
from stagewise.inspection.quality.query_scores import QueryScores, query_scores
from stagewise.inspection.quality.residuals import Residuals, residuals
from stagewise.inspection.quality.scores import Score, Scores, scores
from stagewise.inspection.quality.thresholds import (
    CostCurve,
    PrecisionRecall,
    RocCurve,
    Thresholds,
    thresholds,
)

__all__ = [
    "Calibration",
    "ConfusionMatrix",
    "CostCurve",
    "Coverage",
    "LearningCurves",
    "Lift",
    "PrecisionRecall",
    "Predictions",
    "QueryScores",
    "Residuals",
    "RocCurve",
    "Score",
    "Scores",
    "Thresholds",
    "calibration",
    "confusion_matrix",
    "coverage",
    "learning_curves",
    "lift",
    "query_scores",
    "residuals",
    "scores",
    "thresholds",
]


def __dir__() -> list[str]:
    """Return the public names: functions and result classes, no modules."""
    return sorted(__all__)
