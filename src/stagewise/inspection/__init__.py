"""Looking into fitted models, and at tables: importance, dependence, quality, summaries."""

from stagewise.inspection.dependence.ale import AccumulatedEffects, accumulated_effects
from stagewise.inspection.dependence.interactions import Interactions, interactions
from stagewise.inspection.dependence.partial_dependence import Dependence, partial_dependence
from stagewise.inspection.importances.importance import importance, importance_table
from stagewise.inspection.importances.permutation import permutation_importance
from stagewise.inspection.importances.split_importance import Importance
from stagewise.inspection.leaves import (
    Contributions,
    DecisionPath,
    decision_path,
    proximity,
    staged_contributions,
)
from stagewise.inspection.quality.calibration import Calibration, calibration
from stagewise.inspection.quality.confusion import Confusion, confusion
from stagewise.inspection.quality.learning import LearningCurves, learning_curves
from stagewise.inspection.quality.predictions import Answers
from stagewise.inspection.quality.residuals import Residuals, residuals
from stagewise.inspection.quality.scores import Score, Scores, scores
from stagewise.inspection.quality.thresholds import (
    CostCurve,
    PrecisionRecall,
    RocCurve,
    Thresholds,
    thresholds,
)
from stagewise.inspection.shap.values import ShapValues, shap_values
from stagewise.inspection.tables.description import Description, describe

__all__ = [
    "AccumulatedEffects",
    "Answers",
    "Calibration",
    "Confusion",
    "Contributions",
    "CostCurve",
    "DecisionPath",
    "Dependence",
    "Description",
    "Importance",
    "Interactions",
    "LearningCurves",
    "PrecisionRecall",
    "Residuals",
    "RocCurve",
    "Score",
    "Scores",
    "ShapValues",
    "Thresholds",
    "accumulated_effects",
    "calibration",
    "confusion",
    "decision_path",
    "describe",
    "importance",
    "importance_table",
    "interactions",
    "learning_curves",
    "partial_dependence",
    "permutation_importance",
    "proximity",
    "residuals",
    "scores",
    "shap_values",
    "staged_contributions",
    "thresholds",
]
