"""Prediction intervals of regressors: `predict_interval` and `conformalize`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from stagewise.conformal.conformity import Conformity
from stagewise.conformal.intervals import Centres, intervals, nearest_levels
from stagewise.conformal.ranks import least_rows
from stagewise.errors import InvalidParameterError, ModelFormatError
from stagewise.estimators.bases.predictions.conformal_scores import (
    check_conformal,
    check_fold_models,
    check_folds,
    conformity_of_numbers,
    group_column,
    group_keys,
    loss_of,
)
from stagewise.estimators.bases.predictions.dataset_predictions import predicts_datasets
from stagewise.estimators.bases.predictions.unseen_rows import (
    FinishedFit,
    UnseenRows,
    check_one_target,
    find_unseen_rows,
)
from stagewise.losses import Loss
from stagewise.losses.log_link import power_deviation
from stagewise.model.model import Model
from stagewise.options import Conformal, conformal_rule
from stagewise.training.reading.training_data import FitArguments, TrainingData
from stagewise.training.stored.needs_memory import NeedsRowsInMemoryError
from stagewise.validation.arguments import check_argument
from stagewise.validation.messages import short_repr, warn_caller
from stagewise.validation.rules import Number

__all__ = ["COVERAGE", "ConformalModel", "IntervalPredictions"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

COVERAGE = Number(0.0, 1.0, open_low=True, open_high=True)
PREFIX = "conformity."
CHECKED = conformal_rule()


class ConformalModel:
    """Estimators whose model may have conformity scores."""

    conformal: Any
    model_: Model
    n_jobs: Any
    seed_: int
    _is_average: bool

    if TYPE_CHECKING:  # defined by the other bases of an estimator

        def _fitted(self) -> Model: ...

        def _match(self, model: Model, X: Any) -> Any: ...

        def _score_values(
            self, model: Model, values: Any, n_rounds: int | None = None
        ) -> Matrix: ...

        def _score(self, X: Any, n_rounds: Any = None) -> Matrix: ...

        def _with_offset(
            self, model: Model, score: Matrix, X: Any, offset: Any, exposure: Any
        ) -> Matrix: ...

        def _target_reader(self) -> Any: ...

        def _predict_scores(self, model: Any, score: Any) -> Any: ...

        def _prediction_loss(self, model: Any) -> Loss: ...

    @classmethod
    def _check_model(cls, model: Model) -> None:
        super()._check_model(model)  # type: ignore[misc]
        try:
            conformity = Conformity.of(model.learned)
            if conformity is not None:
                conformity.check_model(model.features.n, model.classes, len(model.fold_ensembles))
        except ValueError as error:
            raise ModelFormatError(str(error)) from None

    def _set_learned(self, prefix: str, learned: dict[str, Any]) -> None:
        """Replace the numbers of the model whose names begin with a prefix."""
        others = {n: a for n, a in self.model_.learned.items() if not n.startswith(prefix)}
        self.model_ = replace(self.model_, learned={**others, **learned})

    def _check_arguments(self, params: dict[str, Any], arguments: FitArguments) -> None:
        name = type(self).__name__
        own = {n: v for n in ("conformal", "calibration") if (v := params.get(n)) is not None}
        for parameter in own:
            if params.get("warm_start"):
                raise InvalidParameterError(
                    f"{parameter} cannot be combined with warm_start=True: all rows are training "
                    "rows of the model that is continued. Leave one of them out."
                )
        if own and not self._is_average:
            check_folds(params, arguments)
        super()._check_arguments(params, arguments)  # type: ignore[misc]
        option = own.get("conformal")
        if option is None:
            return
        if option.method == "cv+":
            check_fold_models(params, name)
        forest = self._is_average
        check_conformal(option, name, of_classes=is_classifier(self), of_forest=forest)
        if option.method == "split" and arguments.groups is not None:
            raise ValueError(
                "conformal='split' keeps single rows out of the fit, which would divide groups. "
                "Use conformal='cv', or call conformalize with rows of other groups."
            )

    def _check_data(
        self, params: dict[str, Any], data: TrainingData, loss: Loss, previous: Any
    ) -> None:
        super()._check_data(params, data, loss, previous)  # type: ignore[misc]
        for name in ("conformal", "calibration"):
            if params.get(name) is not None and data.train.n_targets > 1:
                raise InvalidParameterError(
                    f"{name} is for one target, but y has {data.train.n_targets}. Fit one model "
                    f"per target, or set {name}=None."
                )
        if params.get("conformal") is not None:
            group_column(data.features, params["conformal"].groups)

    def _dataset_check(self, params: dict[str, Any], hold_out: Any, **facts: Any) -> Any:
        for name in ("conformal", "calibration"):
            if params.get(name) is not None:
                raise NeedsRowsInMemoryError(f"the parameter {name}", f"set {name}=None")
        return super()._dataset_check(params, hold_out, **facts)  # type: ignore[misc]

    def _learn_from_unseen_rows(self, params: dict[str, Any], fit: FinishedFit) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        if fit.data.one_class:
            return facts
        kind, option = params.get("calibration"), params.get("conformal")
        scored = None if option is None else self._conformity_rows(option, fit)
        if kind is not None:
            mapped = self._calibration_rows(kind, fit)
            if scored is not None and scored.source == mapped.source:
                mapped, scored = _disjoint(mapped, self.seed_)
            facts["calibration"] = self._calibrate_by(kind, mapped)
        if option is not None and scored is not None:
            facts["conformal"] = self._keep_conformity(option, fit, scored)
        return facts

    def _calibration_rows(self, kind: str, fit: FinishedFit) -> UnseenRows:
        """Return the rows of a fit to which the calibration map of a classifier is fitted."""
        raise NotImplementedError

    def _calibrate_by(self, kind: str, rows: UnseenRows) -> dict[str, Any]:
        """Fit the calibration map of a classifier to rows; return facts."""
        raise NotImplementedError

    def _conformity_rows(self, option: Conformal, fit: FinishedFit) -> UnseenRows:
        """Return the rows of a fit whose conformity scores are kept."""
        source = "cv" if option.method == "cv+" else option.method
        return find_unseen_rows(self, fit, (source,), f"conformal={option.method!r}")

    def _keep_conformity(
        self, option: Conformal, fit: FinishedFit, rows: UnseenRows
    ) -> dict[str, Any]:
        """Keep the conformity scores of rows; return facts for the report of the fit."""
        column = group_column(self.model_.features, option.groups)
        keys = group_keys(self, fit.arguments.feature_table, column)
        group = None if keys is None else keys[rows.rows]
        conformity = self._conformity_of(option, rows, group, column)
        _warn_of_small_groups(conformity, option)
        self._set_learned(PREFIX, conformity.learned())
        if option.method == "cv+":
            self.model_ = replace(self.model_, fold_ensembles=fit.result.fold_ensembles)
        return {
            "method": conformity.method,
            "score": conformity.kind,
            "rows": conformity.n_rows,
            "groups": len(conformity.groups),
        }

    def _conformity_of(
        self, option: Conformal, rows: UnseenRows, group: Vector | None, column: int
    ) -> Conformity:
        """Return the conformity scores of rows."""
        raise NotImplementedError

    def _conformity(self) -> Conformity:
        """Return the conformity scores of the fitted model; raise if it has none."""
        conformity = Conformity.of(self._fitted().learned)
        if conformity is None:
            name = type(self).__name__
            own = "'oob' or 'split'" if self._is_average else "'cv', 'cv+' or 'split'"
            raise InvalidParameterError(
                f"This {name} has no conformity scores: fit it with conformal={own}, or call "
                "conformalize(X, y) with rows that it was not trained on."
            )
        return conformity

    def _conformalize(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        conformal: Any,
        offset: Any,
        exposure: Any,
        *,
        of_classes: bool,
    ) -> Self:
        model = self._fitted()
        check_one_target(self, "conformalize")
        if conformal is not None and not isinstance(conformal, Conformal):
            raise InvalidParameterError(
                "conformal of conformalize must be None or a Conformal object, such as "
                f"Conformal(score='absolute'); got {short_repr(conformal)}. The method is always "
                "that of rows that are passed."
            )
        own = self.conformal if conformal is None else conformal
        option = own if isinstance(own, Conformal) else Conformal()
        method = "oob" if self._is_average else "cv"
        option = Conformal(**{**vars(option), "method": method, "fraction": 0.2})
        option = CHECKED(option)
        check_conformal(
            option, type(self).__name__, of_classes=of_classes, of_forest=self._is_average
        )
        score = self._with_offset(model, self._score(X), X, offset, exposure)
        target, weight = self._target_reader().read_validation(
            y, sample_weight, len(score), model.classes
        )
        present = np.ones(len(score), dtype=bool) if weight is None else weight > 0
        rows = UnseenRows("rows", score, target, weight).part(present)
        column = group_column(model.features, option.groups)
        keys = group_keys(self, X, column)
        group = None if keys is None else keys[present]
        conformity = self._conformity_of(option, rows, group, column)
        _warn_of_small_groups(conformity, option)
        self._set_learned(PREFIX, conformity.learned())
        self.model_ = replace(self.model_, fold_ensembles=())
        return self


def _warn_of_small_groups(conformity: Conformity, option: Conformal) -> None:
    """Warn if no group of a feature has the rows that a threshold of its own needs."""
    if option.groups is None or not conformity.groups:
        return
    largest, needed = max(part.total for part in conformity.groups.values()), least_rows(0.9)
    if largest < needed:
        warn_caller(
            f"groups={option.groups!r} of conformal has {len(conformity.groups):,} values, and "
            f"none has the {needed} rows that a coverage of 0.9 needs, so all rows have one "
            "threshold. Use a feature with fewer values, such as numbers in classes."
        )


def _disjoint(rows: UnseenRows, seed: int) -> tuple[UnseenRows, UnseenRows]:
    """Return rows for a calibration map, and others for the conformity scores.

    The scores of rows to which the map was fitted would be too small.
    """
    mapped, scored = rows.halves(seed)
    if not len(mapped.y):
        raise InvalidParameterError(
            "calibration and conformal divide the rows that the model was not trained on, and "
            f"there are {len(rows.y)}. Fit with more rows, or leave one of them out."
        )
    return mapped, scored


class IntervalPredictions(ConformalModel):
    """Regressors with prediction intervals."""

    @predicts_datasets
    def predict_interval(
        self,
        X: Any,
        *,
        coverage: float = 0.9,
        offset: Any = None,
        exposure: Any = None,
    ) -> Matrix:
        """Return the lower and the upper bound of an interval for every row, shape (n_rows, 2).

        The fit must have kept conformity scores (parameter `conformal`), or `conformalize` was
        called. See docs/intervals.md for the guarantee of each method.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix of shape (n_rows, n_features), or Dataset
            The rows.
        coverage : float, default=0.9
            The probability that an interval contains y, in (0, 1).
        offset, exposure : array-like of shape (n_rows,), number, str or None
            As of `predict`.

        Raises
        ------
        ValueError
            If the conformity scores are too few for the coverage: they must be at least
            coverage / (1 - coverage).
        """
        share: float = check_argument("coverage", COVERAGE, coverage)
        conformity, model = self._conformity(), self._fitted()
        keys = group_keys(self, X, conformity.group_column)
        centres = [
            self._centres(conformity, model, score, share)
            for score in self._scores_of_members(conformity, X, offset, exposure)
        ]
        bounds = intervals(conformity, centres, share, keys)
        return np.clip(bounds, *self._prediction_loss(model).prediction_limits)

    def conformalize(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        conformal: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> Self:
        """Keep the conformity scores of rows that the model was not trained on; return self.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Their targets.
        sample_weight : array-like of shape (n_rows,) or None
            Their weights, as frequencies.
        conformal : Conformal or None
            Its score and its groups are used. None: those of the parameter `conformal`.
        offset, exposure : array-like of shape (n_rows,), number, str or None
            As of `predict`.
        """
        return self._conformalize(
            X, y, sample_weight, conformal, offset, exposure, of_classes=False
        )

    def _conformity_of(
        self, option: Conformal, rows: UnseenRows, group: Vector | None, column: int
    ) -> Conformity:
        return conformity_of_numbers(self, option, rows, group, column)

    def _scores_of_members(
        self, conformity: Conformity, X: Any, offset: Any, exposure: Any
    ) -> list[Matrix]:
        """Return the scores of new rows by the model, or for CV+ by the model of each fold."""
        model = self._fitted()
        if conformity.method != "cv+":
            return [self._with_offset(model, self._score(X), X, offset, exposure)]
        values = self._match(model, X)
        scores = [
            self._score_values(replace(model, ensemble=own), values) for own in model.fold_ensembles
        ]
        added = self._with_offset(model, np.zeros_like(scores[0]), X, offset, exposure)
        return [score + added for score in scores]

    def _centres(
        self, conformity: Conformity, model: Model, score: Matrix, coverage: float
    ) -> Centres:
        """Return the predictions from which intervals extend."""
        predicted = np.asarray(self._predict_scores(model, score))
        if conformity.kind == "quantile":
            low, high = nearest_levels(conformity.levels, coverage)
            return Centres(predicted[:, low], predicted[:, high], np.ones(len(predicted)))
        if conformity.kind == "pearson":
            if conformity.power is None:  # of a custom loss, or of an older file
                return Centres.of_mean(predicted, loss_of(self).deviation(predicted))
            return Centres.of_mean(predicted, power_deviation(predicted, conformity.power))
        return Centres.of_mean(predicted)
