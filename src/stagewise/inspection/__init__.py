"""Looking into fitted models, and at tables: importance, dependence, paths of rows, summaries."""

from stagewise.inspection.ale import AccumulatedEffects, accumulated_effects
from stagewise.inspection.dependence import Dependence, partial_dependence
from stagewise.inspection.description import Description, describe
from stagewise.inspection.importance import Importance, importance
from stagewise.inspection.interaction import Interactions, interactions
from stagewise.inspection.leaves import (
    Contributions,
    DecisionPath,
    decision_path,
    proximity,
    staged_contributions,
)
from stagewise.inspection.permutation import permutation_importance
from stagewise.inspection.shap import ShapValues, shap_values

__all__ = [
    "AccumulatedEffects",
    "Contributions",
    "DecisionPath",
    "Dependence",
    "Description",
    "Importance",
    "Interactions",
    "ShapValues",
    "accumulated_effects",
    "decision_path",
    "describe",
    "importance",
    "interactions",
    "partial_dependence",
    "permutation_importance",
    "proximity",
    "shap_values",
    "staged_contributions",
]
