"""Inspection of fitted models and of tables."""

import typing as _typing

from stagewise.inspection.bias_variance import BiasVariance, bias_variance
from stagewise.inspection.dependence import (
    AccumulatedEffects,
    Dependence,
    Interactions,
    accumulated_effects,
    interactions,
    partial_dependence,
)
from stagewise.inspection.importances import (
    Importance,
    importance,
    importance_table,
    permutation_importance,
)
from stagewise.inspection.leaves import (
    Contributions,
    DecisionPath,
    decision_path,
    proximity,
    staged_contributions,
)
from stagewise.inspection.quality import (
    Calibration,
    ConfusionMatrix,
    CostCurve,
    Coverage,
    LearningCurves,
    Lift,
    PrecisionRecall,
    Predictions,
    QueryScores,
    Residuals,
    RocCurve,
    Score,
    Scores,
    Thresholds,
    calibration,
    confusion_matrix,
    coverage,
    learning_curves,
    lift,
    query_scores,
    residuals,
    scores,
    thresholds,
)
from stagewise.inspection.rounds import AdaBoostPath, Margins, ada_boost_path, margins
from stagewise.inspection.shap import ShapValues, shap_values
from stagewise.inspection.splits import (
    NodeSplits,
    StructureScore,
    show_split,
    structure_score,
)
from stagewise.inspection.survival import (
    SurvivalQuality,
    concordance_index,
    cumulative_dynamic_auc,
    integrated_brier_score,
    survival_brier_score,
    survival_quality,
    uno_concordance_index,
)
from stagewise.inspection.tables import (
    Description,
    InformationGain,
    describe,
    information_gain,
)
from stagewise.validation.foreign_calls import function_hint as _function_hint
from stagewise.validation.parameters import nearest_name as _nearest_name

__all__ = [
    "AccumulatedEffects",
    "AdaBoostPath",
    "BiasVariance",
    "Calibration",
    "ConfusionMatrix",
    "Contributions",
    "CostCurve",
    "Coverage",
    "DecisionPath",
    "Dependence",
    "Description",
    "Importance",
    "InformationGain",
    "Interactions",
    "LearningCurves",
    "Lift",
    "Margins",
    "NodeSplits",
    "PrecisionRecall",
    "Predictions",
    "QueryScores",
    "Residuals",
    "RocCurve",
    "Score",
    "Scores",
    "ShapValues",
    "StructureScore",
    "SurvivalQuality",
    "Thresholds",
    "accumulated_effects",
    "ada_boost_path",
    "bias_variance",
    "calibration",
    "concordance_index",
    "confusion_matrix",
    "coverage",
    "cumulative_dynamic_auc",
    "decision_path",
    "describe",
    "importance",
    "importance_table",
    "information_gain",
    "integrated_brier_score",
    "interactions",
    "learning_curves",
    "lift",
    "margins",
    "partial_dependence",
    "permutation_importance",
    "proximity",
    "query_scores",
    "residuals",
    "scores",
    "shap_values",
    "show_split",
    "staged_contributions",
    "structure_score",
    "survival_brier_score",
    "survival_quality",
    "thresholds",
    "uno_concordance_index",
]


def __dir__() -> list[str]:
    """Return the public names: functions and result classes, no modules."""
    return sorted(__all__)


if not _typing.TYPE_CHECKING:  # for a type checker, an unknown name is an error

    def __getattr__(name: str) -> object:
        """Raise AttributeError, which suggests the nearest public name."""
        hint = _function_hint(name) or _nearest_name(name, __all__)
        hint = "" if name.startswith("_") else hint
        raise AttributeError(f"module 'stagewise.inspection' has no attribute {name!r}.{hint}")
