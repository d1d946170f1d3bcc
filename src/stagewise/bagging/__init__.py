"""Bagging and cross-validation ensembles of any estimators."""

from stagewise.bagging.bagging import BaggingClassifier, BaggingRegressor

__all__ = ["BaggingClassifier", "BaggingRegressor"]
