"""F before the first round, predicted by an estimator (`init`).

The estimator is fitted to the training rows as they were passed to `fit`. In a cross-validation it
is fitted to the training rows of each fold, so held-out rows have no influence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from stagewise.data.class_order import place_labels
from stagewise.errors import InvalidParameterError
from stagewise.learners.estimator import weight_argument
from stagewise.losses import Loss
from stagewise.losses.log_link import LogLinkLoss
from stagewise.training.reading.passthrough import Header, PassthroughReader, UntouchedRows
from stagewise.training.reading.row_set import RowSet
from stagewise.training.reading.training_data import FitArguments, TrainingData

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
    header : Header
        The columns of the table that it was fitted to.
    """

    estimator: Any
    loss: Loss
    classes: npt.NDArray[Any] | None
    header: Header

    def scores(self, X: Any, caller: str) -> Matrix:
        """Return the scores of new rows; columns are matched by name.

        `caller` is the name of the boosted model, for messages.
        """
        return self.scores_of(self.header.match(X, caller))

    def scores_of(self, rows: UntouchedRows) -> Matrix:
        """Return F = link(prediction), shape (n_rows, n_outputs), in the units of the target."""
        shape = rows.n_rows, self.loss.n_outputs
        if not rows.n_rows:
            return np.empty(shape)
        predicted = self._predict(rows.X)
        if predicted.size != rows.n_rows * (shape[1] if self.classes is None else self._n_classes):
            raise ValueError(
                f"The estimator of 'init', {type(self.estimator).__name__}, predicts an array of "
                f"shape {predicted.shape} for {rows.n_rows} rows; expected a number for each row "
                "and target."
            )
        scores = np.asarray(self.loss.link(predicted)).reshape(shape)
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

    @property
    def _n_classes(self) -> int:
        return 0 if self.classes is None else len(self.classes)

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
        places = place_labels(self.classes, self.estimator.classes_)
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
    header : Header
        The columns of X.
    tables : sequence of (object, UntouchedRows)
        The columns of X in a `RowSet`, and X as it was passed; then those of evaluation rows.
    fitted : StartModel or None
        The start of the model that is continued.
    """

    estimator: Any
    loss: Loss
    classes: npt.NDArray[Any] | None
    header: Header
    tables: Sequence[tuple[Any, UntouchedRows]]
    fitted: StartModel | None

    @classmethod
    def of(
        cls,
        estimator: Any,
        loss: Loss,
        data: TrainingData,
        arguments: FitArguments,
        caller: str,
        fitted: StartModel | None,
    ) -> StartLearner:
        """Return the estimator with the rows of a fit; `caller` fits it, for messages."""
        if fitted is None:
            table = PassthroughReader(caller).read(arguments.feature_table)
            assert table.header is not None
            header = table.header
        else:
            header = fitted.header
            table = header.match(arguments.feature_table, caller)
        passed = {own.name: own.X for own in arguments.passed_sets}
        sets = [(data.valid_name, data.valid), *((own.name, own.rows) for own in data.eval_sets)]
        tables = [(data.train.columns, table)] + [
            (rows.columns, header.match(passed[name], caller))
            for name, rows in sets
            if rows is not None and rows.columns is not data.train.columns
        ]
        return cls(estimator, loss, data.classes, header, tables, fitted)

    def fit(self, rows: RowSet) -> StartModel:
        """Return the model of some training rows."""
        if self.fitted is not None:
            return self.fitted
        rows = self._without_offset(rows)
        y = rows.y if self.classes is None else self.classes[rows.y]
        fitted = clone(self.estimator)
        fitted.fit(self._rows(rows).X, y, **self._weights(rows))
        return StartModel(fitted, self.loss, self.classes, self.header)

    def _without_offset(self, rows: RowSet) -> RowSet:
        """Return targets and weights of which the estimator predicts the part beside the offset."""
        if rows.offset is None:
            return rows
        if self.loss.degree is not None:
            return rows.without_offset()
        if not isinstance(self.loss, LogLinkLoss):
            raise InvalidParameterError(
                f"init={type(self.estimator).__name__} cannot be combined with an offset and "
                f"loss={self.loss.name!r}: the estimator has no offset. Fit it first, and pass its "
                "scores plus yours as offset, with init='zero'."
            )
        y, weight = self.loss.rates(rows.y, rows.weight, rows.offset[:, 0])
        return replace(rows, y=y, weight=weight, offset=None)

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
        return model.scores_of(self._rows(rows))

    def _rows(self, rows: RowSet) -> UntouchedRows:
        """Return rows as they were passed to `fit`."""
        table = next(own for columns, own in self.tables if columns is rows.columns)
        return table if rows.rows is None else table.take(rows.rows)
