"""Looking into fitted models, and at tables: importance, dependence, quality, summaries."""

from stagewise.inspection.ale import AccumulatedEffects, accumulated_effects
from stagewise.inspection.answers import Answers
from stagewise.inspection.calibration import Calibration, calibration
from stagewise.inspection.confusion import Confusion, confusion
from stagewise.inspection.dependence import Dependence, partial_dependence
from stagewise.inspection.description import Description, describe
from stagewise.inspection.importance import Importance
from stagewise.inspection.interaction import Interactions, interactions
from stagewise.inspection.learning import LearningCurves, learning_curves
from stagewise.inspection.leaves import (
    Contributions,
    DecisionPath,
    decision_path,
    proximity,
    staged_contributions,
)
from stagewise.inspection.permutation import permutation_importance
from stagewise.inspection.residuals import Residuals, residuals
from stagewise.inspection.scores import Score, Scores, scores
from stagewise.inspection.shap import ShapValues, shap_values
from stagewise.inspection.thresholds import (
    CostCurve,
    PrecisionRecall,
    RocCurve,
    Thresholds,
    thresholds,
)
from stagewise.inspection.worth import importance, importance_table

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
