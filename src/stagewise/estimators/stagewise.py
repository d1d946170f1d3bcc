"""Forward stagewise additive modelling with any loss and any learner.

The other boosting estimators are special cases. Here each part of the recipe is a parameter, and
the learner is a `HistogramTree` or any scikit-learn estimator.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy.typing as npt

from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.boosting import BaseBoosting
from stagewise.estimators.bases.predictions.classifier import ClassifierPredictions, make_class_loss
from stagewise.estimators.bases.predictions.regressor import (
    RegressionLossParameters,
    RegressorPredictions,
)
from stagewise.estimators.bases.stagewise import RESPONSES, STEPS, StagewiseMixin
from stagewise.estimators.bases.trees.tree_attributes import TreeAttributes
from stagewise.losses import Loss
from stagewise.options import OPTION_RULES
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import suggests_names
from stagewise.validation.rules import OneOf

__all__ = ["StagewiseClassifier", "StagewiseRegressor"]


class StagewiseRegressor(
    StagewiseMixin, RegressionLossParameters, RegressorPredictions, TreeAttributes, BaseBoosting
):
    """Forward stagewise additive regression with any loss and any learner.

    F_m = F_(m-1) + ν · step(b_m), where b_m is fitted to the response at F_(m-1): by weighted least
    squares, targets -g/h and weights h, with g and h the derivatives of the loss.

    Parameters
    ----------
    loss : str, Loss or function, default="squared_error"
        As in `GradientBoostingRegressor`.
    learner : HistogramTree, scikit-learn regressor or None, default=None
        The learner that is fitted in every round: a tree (`stagewise.learners.HistogramTree`; None:
        with its defaults), or any regressor, such as a linear model, nearest neighbours, a neural
        network, splines, a pipeline or a boosted model.
    init : {"mean", "zero"}, float, sequence of floats or estimator, default="mean"
        F before the first round, as in `GradientBoostingRegressor`.
    response : {"newton", "gradient"}, default="newton"
        The target of the learner: -g/h with weights h, or the negative gradient with equal weights.
    step : {"auto", "newton", "region_optimum", "line_search"}, default="auto"
        The values of a term. "newton": as fitted. "region_optimum" (trees only): every leaf takes
        the optimum of its region. "line_search": the term is multiplied by
        ρ = argmin_ρ Σ L(y, F + ρ b). "auto": "newton" for response="newton"; for
        response="gradient" and for losses without curvature, "region_optimum" for trees and
        "line_search" for other learners.
    learning_rate : float, default=0.1
        ν, the factor of every term.
    n_estimators : int, default=100
        The largest number of rounds. A round is one term for each score.
    subsample, sampling : default=1.0 and "uniform"
        The rows of a round, as in `GradientBoostingRegressor`. If the learner is a scikit-learn
        estimator, rows that count more than once do so by ``sample_weight``.
    resample : bool, default=False
        Whether a learner whose `fit` has no argument ``sample_weight`` gets rows that are drawn in
        proportion to their weights instead. If False, different weights are an error for such a
        learner.
    corrective : {None, "each_round", "end"}, default=None
        When the coefficients of all terms are fitted again, jointly: never, so that earlier terms
        stay as they are; after every round; or once, after the last round that is kept, whose
        losses are then those of the corrected model. For losses with a curvature. It keeps the
        predictions of every term for all rows in memory.
    max_bins, missing_values, categorical_features, handle_unknown
        As in `GradientBoostingRegressor`; for trees only.
    early_stopping, validation_fraction, n_iter_no_change, tol, eval_metric, time_limit, \
random_state, n_jobs, verbose, callbacks
        As in `GradientBoostingRegressor`. `n_jobs` is the number of threads of the loss and of
        trees; other learners have their own parameter.
    quantile : float or None, default=None
        As in `GradientBoostingRegressor`.

    Attributes
    ----------
    model_ : Model or TermModel
        The fitted model; a `TermModel` if the learner is a scikit-learn estimator.
    n_iter_, best_iteration_, learning_rate_, train_loss_, validation_loss_, \
evals_result_, best_score_, \
feature_importances_, n_features_in_, feature_names_in_, fit_report_
        As in `GradientBoostingRegressor`; `feature_importances_` only for trees.
    seed_
        As in `GradientBoostingRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from stagewise import StagewiseRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> StagewiseRegressor("huber", learner=Ridge(), n_estimators=20).fit(X, y).predict(X).shape
    (442,)
    """

    @suggests_names
    def __init__(
        self,
        loss: str | Loss = "squared_error",
        *,
        learner: Any = None,
        init: Any = "mean",
        response: str = "newton",
        step: str = "auto",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        sampling: Any = "uniform",
        resample: bool = False,
        corrective: str | None = None,
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
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
        quantile: float | None = None,
    ) -> None:
        self.loss = loss
        self.learner = learner
        self.init = init
        self.response = response
        self.step = step
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.sampling = sampling
        self.resample = resample
        self.corrective = corrective
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.quantile = quantile


class StagewiseClassifier(StagewiseMixin, ClassifierPredictions, TreeAttributes, BaseBoosting):
    """Forward stagewise additive classification with any loss and any learner.

    See `StagewiseRegressor` for the algorithm.

    Parameters
    ----------
    loss : {"log_loss", "exponential"}, Loss or function, default="log_loss"
        As in `GradientBoostingClassifier`.
    learner : HistogramTree, scikit-learn estimator or None, default=None
        The learner that is fitted in every round; see `StagewiseRegressor`. It is a classifier with
        response="classes", and otherwise a regressor.
    init : {"mean", "zero"}, float, sequence of floats or estimator, default="mean"
        F before the first round, as in `GradientBoostingClassifier`. With response="classes",
        "mean" is 0, where AdaBoost starts.
    response : {"newton", "gradient", "classes"}, default="newton"
        The target of the learner: numbers, as in `StagewiseRegressor`; or the classes, with the row
        weights of the exponential loss (AdaBoost).
    step : {"auto", "newton", "region_optimum", "line_search", "votes", "log_odds"}, default="auto"
        As in `StagewiseRegressor`. With response="classes": "votes" (discrete AdaBoost; also
        "auto") or "log_odds" (real AdaBoost, trees only).
    learning_rate : float, default=0.1
        ν, the factor of every term.
    n_estimators : int, default=100
        The largest number of rounds. A round is one term for each score.
    subsample, sampling : default=1.0 and "uniform"
        The rows of a round, as in `GradientBoostingRegressor`. If the learner is a scikit-learn
        estimator, rows that count more than once do so by ``sample_weight``.
    resample : bool, default=False
        Whether a learner whose `fit` has no argument ``sample_weight`` gets rows that are drawn in
        proportion to their weights instead. If False, different weights are an error for such a
        learner.
    corrective : {None, "each_round", "end"}, default=None
        When the coefficients of all terms are fitted again, jointly: never, so that earlier terms
        stay as they are; after every round; or once, after the last round that is kept, whose
        losses are then those of the corrected model. For losses with a curvature. It keeps the
        predictions of every term for all rows in memory.
    max_bins, missing_values, categorical_features, handle_unknown
        As in `GradientBoostingRegressor`; for trees only.
    early_stopping, validation_fraction, n_iter_no_change, tol, eval_metric, time_limit, \
random_state, n_jobs, verbose, callbacks
        As in `GradientBoostingRegressor`. `n_jobs` is the number of threads of the loss and of
        trees; other learners have their own parameter.
    class_weight : dict, "balanced" or None, default=None
        As in `GradientBoostingClassifier`.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    model_, n_iter_, best_iteration_, learning_rate_, train_loss_, validation_loss_, \
evals_result_, best_score_, \
feature_importances_, n_features_in_, feature_names_in_, fit_report_
        As in `StagewiseRegressor`.
    n_classes_, seed_
        As in `GradientBoostingClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from stagewise import StagewiseClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = StagewiseClassifier("exponential", learner=GaussianNB(), response="classes")
    >>> model.set_params(n_estimators=5).fit(X, y).predict_proba(X[:2]).shape
    (2, 2)
    """

    _rules = MappingProxyType(
        {
            "sampling": OPTION_RULES["sampling"],
            "response": OneOf(tuple(RESPONSES)),
            "step": OneOf(("auto", *STEPS)),
        }
    )

    @suggests_names
    def __init__(
        self,
        loss: str | Loss = "log_loss",
        *,
        learner: Any = None,
        init: Any = "mean",
        response: str = "newton",
        step: str = "auto",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        sampling: Any = "uniform",
        resample: bool = False,
        corrective: str | None = None,
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
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.loss = loss
        self.learner = learner
        self.init = init
        self.response = response
        self.step = step
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.sampling = sampling
        self.resample = resample
        self.corrective = corrective
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.class_weight = class_weight

    def _parameters(self) -> dict[str, Any]:
        params = super()._parameters()
        if params["response"] == "classes" and params["loss"] != "exponential":
            raise InvalidParameterError(
                f"The parameter 'loss' of {type(self).__name__} must be 'exponential' with "
                "response='classes', because no other loss has row weights; got "
                f"{short_repr(params['loss'])}."
            )
        return params

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        return make_class_loss(self.loss, classes, type(self).__name__)
