"""Automatic models: `AutoRegressor` and `AutoClassifier`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.utils import _safe_indexing

from stagewise.estimators.auto.base import BaseAuto
from stagewise.estimators.auto.distillation import repeat_by_class
from stagewise.estimators.bases.predictions.classifier import ClassifierPredictions, make_class_loss
from stagewise.estimators.bases.predictions.regressor import (
    RegressionLossParameters,
    RegressorPredictions,
)
from stagewise.estimators.bases.trees.tree_attributes import TreeAttributes
from stagewise.estimators.gradient_boosting_classifier import GradientBoostingClassifier
from stagewise.estimators.gradient_boosting_regressor import GradientBoostingRegressor
from stagewise.losses import Loss
from stagewise.validation.parameters import suggests_names

__all__ = ["AutoClassifier", "AutoRegressor"]

DISTILLED = 200
"""The number of rounds of a distilled model, by default."""


class AutoRegressor(RegressorPredictions, RegressionLossParameters, TreeAttributes, BaseAuto):
    """A regression model that chooses its own configuration, in the time that you allow.

    Several configurations of gradient boosting are fitted to folds of the rows. Their predictions
    for held-out rows choose weights, and each configuration with a weight is fitted to all rows.
    The result is the weighted sum of these models, which is one additive model of trees: one file,
    one fingerprint. See docs/auto.md.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        As in `GradientBoostingRegressor`.
    quality : {1, 2, 3, 4, 5}, default=4
        How much is tried. 1: one model of 100 rounds, and no row is held out. 2: the default of
        `GradientBoostingRegressor`. 3: the best of several configurations. 4: a weighted sum of
        them. 5: a weighted sum of the best of more configurations, by five folds.
    time_limit : float or None, default=None
        Seconds. The search ends after three fifths of them. Configurations that cannot be fitted
        to all rows in the rest of the time are represented by their models of folds.
    cv : "auto", int, splitter or list of pairs, default="auto"
        The folds; "auto": five folds for fewer than 2000 rows and for quality 5, otherwise one that
        holds a fifth of the rows out, or a tenth of more than 50,000 rows. Pass
        ``TimeSeriesSplit()`` for rows in the order of time.
    monotonic_cst, interaction_cst, missing_values, categorical_features, handle_unknown, \
random_state, n_jobs, quantile
        As in `GradientBoostingRegressor`.
    verbose : int, default=0
        1: a line on standard error for every fit, with the time that is left.

    Attributes
    ----------
    leaderboard_ : Leaderboard
        The models of the search, with losses of held-out rows; `leaderboard_.plot()` draws it.
    oof_prediction_ : array
        The predictions for held-out rows by models that were not fitted to them; NaN for others.
    model_, n_iter_, feature_importances_, n_features_in_, feature_names_in_, fit_report_
        As in `GradientBoostingRegressor`.
    best_iteration_, train_loss_, validation_loss_, seed_
        As in `GradientBoostingRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import AutoRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AutoRegressor(quality=3).fit(X, y)
    >>> model.predict(X[:2]).shape
    (2,)
    """

    _base = GradientBoostingRegressor
    _several_targets = True

    @suggests_names
    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        quality: int = 4,
        time_limit: float | None = None,
        cv: Any = "auto",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        quantile: float | None = None,
    ) -> None:
        self.loss = loss
        self.quality = quality
        self.time_limit = time_limit
        self.cv = cv
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.quantile = quantile

    def distill(
        self,
        X: Any,
        sample_weight: Any = None,
        *,
        n_estimators: int | str = DISTILLED,
        **parameters: Any,
    ) -> GradientBoostingRegressor:
        """Return a small model that is fitted to the predictions of this one.

        It is one boosted model with few rounds: faster to predict, and usually more accurate than a
        model of the same size that is fitted to the targets, since predictions have less noise.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The training rows, or any others: targets are not needed.
        sample_weight : array-like of shape (n_rows,) or None
            The weights of the rows.
        n_estimators : int or "auto", default=200
            The number of rounds.
        **parameters
            Further parameters of `GradientBoostingRegressor`.
        """
        own = {**self._shared(), "loss": "squared_error", "quantile": None}
        small = GradientBoostingRegressor(**{**own, "n_estimators": n_estimators, **parameters})
        return small.fit(X, self.predict(X), sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class AutoClassifier(ClassifierPredictions, TreeAttributes, BaseAuto):
    """A classifier that chooses its own configuration, in the time that you allow.

    See `AutoRegressor` for the search. The scores of the weighted sum are multiplied by a factor
    that calibrates the probabilities, if the held-out rows show that it helps.

    Parameters
    ----------
    loss : str or Loss, default="log_loss"
        As in `GradientBoostingClassifier`.
    class_weight : dict, "balanced" or None, default=None
        As in `GradientBoostingClassifier`.
    quality, time_limit, cv, monotonic_cst, interaction_cst, missing_values, \
categorical_features, handle_unknown, random_state, n_jobs, verbose
        As in `AutoRegressor`.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    leaderboard_, oof_prediction_, model_, n_iter_, feature_importances_, n_features_in_, \
feature_names_in_, fit_report_
        As in `AutoRegressor`.
    best_iteration_, train_loss_, validation_loss_, n_classes_, seed_
        As in `GradientBoostingClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import AutoClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AutoClassifier(quality=3).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    _base = GradientBoostingClassifier

    @suggests_names
    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        quality: int = 4,
        time_limit: float | None = None,
        cv: Any = "auto",
        class_weight: Any = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.quality = quality
        self.time_limit = time_limit
        self.cv = cv
        self.class_weight = class_weight
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        return make_class_loss(self.loss, classes, type(self).__name__)

    def distill(
        self,
        X: Any,
        sample_weight: Any = None,
        *,
        n_estimators: int | str = DISTILLED,
        **parameters: Any,
    ) -> GradientBoostingClassifier:
        """Return a small model that is fitted to the probabilities of this one.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The training rows, or any others: classes are not needed.
        sample_weight : array-like of shape (n_rows,) or None
            The weights of the rows.
        n_estimators : int or "auto", default=200
            The number of rounds.
        **parameters
            Further parameters of `GradientBoostingClassifier`.
        """
        rows, classes, weight = repeat_by_class(self.predict_proba(X))
        if sample_weight is not None:
            weight = weight * np.asarray(sample_weight, dtype=np.float64)[rows]
        own = {**self._shared(), "loss": "log_loss", "class_weight": None}
        small = GradientBoostingClassifier(**{**own, "n_estimators": n_estimators, **parameters})
        labels = np.asarray(self.classes_)[classes]
        table = X.tocsr() if scipy.sparse.issparse(X) else X
        # The copies of a row must not be on both sides of a fold.
        groups = rows if small.n_estimators == "auto" else None
        return small.fit(_safe_indexing(table, rows), labels, weight, groups=groups)
