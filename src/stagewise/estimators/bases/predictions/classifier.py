"""The predictions of classifiers from scores: classes and probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.predictions.calibrated import calibrated, is_calibrated
from stagewise.estimators.bases.predictions.costs import check_costs
from stagewise.estimators.bases.predictions.dataset_predictions import predicts_datasets
from stagewise.losses import CLASSIFICATION_LOSSES, Loss
from stagewise.losses.owners import refuse_other_task, refused_loss
from stagewise.losses.registration import LOSS_FORMS, custom_loss
from stagewise.losses.scores import squeeze_outputs
from stagewise.model.model import Model
from stagewise.training.reading.target_reader import ClassReader, TargetReader

__all__ = ["ClassifierPredictions", "make_class_loss"]

Vector = npt.NDArray[np.float64]


def make_class_loss(
    loss: Any, classes: npt.NDArray[Any] | None, estimator_name: str, *, ordered: bool = False
) -> Loss:
    """Return the loss for these classes; `ordered`: the classes may have an order."""
    assert classes is not None
    made = _class_loss(loss, classes, estimator_name)
    if made.ordered and not ordered:
        raise InvalidParameterError(
            f"loss={made.name!r} is for ordered classes, which {estimator_name} does not have. Use "
            "GradientBoostingClassifier."
        )
    return made


def _class_loss(loss: Any, classes: npt.NDArray[Any], estimator_name: str) -> Loss:
    own = custom_loss(loss, CLASSIFICATION_LOSSES["log_loss"](len(classes)))
    if own is not None:
        refuse_other_task(own, estimator_name, of_classes=True)
        return own.for_classes(len(classes))
    if not (isinstance(loss, str) and loss in CLASSIFICATION_LOSSES):
        raise refused_loss(loss, estimator_name, CLASSIFICATION_LOSSES, LOSS_FORMS)
    return CLASSIFICATION_LOSSES[loss](len(classes))


class ClassifierPredictions(ClassifierMixin):
    """Classifiers whose model has scores."""

    class_weight: Any

    if TYPE_CHECKING:  # defined by the other bases of an estimator

        def _fitted(self) -> Model: ...

        def _score(self, X: Any, n_rounds: Any = None) -> Vector: ...

        def _staged_with_offset(self, X: Any, offset: Any, exposure: Any) -> Iterator[Vector]: ...

        def _prediction_loss(self, model: Any) -> Loss: ...

        def _with_offset(
            self, model: Model, score: Vector, X: Any, offset: Any, exposure: Any
        ) -> Vector: ...

    def _target_reader(self) -> TargetReader:
        return ClassReader(type(self).__name__, self.class_weight)

    @predicts_datasets
    def decision_function(
        self, X: Any, *, n_rounds: int | None = None, offset: Any = None
    ) -> Vector:
        """Return the scores: shape (n_rows,) for two classes, else (n_rows, n_classes).

        Parameters
        ----------
        X : array-like, data frame, sparse matrix of shape (n_rows, n_features), or Dataset
            The rows.
        n_rounds : int or None
            The number of rounds to use, from 1 to `n_iter_`; of a forest, the number of trees.
            None: all.
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), number, str or None
            As of `fit`. A model that was fitted with one needs it again, unless it is a column of
            X.
        """
        return squeeze_outputs(self._scores(X, n_rounds, offset))

    @predicts_datasets
    def predict_proba(self, X: Any, *, n_rounds: int | None = None, offset: Any = None) -> Vector:
        """Return the probability of every class, in the order of `classes_`.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix of shape (n_rows, n_features), or Dataset
            The rows.
        n_rounds : int or None
            The number of rounds to use, from 1 to `n_iter_`; of a forest, the number of trees.
            None: all.
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), number, str or None
            As of `decision_function`.
        """
        model = self._fitted()
        return self._predict_scores(model, self._scores(X, n_rounds, offset))

    @predicts_datasets
    def predict_log_proba(
        self, X: Any, *, n_rounds: int | None = None, offset: Any = None
    ) -> Vector:
        """Return the logarithm of `predict_proba`; -inf where a probability is 0."""
        # A subclass may define `predict_proba` without offsets.
        named = {} if offset is None else {"offset": offset}
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X, n_rounds=n_rounds, **named)))

    def _scores(self, X: Any, n_rounds: Any, offset: Any) -> Vector:
        """Return F plus the offset of rows, shape (n_rows, n_outputs)."""
        return self._with_offset(self._fitted(), self._score(X, n_rounds), X, offset, None)

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        classes = self._fitted().classes
        assert classes is not None
        return len(classes)

    @predicts_datasets
    def predict(
        self, X: Any, cost: Any = None, *, n_rounds: int | None = None, offset: Any = None
    ) -> npt.NDArray[Any]:
        """Return the most probable class of every row, or the one of least expected cost.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The rows.
        cost : array-like of shape (n_classes, n_classes) or None
            L[l, k], the cost of predicting class k for a row of class l, in the order of
            `classes_`. The prediction is argmin_k Σ_l L[l, k] p_l(x). None: every error costs the
            same.
        n_rounds : int or None
            The number of rounds to use, from 1 to `n_iter_`; of a forest, the number of trees.
            None: all.
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), number, str or None
            As of `decision_function`.
        """
        model = self._fitted()
        if cost is None:
            return self._decide(model, self._scores(X, n_rounds, offset))
        assert model.classes is not None
        prices = check_costs(cost, model.classes)
        expected = self._predict_scores(model, self._scores(X, n_rounds, offset)) @ prices
        return np.asarray(model.classes[expected.argmin(axis=1)])

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the accuracy of the predictions of X.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,) or None
            Their weights.
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), number, str or None
            As of `decision_function`.
        """
        named = {} if offset is None else {"offset": offset}
        predicted = self.predict(X, **named)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def staged_decision_function(self, X: Any, *, offset: Any = None) -> Iterator[Vector]:
        """Yield the scores after every round, in the shape of `decision_function`."""
        for score in self._staged_with_offset(X, offset, None):
            yield squeeze_outputs(score)

    def staged_predict_proba(self, X: Any, *, offset: Any = None) -> Iterator[Vector]:
        """Yield the probabilities after every round."""
        model = self._fitted()
        for score in self._staged_with_offset(X, offset, None):
            yield self._predict_scores(model, score)

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[npt.NDArray[Any]]:
        """Yield the predicted classes after every round."""
        model = self._fitted()
        for score in self._staged_with_offset(X, offset, None):
            yield self._decide(model, score)

    def _predict_scores(self, model: Model, score: Vector) -> Vector:
        proba = self._probabilities(model, score)
        return calibrated(model, proba) if model.learned else proba

    def _probabilities(self, model: Model, score: Vector) -> Vector:
        """Return the probabilities of the loss, before calibration."""
        assert model.classes is not None
        if len(model.classes) == 1:
            return np.ones((len(score), 1))
        if model.loss == "log_loss" and score.shape[1] == 1:  # the path of single rows
            return np.stack([expit(-score[:, 0]), expit(score[:, 0])], axis=1)
        return np.asarray(self._prediction_loss(model).mean(squeeze_outputs(score)))

    def _decide(self, model: Model, score: Vector) -> npt.NDArray[Any]:
        assert model.classes is not None
        if len(model.classes) == 1:
            return np.repeat(model.classes, len(score))
        if is_calibrated(model):
            codes = self._predict_scores(model, score).argmax(axis=1)
        else:
            codes = self._prediction_loss(model).decide(score)
        return np.asarray(model.classes[codes.astype(np.intp)])
