"""Predictions of classifiers with several targets, in scikit-learn's shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if

from stagewise.errors import InvalidParameterError, ModelFormatError
from stagewise.estimators.bases.predictions.classifier import ClassifierPredictions
from stagewise.losses import BinaryTargetsLoss, ClassTargetsLoss, Loss
from stagewise.model.model import Model
from stagewise.training.reading.target_reader import ClassTargetsReader, TargetReader
from stagewise.validation.arguments import suggests_arguments

__all__ = ["ClassTargetPredictions", "exact_matches"]

Vector = npt.NDArray[np.float64]
ClassTargets = tuple[npt.NDArray[Any], ...]


def exact_matches(y: npt.NDArray[Any], predicted: npt.NDArray[Any], weight: Any = None) -> float:
    """Return the fraction of rows whose targets are all predicted correctly."""
    return float(np.average((y == predicted).all(axis=1), weights=weight))


def _has_one_target(estimator: Any) -> bool:
    """Raise AttributeError if an estimator was fitted to several targets."""
    model = estimator.__dict__.get("model_")
    has_scores = estimator._scores_of_targets  # noqa: SLF001
    if model is not None and model.class_targets is not None and not has_scores:
        raise AttributeError(
            f"decision_function is for one target, but y had {len(model.class_targets)}. Use "
            "predict_proba."
        )
    return True


class ClassTargetPredictions(ClassifierPredictions):
    """Classifiers whose y may have several columns of classes (multi-label, multi-output)."""

    _several_targets = True
    _scores_of_targets = False
    """Whether several targets have scores besides their probabilities."""

    def _target_reader(self) -> TargetReader:
        return ClassTargetsReader(type(self).__name__, self.class_weight)

    @suggests_arguments
    def predict_proba(self, X: Any, *, n_rounds: int | None = None, offset: Any = None) -> Any:
        """Return the probability of every class, in the order of `classes_`.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix of shape (n_rows, n_features), or Dataset
            The rows.
        n_rounds : int or None
            The number of trees to use; None: all.
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), number, str or None
            As of `fit`; forests and single trees have none.

        Returns
        -------
        array of shape (n_rows, n_classes), or for several targets a list of such arrays
        """
        found = super().predict_proba(X, n_rounds=n_rounds, offset=offset)
        return self._by_target(found)

    @suggests_arguments
    def predict_log_proba(self, X: Any, *, n_rounds: int | None = None, offset: Any = None) -> Any:
        """Return the logarithm of `predict_proba`; -inf where a probability is 0."""
        found = self.predict_proba(X, n_rounds=n_rounds, offset=offset)
        with np.errstate(divide="ignore"):
            return [np.log(own) for own in found] if isinstance(found, list) else np.log(found)

    @suggests_arguments
    def staged_predict_proba(self, X: Any, *, offset: Any = None) -> Iterator[Any]:
        """Yield the probabilities after every tree, in the shape of `predict_proba`."""
        return map(self._by_target, super().staged_predict_proba(X, offset=offset))

    @available_if(_has_one_target)  # type: ignore[untyped-decorator]
    @suggests_arguments
    def decision_function(
        self, X: Any, *, n_rounds: int | None = None, offset: Any = None
    ) -> Vector:
        """Return the scores: shape (n_rows,) for two classes, else (n_rows, n_classes).

        Of several targets it is one score for each, shape (n_rows, n_targets); forests and single
        trees do not have this method then.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix of shape (n_rows, n_features), or Dataset
            The rows.
        n_rounds : int or None
            The number of trees to use; None: all.
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), number, str or None
            As of `fit`; forests and single trees have none.
        """
        return super().decision_function(X, n_rounds=n_rounds, offset=offset)

    @suggests_arguments
    def predict(
        self, X: Any, cost: Any = None, *, n_rounds: int | None = None, offset: Any = None
    ) -> npt.NDArray[Any]:
        """Return the most probable class of every row, or the one of least expected cost.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The rows.
        cost : array-like of shape (n_classes, n_classes) or None
            L[l, k], the cost of predicting class k for a row of class l; for one target.
        n_rounds : int or None
            The number of trees to use; None: all.
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), number, str or None
            As of `fit`; forests and single trees have none.

        Returns
        -------
        array of shape (n_rows,), or (n_rows, n_targets) for several targets
        """
        if cost is not None:
            self._check_one_target("cost")
        return super().predict(X, cost, n_rounds=n_rounds, offset=offset)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the accuracy; for several targets, the fraction of rows with no wrong target.

        Parameters
        ----------
        X, y, sample_weight
            Rows, their labels and their weights.
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), number, str or None
            As of `fit`; forests and single trees have none.
        """
        if self._fitted().class_targets is None:
            return super().score(X, y, sample_weight, offset=offset)
        truth, predicted = np.asarray(y), self.predict(X)
        if truth.shape != predicted.shape:
            raise ValueError(f"y has the shape {truth.shape}; expected {predicted.shape}.")
        return exact_matches(truth, predicted, sample_weight)

    @property
    def n_classes_(self) -> Any:
        """The number of classes; for several targets, a list."""
        targets = self._fitted().class_targets
        if targets is None:
            return super().n_classes_
        return [len(classes) for classes in targets]

    def _by_target(self, values: Vector) -> Any:
        targets = self._fitted().class_targets
        return values if targets is None else self._targets_loss(targets).split(values)

    def _check_one_target(self, what: str) -> None:
        targets = self._fitted().class_targets
        if targets is not None:
            raise InvalidParameterError(
                f"{what} is for one target, but y had {len(targets)}. Use predict_proba."
            )

    def _predict_scores(self, model: Model, score: Vector) -> Vector:
        if model.class_targets is None:
            return super()._predict_scores(model, score)
        return self._targets_loss(model.class_targets).mean(score)

    def _decide(self, model: Model, score: Vector) -> npt.NDArray[Any]:
        targets = model.class_targets
        if targets is None:
            return super()._decide(model, score)
        loss = self._targets_loss(targets)
        codes = [own.argmax(axis=1) for own in loss.split(loss.mean(score))]
        same = len({classes.dtype for classes in targets}) == 1
        kind = np.result_type(*targets) if same else object
        labels = np.empty((len(score), len(targets)), dtype=kind)
        for k, (classes, own) in enumerate(zip(targets, codes, strict=True)):
            labels[:, k] = classes[own]
        return labels

    def _prediction_loss(self, model: Any) -> Loss:
        if model.class_targets is None:
            return super()._prediction_loss(model)
        return self._targets_loss(model.class_targets)

    def _targets_loss(self, targets: ClassTargets) -> ClassTargetsLoss | BinaryTargetsLoss:
        """Return the loss of several targets of these classes."""
        return ClassTargetsLoss([len(classes) for classes in targets])

    @classmethod
    def _check_targets(cls, model: Model) -> None:
        """Raise ModelFormatError unless the scores of a file are those of its targets."""
        assert model.class_targets is not None
        if model.loss != "squared_error" or model.ensemble.n_outputs != sum(
            map(len, model.class_targets)
        ):
            raise ModelFormatError(f"a {cls.__name__} does not have these targets of classes.")
