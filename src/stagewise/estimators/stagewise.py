"""Forward stagewise additive modelling with any loss and any learner.

The one idea: the general tool. Every other estimator is a case of it; here each part of the recipe
is a parameter, and the learner may be a tree of the core or any scikit-learn estimator.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy.typing as npt

from stagewise.errors import InvalidParameterError
from stagewise.estimators.classifier import ClassifierPredictions, make_class_loss
from stagewise.estimators.regressor import RegressionLossParameters, RegressorPredictions
from stagewise.estimators.stagewise_base import RESPONSES, STAGEWISE_RULES, STEPS, BaseStagewise
from stagewise.losses import Loss
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import suggests_names
from stagewise.validation.rules import OneOf

__all__ = ["StagewiseClassifier", "StagewiseRegressor"]


class StagewiseRegressor(RegressionLossParameters, RegressorPredictions, BaseStagewise):
    """Forward stagewise additive modelling of a number, with any loss and any learner.

    F_m = F_(m-1) + ν · step(b_m), where b_m is fitted to the response at F_(m-1): by weighted least
    squares, targets -g/h and weights h, with g and h the derivatives of the loss.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        As in `GradientBoostingRegressor`.
    learner : HistogramTree, scikit-learn regressor or None, default=None
        What is fitted in every round: a tree of the core with rules of your own
        (`stagewise.learners.HistogramTree`; None: its defaults), or any regressor: linear models,
        nearest neighbours, networks, splines, pipelines, a boosted model itself.
    response : {"newton", "gradient"}, default="newton"
        What it is fitted to: -g/h with weights h, or the negative gradient with equal weights.
    step : {"auto", "newton", "region_optimum", "line_search"}, default="auto"
        How far to go: as fitted; every leaf to its region's own optimum (trees); or one number for
        the whole term, ρ = argmin Σ L(y, F + ρ b). "auto" is as fitted for Newton's response; else,
        and for losses without curvature, the optimum of regions for trees and a line search for
        other learners.
    learning_rate : float, default=0.1
        ν: what every term is multiplied by.
    n_estimators : int, default=100
        The number of rounds, at most. A round is one term for each score.
    subsample, sampling : default=1.0 and "uniform"
        Which rows a round sees; as in `GradientBoostingRegressor`. Rows that count more than once
        do so by ``sample_weight`` where the learner is an estimator.
    resample : bool, default=False
        Whether a learner that takes no ``sample_weight`` gets rows drawn in proportion to their
        weights instead. Without it, weights that such a learner cannot take are an error.
    max_bins, missing_values, categorical_features, handle_unknown
        As in `GradientBoostingRegressor`; for trees only.
    early_stopping, validation_fraction, n_iter_no_change, tol, time_limit, random_state, \
n_jobs, verbose, callbacks
        As in `GradientBoostingRegressor`. `n_jobs` are the threads of the loss and of trees; other
        learners have their own.
    quantile : float or None, default=None
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
        response: str = "newton",
        step: str = "auto",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        sampling: Any = "uniform",
        resample: bool = False,
        max_bins: int = 255,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        early_stopping: Any = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        time_limit: float | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
        quantile: float | None = None,
    ) -> None:
        self.loss = loss
        self.learner = learner
        self.response = response
        self.step = step
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.sampling = sampling
        self.resample = resample
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.quantile = quantile


class StagewiseClassifier(ClassifierPredictions, BaseStagewise):
    """Forward stagewise additive modelling of classes, with any loss and any learner.

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or Loss, default="log_loss"
        As in `GradientBoostingClassifier`.
    learner : HistogramTree, scikit-learn estimator or None, default=None
        What is fitted in every round; see `StagewiseRegressor`. With response="classes" it is a
        classifier, else a regressor, also for classes.
    response : {"newton", "gradient", "classes"}, default="newton"
        What it is fitted to: numbers, as in `StagewiseRegressor`; or the classes themselves, with
        the weights that the exponential loss gives the rows (AdaBoost).
    step : {"auto", "newton", "region_optimum", "line_search", "votes", "log_odds"}, default="auto"
        As in `StagewiseRegressor`. For classes: "votes" (discrete AdaBoost; also "auto") or
        "log_odds" (real AdaBoost, trees only).
    learning_rate : float, default=0.1
        ν: what every term is multiplied by.
    n_estimators : int, default=100
        The number of rounds, at most. A round is one term for each score.
    subsample, sampling : default=1.0 and "uniform"
        Which rows a round sees; as in `GradientBoostingRegressor`. Rows that count more than once
        do so by ``sample_weight`` where the learner is an estimator.
    resample : bool, default=False
        Whether a learner that takes no ``sample_weight`` gets rows drawn in proportion to their
        weights instead. Without it, weights that such a learner cannot take are an error.
    max_bins, missing_values, categorical_features, handle_unknown
        As in `GradientBoostingRegressor`; for trees only.
    early_stopping, validation_fraction, n_iter_no_change, tol, time_limit, random_state, \
n_jobs, verbose, callbacks
        As in `GradientBoostingRegressor`. `n_jobs` are the threads of the loss and of trees; other
        learners have their own.
    class_weight : dict, "balanced" or None, default=None
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
            **STAGEWISE_RULES,
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
        response: str = "newton",
        step: str = "auto",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        sampling: Any = "uniform",
        resample: bool = False,
        max_bins: int = 255,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        early_stopping: Any = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        time_limit: float | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.loss = loss
        self.learner = learner
        self.response = response
        self.step = step
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.sampling = sampling
        self.resample = resample
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
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
                "response='classes', because only it weighs rows; got "
                f"{short_repr(params['loss'])}."
            )
        return params

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        return make_class_loss(self.loss, classes, type(self).__name__)
