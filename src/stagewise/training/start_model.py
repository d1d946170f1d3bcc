"""F before the first round, predicted by an estimator (`init`).

The estimator is fitted to the training rows as they were passed to `fit`. In a cross-validation it
is fitted to the training rows of each fold, so held-out rows have no influence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import joblib
import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from stagewise.errors import InvalidParameterError
from stagewise.learners.estimator import weight_argument
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
    names : tuple or None
        The columns of the table that it was fitted to; None: they have no names.
    """

    estimator: Any
    loss: Loss
    classes: npt.NDArray[Any] | None
    names: tuple[Any, ...] | None = None

    def scores(self, X: Any) -> Matrix:
        """Return F = link(prediction), shape (n_rows, n_outputs), in the units of the target."""
        X = select_columns(plain_table(X), self.names)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if not n_rows:
            return np.empty((0, self.loss.n_outputs))
        predicted = self._predict(X)
        if predicted.size != n_rows * (
            self.loss.n_outputs if self.classes is None else len(self.classes)
        ):
            raise ValueError(
                f"The estimator of 'init', {type(self.estimator).__name__}, predicts an array of "
                f"shape {predicted.shape} for {n_rows} rows; expected a number for each row and "
                "target."
            )
        scores = np.asarray(
            self.loss.link(predicted.reshape(n_rows, -1) if predicted.ndim > 1 else predicted)
        )
        scores = scores.reshape(n_rows, self.loss.n_outputs)
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
        Is cloned before it is fitted, with the weights of the fit, whose mean is 1 unless they are
        whole numbers.
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
        fitted, table = clone(self.estimator), self._table(rows)
        fitted.fit(table, y, **self._weights(rows))
        return StartModel(fitted, self.loss, self.classes, column_names(table))

    def _weights(self, rows: RowSet) -> dict[str, Any]:
        """Return the argument of `fit` with the weights of the rows, if they have any."""
        if rows.weight is None:
            return {}
        name = weight_argument(self.estimator)
        if name is None:
            raise InvalidParameterError(
                f"The rows have weights, but fit of the estimator of 'init', "
                f"{type(self.estimator).__name__}, has no argument sample_weight. Use another "
                "estimator, or fit without weights."
            )
        return {name: rows.weight}

    def scores(self, model: StartModel, rows: RowSet) -> Matrix:
        """Return the scores of rows before the first round, shape (n_rows, n_outputs)."""
        return model.scores(self._table(rows))

    def _table(self, rows: RowSet) -> Any:
        """Return rows as they were passed to `fit`."""
        X = plain_table(self.X if rows.columns is self.columns else self.X_val)
        return X if rows.rows is None else _safe_indexing(X, rows.rows.astype(np.intp))


def plain_table(X: Any) -> Any:
    """Return a table whose rows can be selected: sparse rows as CSR, Arrow streams as tables."""
    if issparse(X):
        return X.tocsr()
    has_arrow = hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")
    if has_arrow and not isinstance(nw.from_native(X, pass_through=True), nw.DataFrame):
        import pyarrow as pa

        return pa.table(X)
    return X


def column_names(X: Any) -> tuple[Any, ...] | None:
    """Return the names of the columns of a data frame; None: X is none."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return None if names is None else tuple(names)


def select_columns(X: Any, names: tuple[Any, ...] | None) -> Any:
    """Return the columns of a data frame in the order of names."""
    own = column_names(X)
    if names is None or own is None or own == names or not set(names) <= set(own):
        return X  # the estimator reports what is missing
    return X.select(list(names)) if hasattr(X, "select") else X[list(names)]
