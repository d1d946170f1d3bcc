"""Bagging and cross-validation ensembles of any estimators.

An average has less variance than the estimators that are averaged, and the more so the less their
errors are correlated (docs/methods/bagging.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from stagewise.bagging.base import BaseBagging, check_kind
from stagewise.bagging.base_estimators import BaggedEstimator
from stagewise.bagging.combination import WeightedSum
from stagewise.bagging.parameters import BAGGING_RULES
from stagewise.data import as_frequencies, check_weight, read_labels, read_target, read_weight
from stagewise.estimators.bases.predictions.dataset_predictions import predicts_datasets
from stagewise.estimators.bases.predictions.r_squared import ScoredByR2
from stagewise.estimators.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from stagewise.learners.estimator import name_of
from stagewise.training.fit_report import warn_of_one_class
from stagewise.training.reading.class_weights import without_absent
from stagewise.validation.parameters import suggests_names
from stagewise.validation.rules import OneOf

__all__ = ["BaggingClassifier", "BaggingRegressor"]

Vector = npt.NDArray[np.float64]


def _has_decision_function(ensemble: Any) -> bool:
    base = ensemble._base_estimator()  # noqa: SLF001
    if not hasattr(base, "decision_function"):
        raise AttributeError(
            f"{type(ensemble).__name__} has decision_function only if the base estimator has one; "
            f"{name_of(base)} has none."
        )
    return True


class BaggingRegressor(ScoredByR2, BaseBagging):
    """Bagging of regressors: f(x) = Σ α_j h_j(x), each h_j fitted to a bag of the rows.

    Breiman (1996), *Bagging predictors*; with sampling="folds" an ensemble of the models of a
    cross-validation, called a cross-validation committee in the literature (Krogh & Vedelsby 1995;
    Parmanto, Munro & Doyle 1996).

    Parameters
    ----------
    estimator : scikit-learn regressor or None, default=None
        The base estimator, of this library or any other; None: a fully grown decision tree
        (`DecisionTreeRegressor` with split="histogram"). It is cloned for every bag, and each
        ``random_state`` in it is replaced by a number that depends on `random_state` and on the
        bag.
    n_estimators : int, default=100
        The largest number of base estimators. With sampling="folds" it is the number of folds.
    combine : {"average", "weighted"}, default="average"
        The weights α_j: equal, or proportional to 1/ε_j, where ε_j is the mean squared error of a
        base estimator on its out-of-sample rows.
    sampling : {"bootstrap", "uniform", "group", "folds"}, default="bootstrap"
        The rows of a bag. "bootstrap": each row a Poisson number of times, with mean
        `max_samples`. "uniform": each row with probability `max_samples`. "group": each group with
        that probability. "folds": all folds of `cv` but one; a base estimator whose `fit` has the
        arguments X_val and y_val, as the boosted models of this library, uses the held-out fold
        for early stopping; for all others the held-out fold only measures the error.
    max_samples : float or int, default=1.0
        The fraction (float) or the number (int) of the rows, or of the groups, in a bag, on
        average; see `sampling`. A row whose weight is a whole number is so many rows.
    max_features : float or int, default=1.0
        The columns that a base estimator is fitted to: a fraction (float; 1.0: all) or a number
        (int). Parameters of the base estimator that name columns by position refer to the drawn
        columns.
    bootstrap_features : bool, default=False
        Whether columns are drawn with replacement, so that an estimator may get a column twice.
    cv : int, splitter or list of pairs of indices, default=5
        The folds of sampling="folds": their number, a scikit-learn splitter, or the folds.
    oob_score : bool, default=False
        Whether to predict the out-of-bag rows of every base estimator.
    early_stopping : bool, default=False
        Whether to stop when the error of the out-of-bag rows no longer decreases. All base
        estimators that were fitted are kept.
    n_iter_no_change : int, default=10
        The number of base estimators without an improvement after which the fit stops.
    tol : float, default=0.0
        The smallest decrease of the error that counts as an improvement, as a fraction of the
        variance of y.
    warm_start : bool, default=False
        Whether `fit` keeps the base estimators of the last fit and adds those of further bags, up
        to `n_estimators`. With the same rows the ensemble is that of one fit.
    random_state : int, RandomState or None, default=0
        The seed of everything random; None draws a new seed.
    n_jobs : int or None, default=None
        The number of base estimators that are fitted, or that predict, in parallel; None: the
        number of threads. If it is more than one, every ``n_jobs`` of the base estimator is set to
        1. Threads are used, unless ``joblib.parallel_config`` sets another backend. The result
        does not depend on it.

    Attributes
    ----------
    estimators_ : list of fitted estimators
        The base estimators.
    estimator_ : estimator
        The base estimator that was cloned.
    estimators_features_, estimators_samples_ : list of arrays
        The positions of the columns, and of the rows, that each was fitted to; a row that was
        drawn k times occurs k times.
    estimator_weights_ : array of shape (n_estimators,)
        The weights α; they sum to 1.
    estimator_errors_ : array of shape (n_estimators,)
        ε of each base estimator, if it was measured.
    oob_prediction_, oob_score_ : array of shape (n_rows,) and float
        The out-of-bag predictions (NaN for a row that is in every bag), and their R²; with
        `oob_score` or `early_stopping`.
    oob_loss_ : array of shape (n_estimators,)
        The mean squared error of the out-of-bag rows for 1, 2, ... base estimators.
    oof_prediction_, oof_score_ : array of shape (n_rows,) and float
        The out-of-fold predictions and their R²; with sampling="folds".
    n_features_in_, feature_names_in_
        As in scikit-learn.
    seed_ : int
        The seed that was used.
    fit_report_ : dict
        Facts about the fit: see docs/fit-report.md.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggingRegressor(n_estimators=20, oob_score=True).fit(X, y)
    >>> model.oob_prediction_.shape
    (442,)
    """

    _rules = MappingProxyType({**BAGGING_RULES, "combine": OneOf(("average", "weighted"))})

    @suggests_names
    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        combine: str = "average",
        sampling: str = "bootstrap",
        max_samples: float | int = 1.0,
        max_features: float | int = 1.0,
        bootstrap_features: bool = False,
        cv: Any = 5,
        oob_score: bool = False,
        early_stopping: bool = False,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.combine = combine
        self.sampling = sampling
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap_features = bootstrap_features
        self.cv = cv
        self.oob_score = oob_score
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    @predicts_datasets
    def predict(self, X: Any) -> Vector:
        """Return the predicted value of every row."""
        return self._combined(X)[:, 0]

    def staged_predict(self, X: Any) -> Iterator[Vector]:
        """Yield the predictions of the first base estimator, of the first two, and so on."""
        for predicted in self._staged(X):
            yield predicted[:, 0]

    def _default_estimator(self) -> Any:
        return DecisionTreeRegressor(split="histogram")  # accepts sparse matrices too

    def _check_estimator(self, estimator: Any) -> None:
        check_kind(estimator, "regressor", type(self).__name__)

    def _read_target(
        self, y: Any, sample_weight: Any, n_rows: int
    ) -> tuple[npt.NDArray[Any], Vector | None, npt.NDArray[Any] | None]:
        target = read_target(y, n_rows, caller=type(self).__name__)
        return target, read_weight(sample_weight, n_rows), None


class BaggingClassifier(ClassifierMixin, BaseBagging):
    """Bagging of classifiers: Σ α_j h_j(x), each h_j fitted to a bag of the rows.

    h_j(x) are the class probabilities of base estimator j, or its vote: 1 for one class and 0 for
    the others. The predicted class has the largest sum; of equal sums, the first. Breiman (1996).

    Parameters
    ----------
    estimator : scikit-learn classifier or None, default=None
        The base estimator, of this library or any other; None: a fully grown decision tree
        (`DecisionTreeClassifier` with split="histogram"). It is cloned for every bag, and each
        ``random_state`` in it is replaced by a number that depends on `random_state` and on the
        bag. If a bag has only one class, its estimator always predicts that class.
    combine : {"average", "vote", "weighted"}, default="average"
        "average": the mean of the probabilities; of the votes, if the base estimator has no
        `predict_proba`. "vote": the fraction of the votes. "weighted": votes with weights
        α_j = log((1 - ε_j) / ε_j) + log(K - 1), where ε_j is the error rate of a base estimator on
        its out-of-sample rows, and K the number of classes.
    tol : float, default=0.0
        The smallest decrease of the error rate that counts as an improvement.
    n_estimators, sampling, max_samples, max_features, bootstrap_features, cv, oob_score, \
early_stopping, n_iter_no_change, warm_start, random_state, n_jobs
        As in `BaggingRegressor`. Early stopping uses the error rate. Folds are stratified.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    oob_prediction_, oof_prediction_ : array of shape (n_rows, n_classes)
        The out-of-bag and the out-of-fold predictions, in the form of `predict_proba`;
        `oob_decision_function_` is scikit-learn's name of the first.
    oob_score_, oof_score_ : float
        Their accuracies.
    oob_loss_, estimator_errors_ : array of shape (n_estimators,)
        Error rates.
    estimators_, estimator_, estimators_features_, estimators_samples_, estimator_weights_, \
n_features_in_, feature_names_in_, seed_, fit_report_
        As in `BaggingRegressor`.
    n_classes_ : int
        The number of classes.
    oob_decision_function_ : float64 array of shape (n_rows, n_classes)
        `oob_prediction_` by scikit-learn's name.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from stagewise import BaggingClassifier, GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> base = GradientBoostingClassifier(n_estimators=50)
    >>> BaggingClassifier(base, sampling="folds", cv=3).fit(X, y).predict_proba(X[:2]).shape
    (2, 2)
    """

    _rules = MappingProxyType({**BAGGING_RULES, "combine": OneOf(("average", "vote", "weighted"))})

    @suggests_names
    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        combine: str = "average",
        sampling: str = "bootstrap",
        max_samples: float | int = 1.0,
        max_features: float | int = 1.0,
        bootstrap_features: bool = False,
        cv: Any = 5,
        oob_score: bool = False,
        early_stopping: bool = False,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.combine = combine
        self.sampling = sampling
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap_features = bootstrap_features
        self.cv = cv
        self.oob_score = oob_score
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    @predicts_datasets
    def predict_proba(self, X: Any) -> Vector:
        """Return the mean probability, or the fraction of the votes, of every class."""
        return self._combined(X)

    @predicts_datasets
    def predict_log_proba(self, X: Any) -> Vector:
        """Return the logarithm of `predict_proba`; -inf where a probability is 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @available_if(_has_decision_function)  # type: ignore[untyped-decorator]
    @predicts_datasets
    def decision_function(self, X: Any) -> Vector:
        """Return the average of the decision functions of the base estimators, if they have one.

        The score of a class is the average over the bags that have the class and another one; NaN
        if there is none. The shape is (n_rows,) for two classes, else (n_rows, n_classes).
        """
        passed, sums, total = self._match(X), None, np.zeros(0)
        for decided, weight in self._predictions(passed, BaggedEstimator.decide):
            if sums is None:
                sums, total = WeightedSum(*decided.shape), np.zeros(decided.shape[1])
            known = ~np.isnan(decided).any(axis=0)
            sums.add(np.where(known, decided, 0.0), weight)
            total += weight * known
        assert sums is not None
        averages = sums.divide(np.where(total > 0.0, total, np.nan))
        return averages[:, 0] if averages.shape[1] == 1 else averages

    @property
    def oob_decision_function_(self) -> Vector:
        """The out-of-bag predictions, shape (n_rows, n_classes): scikit-learn's name of them."""
        if "oob_prediction_" not in self.__dict__:
            raise AttributeError(
                f"This {type(self).__name__} has no out-of-bag predictions: fit it with "
                "oob_score=True."
            )
        return np.asarray(self.oob_prediction_)

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return len(self.classes_)

    @predicts_datasets
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the largest probability; of equal ones, the first."""
        return self._largest(self._combined(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Vector]:
        """Yield the probabilities of the first base estimator, of the first two, and so on."""
        yield from self._staged(X)

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the classes predicted by the first base estimator, the first two, and so on."""
        for predicted in self._staged(X):
            yield self._largest(predicted)

    def _largest(self, predicted: Vector) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[predicted.argmax(axis=1)])

    def _default_estimator(self) -> Any:
        return DecisionTreeClassifier(split="histogram")

    def _check_estimator(self, estimator: Any) -> None:
        check_kind(estimator, "classifier", type(self).__name__)

    def _read_target(
        self, y: Any, sample_weight: Any, n_rows: int
    ) -> tuple[npt.NDArray[Any], Vector | None, npt.NDArray[Any] | None]:
        classes, codes = read_labels(y, n_rows, caller=type(self).__name__)
        weight = check_weight(sample_weight, n_rows)
        classes, codes = without_absent(classes, codes, weight)
        if len(classes) == 1:
            warn_of_one_class(classes)
        return codes, None if weight is None else as_frequencies(weight), classes
