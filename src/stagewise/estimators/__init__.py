"""scikit-learn faces over recipes."""

from stagewise.estimators.gradient_boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from stagewise.estimators.load import load

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor", "load"]
