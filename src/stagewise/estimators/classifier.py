"""What the classifiers share: labels in, decisions and probabilities out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import ClassifierMixin

from stagewise.data import as_frequencies, check_weight, read_labels
from stagewise.errors import InvalidParameterError
from stagewise.estimators.boosting_base import BoostedTrees
from stagewise.losses import CLASSIFICATION_LOSSES, Loss
from stagewise.model.model import Model
from stagewise.training.class_weights import class_weighted, without_absent
from stagewise.training.costs import check_costs
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = ["BoostedClassifier", "make_class_loss"]

Vector = npt.NDArray[np.float64]


def make_class_loss(loss: Any, classes: npt.NDArray[Any] | None, who: str) -> Loss:
    """Return the loss that is meant, for these classes."""
    assert classes is not None
    if isinstance(loss, Loss):
        return loss
    if not (isinstance(loss, str) and loss in CLASSIFICATION_LOSSES):
        raise InvalidParameterError(
            f"The parameter 'loss' of {who} must be one of "
            f"{', '.join(map(repr, CLASSIFICATION_LOSSES))}, or a stagewise.losses.Loss; "
            f"got {short_repr(loss)}.{nearest_name(str(loss), CLASSIFICATION_LOSSES)}"
        )
    return CLASSIFICATION_LOSSES[loss](len(classes))


class BoostedClassifier(ClassifierMixin, BoostedTrees):
    """Base of the classifiers; see `GradientBoostingClassifier` for the parameters."""

    class_weight: Any

    def decision_function(self, X: Any) -> Vector:
        """Return the scores: shape (n_rows,) for two classes, else (n_rows, n_classes)."""
        score = self._score(X)
        return score[:, 0] if score.shape[1] == 1 else score

    def predict_proba(self, X: Any) -> Vector:
        """Return the probability of every class, in the order of `classes_`."""
        model = self._fitted()
        return self._answer(model, self._score(X))

    def predict(self, X: Any, cost: Any = None) -> npt.NDArray[Any]:
        """Return the most probable class of every row, or the one of least expected cost.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The rows.
        cost : array-like of shape (n_classes, n_classes) or None
            L[l, k], what it costs to say class k of a row of class l, in the order of `classes_`.
            Then the answer is argmin_k Σ_l L[l, k] p_l(x). None: every mistake costs the same.
        """
        model = self._fitted()
        if cost is None:
            return self._decide(model, self._score(X))
        assert model.classes is not None
        prices = check_costs(cost, model.classes)
        expected = self._answer(model, self._score(X)) @ prices
        return np.asarray(model.classes[expected.argmin(axis=1)])

    def staged_predict_proba(self, X: Any) -> Iterator[Vector]:
        """Yield the probabilities after every round."""
        model = self._fitted()
        for score in self._staged_score(X):
            yield self._answer(model, score)

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the predicted classes after every round."""
        model = self._fitted()
        for score in self._staged_score(X):
            yield self._decide(model, score)

    def _answer(self, model: Model, score: Vector) -> Vector:
        assert model.classes is not None
        if len(model.classes) == 1:
            return np.ones((len(score), 1))
        if model.loss == "log_loss" and score.shape[1] == 1:  # on the way of every single row
            return np.stack([expit(-score[:, 0]), expit(score[:, 0])], axis=1)
        loss = getattr(self, "loss", None)
        if not isinstance(loss, Loss):
            loss = CLASSIFICATION_LOSSES[model.loss](len(model.classes))
        return np.asarray(loss.mean(score.T))

    def _decide(self, model: Model, score: Vector) -> npt.NDArray[Any]:
        assert model.classes is not None
        if len(model.classes) == 1:
            return np.repeat(model.classes, len(score))
        codes = score[:, 0] > 0 if score.shape[1] == 1 else score.argmax(axis=1)
        return np.asarray(model.classes[codes.astype(np.intp)])

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        assert model.classes is not None
        self.classes_: npt.NDArray[Any] = model.classes

    def _read_target(
        self, y: Any, sample_weight: Any, n_rows: int
    ) -> tuple[npt.NDArray[Any], Vector | None, npt.NDArray[Any] | None]:
        classes, codes = read_labels(y, n_rows, caller=type(self).__name__)
        weight = check_weight(sample_weight, n_rows)
        classes, codes = without_absent(classes, codes, weight)
        weight = class_weighted(self.class_weight, classes, codes, weight)
        classes, codes = without_absent(classes, codes, weight)
        return codes, weight, classes

    def _read_validation_target(
        self, y: Any, sample_weight: Any, n_rows: int, classes: npt.NDArray[Any] | None
    ) -> tuple[npt.NDArray[Any], Vector | None]:
        assert classes is not None
        found, codes = read_labels(y, n_rows, caller=type(self).__name__)
        unseen = [label for label in found.tolist() if label not in set(classes.tolist())]
        if unseen:
            raise ValueError(
                f"y_val has the label {unseen[0]!r}, which y does not have "
                f"(its classes are {classes.tolist()[:20]}). Leave such rows out of X_val."
            )
        places = np.searchsorted(classes, found).astype(np.int32)
        weight = check_weight(sample_weight, n_rows)
        return places[codes], None if weight is None else as_frequencies(weight)
