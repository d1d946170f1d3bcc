"""Additive logistic regression: the algorithms of Friedman, Hastie & Tibshirani (2000)."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from stagewise.boosting.recipe import GENTLE, Recipe, logit_boost
from stagewise.estimators.bases.boosting import BaseBoosting
from stagewise.estimators.bases.predictions.classifier import ClassifierPredictions
from stagewise.estimators.bases.trees.tree_attributes import TreeAttributes
from stagewise.losses import CLASSIFICATION_LOSSES, Loss
from stagewise.validation.parameters import suggests_names

__all__ = ["GentleBoostClassifier", "LogitBoostClassifier"]


class LogitBoostClassifier(ClassifierPredictions, TreeAttributes, BaseBoosting):
    """LogitBoost: minimises the deviance by Newton steps, with weighted least-squares trees.

    Every round fits, for each class (for two classes, once), the working response

        z = (y - p) / (p (1 - p)),     weights p (1 - p)

    by weighted least squares and adds it to the score, for K classes (K-1)/K of it; F starts at 0
    (Friedman, Hastie & Tibshirani 2000, Algorithms 3 and 6).

    Parameters
    ----------
    z_max : float, default=4.0
        The largest absolute z. It limits the influence of rows that are badly predicted.
    learning_rate : float, default=1.0
        ν, the factor of every tree.
    n_estimators : int, default=100
        The largest number of rounds.
    max_leaf_nodes, max_depth : int or None, default=None and 1
        The largest number of leaves, and the largest number of splits between the root and a leaf.
        By default a tree is a stump.
    min_samples_leaf : float, default=1
        The smallest number of rows in a leaf; with weights, the smallest sum of weights, exactly.
        With 1, one row is enough, if it has a thousandth of the mean weight.
    subsample, max_bins, missing_values, categorical_features, handle_unknown, early_stopping, \
validation_fraction, n_iter_no_change, tol, eval_metric, time_limit, warm_start, random_state, \
n_jobs, verbose, callbacks, class_weight
        As in `GradientBoostingClassifier`.

    Attributes
    ----------
    model_, n_iter_, best_iteration_, train_loss_, validation_loss_, \
evals_result_, best_score_, feature_importances_, \
classes_, n_features_in_, feature_names_in_, fit_report_
        As in `GradientBoostingClassifier`.
    learning_rate_, n_classes_, seed_
        As in `GradientBoostingClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import LogitBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> LogitBoostClassifier(n_estimators=20).fit(X, y).predict_proba(X[:2]).shape
    (2, 3)
    """

    @suggests_names
    def __init__(
        self,
        *,
        z_max: float = 4.0,
        learning_rate: float = 1.0,
        n_estimators: int = 100,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = 1,
        min_samples_leaf: float = 1,
        subsample: float = 1.0,
        max_bins: int = 255,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        eval_metric: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.z_max = z_max
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.subsample = subsample
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.eval_metric = eval_metric
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.class_weight = class_weight

    def _recipe(self) -> Recipe:
        return logit_boost(self.z_max)

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        assert classes is not None
        return CLASSIFICATION_LOSSES["log_loss"](len(classes))


class GentleBoostClassifier(ClassifierPredictions, TreeAttributes, BaseBoosting):
    """Gentle AdaBoost: minimises the exponential loss by Newton steps.

    With y = ±1 and weights w = e^(-yF), every round fits y by least squares with these weights
    (leaves are weighted means, between -1 and 1) and adds it to F, which starts at 0 (Friedman,
    Hastie & Tibshirani 2000, Algorithm 4).

    Parameters
    ----------
    learning_rate : float, default=1.0
        ν, the factor of every tree.
    n_estimators : int, default=100
        The largest number of rounds.
    max_leaf_nodes, max_depth : int or None, default=None and 1
        The largest number of leaves, and the largest number of splits between the root and a leaf.
        By default a tree is a stump.
    min_samples_leaf : float, default=1
        The smallest number of rows in a leaf; with weights, the smallest sum of weights, exactly.
        With 1, one row is enough, if it has a thousandth of the mean weight.
    subsample, max_bins, missing_values, categorical_features, handle_unknown, early_stopping, \
validation_fraction, n_iter_no_change, tol, eval_metric, time_limit, warm_start, random_state, \
n_jobs, verbose, callbacks, class_weight
        As in `GradientBoostingClassifier`.

    Attributes
    ----------
    model_, n_iter_, best_iteration_, train_loss_, validation_loss_, \
evals_result_, best_score_, feature_importances_, \
classes_, n_features_in_, feature_names_in_, fit_report_
        As in `GradientBoostingClassifier`.
    learning_rate_, n_classes_, seed_
        As in `GradientBoostingClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from stagewise import GentleBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> GentleBoostClassifier(n_estimators=20).fit(X, y).predict_proba(X[:2]).shape
    (2, 2)
    """

    @suggests_names
    def __init__(
        self,
        *,
        learning_rate: float = 1.0,
        n_estimators: int = 100,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = 1,
        min_samples_leaf: float = 1,
        subsample: float = 1.0,
        max_bins: int = 255,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        eval_metric: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.subsample = subsample
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.eval_metric = eval_metric
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.class_weight = class_weight

    def _recipe(self) -> Recipe:
        return GENTLE

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        assert classes is not None
        return CLASSIFICATION_LOSSES["exponential"](len(classes))
