"""The predictions of survival models: risks, times and curves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.data import check_weight
from stagewise.data.survival_target import encode_strata, read_survival
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.predictions.dataset_predictions import predicts_datasets
from stagewise.estimators.survival.curves import (
    HazardCurves,
    IncidenceCurves,
    SurvivalCurves,
    read_times,
)
from stagewise.losses.scores import squeeze_outputs
from stagewise.losses.survival.base import SurvivalLoss
from stagewise.losses.survival.competing_risks import CompetingRisksLoss, FineGray
from stagewise.metrics.survival import c_index
from stagewise.model.model import Model
from stagewise.training.reading.survival_reader import SurvivalReader
from stagewise.training.reading.target_reader import TargetReader

__all__ = ["SurvivalPredictions"]

Vector = npt.NDArray[np.float64]


class SurvivalPredictions:
    """Estimators whose model predicts times until an event."""

    strata_: list[Any]
    _reader: SurvivalReader | None = None
    """The reader of the fit that is running."""

    if TYPE_CHECKING:  # defined by the other bases of an estimator

        def _fitted(self) -> Model: ...

        def _prediction_loss(self, model: Model) -> SurvivalLoss: ...

        def _score(self, X: Any, n_rounds: Any = None) -> Vector: ...

        def _staged_with_offset(self, X: Any, offset: Any, exposure: Any) -> Iterator[Vector]: ...

        def _with_offset(
            self, model: Model, score: Vector, X: Any, offset: Any, exposure: Any
        ) -> Vector: ...

    def _target_reader(self) -> TargetReader:
        known = self.__dict__.get("strata_")
        return self._reader or SurvivalReader(type(self).__name__, strata=known)

    def _predict_scores(self, model: Model, score: Vector) -> Vector:
        return self._prediction_loss(model).mean(squeeze_outputs(score))

    @predicts_datasets
    def predict(self, X: Any, *, n_rounds: int | None = None, offset: Any = None) -> Vector:
        """Return the predicted risk of every row, or with loss="aft" its median time.

        For "cox" and "fine_gray" it is F, the log of the hazard ratio; for "discrete_time" the
        expected number of intervals after the event; for "cause_specific" F of each cause,
        shape (n_rows, n_causes). A larger risk is an earlier event.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix of shape (n_rows, n_features), or Dataset
            The rows.
        n_rounds : int or None
            The number of rounds to use, from 1 to `n_iter_`. None: all.
        offset : array-like of shape (n_rows,), number, str or None
            As of `fit`. A model that was fitted with an offset needs it again.
        """
        model = self._fitted()
        score = self._with_offset(model, self._score(X, n_rounds), X, offset, None)
        return self._predict_scores(model, score)

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[Vector]:
        """Yield the predictions after every round; offset as of `predict`."""
        model = self._fitted()
        for score in self._staged_with_offset(X, offset, None):
            yield self._predict_scores(model, score)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return Harrell's C-index: the share of comparable pairs in the right order.

        With strata, pairs within a stratum; of several causes, the mean C-index of the causes.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : structured array, data frame, mapping or tuple
            Their times and events, as of `fit`.
        sample_weight : array-like of shape (n_rows,) or None
            Their weights.
        offset : array-like of shape (n_rows,), number, str or None
            As of `predict`.
        """
        loss = self._prediction_loss(self._fitted())
        predicted = self.predict(X, offset=offset)
        strata = self.strata_ or None
        target, _ = read_survival(y, len(predicted), caller=type(self).__name__, strata=strata)
        weight = check_weight(sample_weight, len(predicted))
        causes = tuple(loss.causes) if isinstance(loss, CompetingRisksLoss) else ()
        found = c_index(target, predicted, weight, causes, earlier=loss.larger_is_earlier)
        if np.isnan(found):
            raise ValueError(
                f"No pair of these {len(target)} rows is comparable: no row has an event while "
                "another one is observed for longer. Use more rows."
            )
        return found

    # ---- curves ----------------------------------------------------------------------------------

    def _curve_parts(self, X: Any, times: Any, stratum: Any, offset: Any) -> tuple[Any, ...]:
        """Return the loss, the scores, the codes of strata and the times of curves."""
        model = self._fitted()
        loss = self._prediction_loss(model)
        score = self._with_offset(model, self._score(X), X, offset, None)
        own = loss.grid if times is None else read_times(times)
        return loss, score, self._stratum_codes(stratum, len(score)), own

    def _stratum_codes(self, stratum: Any, n_rows: int) -> npt.NDArray[np.int32]:
        """Return the codes of the strata of rows."""
        if not self.strata_:
            if stratum is not None:
                raise ValueError("stratum was passed, but the model was fitted without strata.")
            return np.zeros(n_rows, dtype=np.int32)
        if stratum is None:
            known = ", ".join(map(repr, self.strata_[:10]))
            raise ValueError(
                f"This {type(self).__name__} has a baseline hazard for each stratum ({known}), so "
                "curves need the stratum of every row: pass stratum=..., one label for each row."
            )
        labels = np.full(n_rows, stratum) if np.ndim(stratum) == 0 else np.asarray(stratum)
        if labels.shape != (n_rows,):
            raise ValueError(
                f"stratum has shape {labels.shape}; expected one label for each of {n_rows} rows."
            )
        return encode_strata(labels, self.strata_)

    def predict_survival_function(
        self, X: Any, times: Any = None, *, stratum: Any = None, offset: Any = None
    ) -> SurvivalCurves:
        """Return the survival curves S(t) = P(T > t) of rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        times : array-like of numbers or None
            The times of `values`; None: those at which the curves change.
        stratum : array-like of shape (n_rows,), label, or None
            The strata of the rows, if the model was fitted with strata.
        offset : array-like of shape (n_rows,), number, str or None
            As of `predict`.

        Returns
        -------
        SurvivalCurves
            With `values`, `at(t)`, `median()`, `quantile(q)`, `restricted_mean(limit)` and
            `plot()`.
        """
        parts = self._curve_parts(X, times, stratum, offset)
        if isinstance(parts[0], FineGray):
            raise InvalidParameterError(
                "loss='fine_gray' predicts the events of one cause, not the survival of all. Use "
                "predict_cumulative_incidence, or loss='cause_specific'."
            )
        return SurvivalCurves(*parts)

    def predict_cumulative_hazard(
        self, X: Any, times: Any = None, *, stratum: Any = None, offset: Any = None
    ) -> HazardCurves:
        """Return the cumulative hazards H(t) = -log S(t) of rows.

        Parameters
        ----------
        X, times, stratum, offset
            As of `predict_survival_function`.
        """
        return HazardCurves(*self._curve_parts(X, times, stratum, offset))

    def predict_cumulative_incidence(
        self, X: Any, times: Any = None, *, stratum: Any = None, offset: Any = None
    ) -> IncidenceCurves:
        """Return P(T ≤ t, event of each cause) of rows, for models of competing risks.

        Parameters
        ----------
        X, times, stratum, offset
            As of `predict_survival_function`.
        """
        parts = self._curve_parts(X, times, stratum, offset)
        if not isinstance(parts[0], CompetingRisksLoss):
            raise InvalidParameterError(
                f"loss={parts[0].name!r} has one kind of event. Use predict_survival_function, "
                "whose complement is the incidence, or loss='cause_specific' or 'fine_gray'."
            )
        return IncidenceCurves(*parts)
