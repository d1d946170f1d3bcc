"""F before the first round, predicted by an estimator (`init`).

The estimator is fitted to the training rows as they were passed to `fit`. In a cross-validation it
is fitted to the training rows of each fold, so held-out rows have no influence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from stagewise.errors import InvalidParameterError
from stagewise.losses import Loss
from stagewise.training.reading.row_set import RowSet

__all__ = ["StartLearner", "StartModel"]

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StartModel:
    """A fitted estimator whose predictions, by the link of a loss, are scores.

    Attributes
    ----------
    estimator : estimator
        The fitted estimator.
    loss : Loss
        The loss of the boosted model.
    classes : array or None
        The class labels of the boosted model; None: regression.
    """

    estimator: Any
    loss: Loss
    classes: npt.NDArray[Any] | None

    def scores(self, X: Any) -> Matrix:
        """Return F = link(prediction), shape (n_rows, n_outputs), in the units of the target."""
        predicted = self._predict(X)
        scores = np.asarray(self.loss.link(predicted)).reshape(len(predicted), self.loss.n_outputs)
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores).all(axis=1)))
            raise ValueError(
                f"The estimator of 'init', {type(self.estimator).__name__}, predicts "
                f"{predicted[row].tolist()} for row {row}, which has no finite score with "
                f"loss={self.loss.name!r}. Use an estimator whose predictions are in the domain of "
                "the loss."
            )
        return scores

    def fingerprint(self, of_rounds: str) -> str:
        """Return a hash of the estimator and of the rounds that follow it.

        It is that of the estimator, or of its pickle, which is valid on this machine.
        """
        estimator = self.estimator
        own = estimator.fingerprint() if hasattr(estimator, "fingerprint") else estimator
        return str(joblib.hash([of_rounds, own], hash_name="sha1"))

    def _predict(self, X: Any) -> Matrix:
        if self.classes is None:
            return np.asarray(self.estimator.predict(X), dtype=np.float64)
        if not hasattr(self.estimator, "predict_proba"):
            raise InvalidParameterError(
                f"The estimator of 'init' must have predict_proba, so that its probabilities are "
                f"scores; {type(self.estimator).__name__} has not. Use another classifier, or "
                "scikit-learn's CalibratedClassifierCV."
            )
        found = np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
        places = np.searchsorted(self.classes, self.estimator.classes_)
        whole = np.zeros((len(found), len(self.classes)))  # a fold may lack a class
        whole[:, places] = found
        return whole


@dataclass(frozen=True)
class StartLearner:
    """The estimator of `init` before it is fitted, with the rows as they were passed to `fit`.

    Attributes
    ----------
    estimator : estimator
        Is cloned before it is fitted.
    loss, classes
        As of `StartModel`.
    X, X_val : table
        The arguments of `fit`.
    columns : object
        The columns of X in a `RowSet`; those of X_val are other ones.
    fitted : StartModel or None
        The start of the model that is continued.
    """

    estimator: Any
    loss: Loss
    classes: npt.NDArray[Any] | None
    X: Any
    X_val: Any
    columns: Any
    fitted: StartModel | None = None

    def fit(self, rows: RowSet) -> StartModel:
        """Return the model of some training rows."""
        if self.fitted is not None:
            return self.fitted
        y = rows.y if self.classes is None else self.classes[rows.y]
        weight = {} if rows.weight is None else {"sample_weight": rows.weight}
        fitted = clone(self.estimator).fit(self._table(rows), y, **weight)
        return StartModel(fitted, self.loss, self.classes)

    def scores(self, model: StartModel, rows: RowSet) -> Matrix:
        """Return the scores of rows before the first round, shape (n_rows, n_outputs)."""
        return model.scores(self._table(rows))

    def _table(self, rows: RowSet) -> Any:
        """Return rows as they were passed to `fit`."""
        X = self.X if rows.columns is self.columns else self.X_val
        return X if rows.rows is None else _safe_indexing(X, rows.rows.astype(np.intp))
