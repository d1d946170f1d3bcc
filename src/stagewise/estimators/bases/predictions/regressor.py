"""The predictions of regressors from scores, and their loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.data import check_weight, read_targets
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.model_access import quantile_levels, read_row_offset
from stagewise.estimators.bases.predictions.dataset_predictions import predicts_datasets
from stagewise.estimators.bases.predictions.r_squared import ScoredByR2, score_of_predictions
from stagewise.losses import (
    REGRESSION_LOSSES,
    Expectiles,
    Loss,
    MultiTargetLoss,
    Quantiles,
)
from stagewise.losses.owners import refuse_other_task, refused_loss
from stagewise.losses.registration import LOSS_FORMS, custom_loss
from stagewise.losses.scores import squeeze_outputs
from stagewise.metrics.probabilistic import d2_pinball
from stagewise.model.model import Model
from stagewise.training.reading.target_reader import NumberReader, TargetReader
from stagewise.validation.messages import short_repr

__all__ = ["RegressionLossParameters", "RegressorPredictions"]

Vector = npt.NDArray[np.float64]


SEVERAL_LEVELS: Mapping[str, type[Loss]] = MappingProxyType(
    {"quantile": Quantiles, "expectile": Expectiles}
)
"""The losses of several levels, by the name of the loss of one level."""
QUANTILE_NAMES: Mapping[str, str] = MappingProxyType(
    {"expectile": "level", "quantiles": "levels", "expectiles": "levels"}
)
"""The parameter of a loss that the parameter `quantile` of an estimator sets, by loss."""


class RegressorPredictions(ScoredByR2):
    """Regressors whose model has scores."""

    _several_targets = False

    if TYPE_CHECKING:  # defined by the other bases of an estimator

        def _fitted(self) -> Model: ...

        def _score(self, X: Any, n_rounds: Any = None) -> Vector: ...

        def _staged_with_offset(self, X: Any, offset: Any, exposure: Any) -> Iterator[Vector]: ...

        def _prediction_loss(self, model: Any) -> Loss: ...

        def _with_offset(
            self, model: Model, score: Vector, X: Any, offset: Any, exposure: Any
        ) -> Vector: ...

    def _target_reader(self) -> TargetReader:
        return NumberReader(type(self).__name__, self._several_targets)

    @predicts_datasets
    def predict(
        self,
        X: Any,
        *,
        n_rounds: int | None = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> Vector:
        """Return the predicted value of every row; for several targets, a column for each.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix of shape (n_rows, n_features), or Dataset
            The rows.
        n_rounds : int or None
            The number of rounds to use, from 1 to `n_iter_`; of a forest, the number of trees.
            None: all.
        offset, exposure : array-like of shape (n_rows,), number, str or None
            As of `fit`. A model that was fitted with them needs them again, unless they are columns
            of X; exposure=1 gives rates per unit of exposure.
        """
        model = self._fitted()
        score = self._with_offset(model, self._score(X, n_rounds), X, offset, exposure)
        return self._predict_scores(model, score)

    def staged_predict(
        self, X: Any, *, offset: Any = None, exposure: Any = None
    ) -> Iterator[Vector]:
        """Yield the predictions after every round; offset and exposure as of `predict`."""
        model = self._fitted()
        for score in self._staged_with_offset(X, offset, exposure):
            yield self._predict_scores(model, score)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
    ) -> float:
        """Return R² of the predictions of X, or of quantiles D² of the pinball loss.

        D² is 1 - L / L(quantile of y), the mean over several quantiles and targets; of rows with
        an offset, the quantile of y - offset. Of expectiles it is R² of the middle one.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
            Their targets.
        sample_weight : array-like of shape (n_rows,) or None
            Their weights.
        offset, exposure : array-like of shape (n_rows,), number, str or None
            As of `predict`.
        """
        # A subclass may define `predict` without offsets.
        given = {"offset": offset, "exposure": exposure}
        named = {name: value for name, value in given.items() if value is not None}
        predicted = self.predict(X, **named)
        levels = quantile_levels(self)
        if levels:
            beside = read_row_offset(self, X, len(predicted), offset, exposure)
            return self._score_of_quantiles(predicted, y, levels, sample_weight, beside)
        location = self._prediction_loss(self._fitted()).location
        if location is not None and predicted.ndim == 2:
            predicted = predicted[:, location]  # the middle of several levels
        return score_of_predictions(predicted, y, sample_weight)

    def _score_of_quantiles(
        self,
        predicted: Vector,
        y: Any,
        levels: tuple[float, ...],
        sample_weight: Any,
        offset: Vector | None,
    ) -> float:
        """Return D² of the pinball loss: of several levels of one target, or of each target.

        The best constants are beside the offsets, in units of F.
        """
        known = read_targets(y, len(predicted), caller=type(self).__name__)
        weight = check_weight(sample_weight, len(predicted))
        columns = [each.reshape(len(predicted), -1) for each in (known, predicted)]
        if offset is not None:
            own = offset * self._fitted().scale
            columns = [each - own[:, : each.shape[1]] for each in columns]
        if len(levels) > 1:
            return d2_pinball(columns[0][:, 0], columns[1], levels, weight)
        pairs = zip(columns[0].T, columns[1].T, strict=True)
        return float(np.mean([d2_pinball(a, b[:, np.newaxis], levels, weight) for a, b in pairs]))

    def _predict_scores(self, model: Model, score: Vector) -> Vector:
        loss = self._prediction_loss(model)
        if score.shape[1] != loss.n_outputs:
            loss = MultiTargetLoss(loss, score.shape[1])
        return np.asarray(model.offset + model.scale * loss.mean(squeeze_outputs(score)))


class RegressionLossParameters:
    """Regressors whose parameters `loss` and `quantile` choose the loss."""

    loss: Any
    quantile: Any

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        loss: Any = self.loss
        estimator_name = type(self).__name__
        quantile: Any = self.quantile
        if not isinstance(quantile, (list, tuple)) and np.ndim(quantile) == 1:
            quantile = np.asarray(quantile).tolist()  # an array, a series or an index
        given = {} if quantile is None else {"quantile": quantile}
        own = custom_loss(loss)
        kind = REGRESSION_LOSSES.get(str(loss)) if own is None else None
        if kind is not None and isinstance(quantile, (list, tuple)):
            if kind.name == "huber":
                raise InvalidParameterError(
                    f"The parameter 'quantile' of {estimator_name} must be one number for "
                    f"loss='huber', the quantile of the absolute residuals up to which they are "
                    f"squared; got {short_repr(quantile)}. To predict several quantiles, set "
                    "loss='quantile'."
                )
            kind = SEVERAL_LEVELS.get(kind.name, kind)
        name = "quantile" if kind is None else QUANTILE_NAMES.get(kind.name, "quantile")
        if given and kind is not None and name in kind.parameter_names:
            given = {name: quantile}
        for name in given:
            if kind is None or name not in kind.parameter_names:
                users = ["quantile", "expectile", "huber"]
                raise InvalidParameterError(
                    f"The parameter {name!r} of {estimator_name} is for "
                    f"loss={' or '.join(map(repr, users))}, but loss is {short_repr(loss)}. Leave "
                    f"{name} at None{_own_parameters(kind)}."
                )
        if own is not None:
            refuse_other_task(own, estimator_name, of_classes=False)
            return own
        if kind is None:
            raise refused_loss(loss, estimator_name, REGRESSION_LOSSES, LOSS_FORMS)
        try:
            return kind(**given)
        except (TypeError, ValueError) as error:
            raise InvalidParameterError(f"For {estimator_name}: {error}") from None


def _own_parameters(kind: type[Loss] | None) -> str:
    """Return the advice to pass an object, for a loss with parameters of its own."""
    names = () if kind is None else kind.parameter_names
    if not names or kind is None:
        return ""
    return f"; loss=stagewise.losses.{kind.__name__}({names[0]}=...) has a parameter of its own"
