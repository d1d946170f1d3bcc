"""Calibration of the probabilities of classifiers: the parameter `calibration` and `calibrate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from stagewise.calibration.likelihood import mean_log_loss
from stagewise.calibration.maps import MAPS, CalibrationMap, choose_map
from stagewise.errors import InvalidParameterError, ModelFormatError
from stagewise.estimators.bases.predictions.unseen_rows import (
    FinishedFit,
    UnseenRows,
    check_one_target,
    find_unseen_rows,
    predict_unseen,
)
from stagewise.model.model import Model
from stagewise.validation.arguments import check_argument
from stagewise.validation.messages import short_repr, warn_caller
from stagewise.validation.rules import OneOf

__all__ = ["CalibratedModel", "calibrated", "is_calibrated"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

PREFIX = "calibration."
FLOOR = "calibration.floor"
KINDS = OneOf(("auto", *MAPS))
SMALLEST = 1e-300


def calibrated(model: Model, proba: Matrix) -> Matrix:
    """Return the probabilities of a model, calibrated if it has a calibration map."""
    found = CalibrationMap.of(model.learned, proba.shape[1]) if is_calibrated(model) else None
    if found is None:
        return proba
    return found.apply(_logarithms(proba, float(model.learned[FLOOR][0])))


def is_calibrated(model: Model) -> bool:
    """Return whether a model has a calibration map."""
    return FLOOR in model.learned


def _logarithms(proba: Matrix, floor: float) -> Matrix:
    """Return the logarithms of probabilities that are at least `floor`, before their division."""
    raised = np.maximum(proba, floor)
    return np.asarray(np.log(raised / raised.sum(axis=1, keepdims=True)))


class CalibratedModel:
    """Classifiers whose probabilities may be calibrated."""

    class_weight: Any
    model_: Model
    seed_: int
    _is_average: bool

    if TYPE_CHECKING:  # defined by the other bases of an estimator

        def _fitted(self) -> Model: ...

        def _score(self, X: Any, n_rounds: Any = None) -> Matrix: ...

        def _with_offset(
            self, model: Model, score: Matrix, X: Any, offset: Any, exposure: Any
        ) -> Matrix: ...

        def _target_reader(self) -> Any: ...

        def _predict_scores(self, model: Any, score: Any) -> Any: ...

        def _set_learned(self, prefix: str, learned: dict[str, Any]) -> None: ...

    @classmethod
    def _check_model(cls, model: Model) -> None:
        super()._check_model(model)  # type: ignore[misc]
        if not any(name.startswith(PREFIX) for name in model.learned):
            return
        floor = model.learned.get(FLOOR, np.empty(0))
        if model.classes is None or len(floor) != 1 or not 0 < floor[0] < 1:
            raise ModelFormatError("its calibration has no classes or no smallest probability")
        try:
            CalibrationMap.of(model.learned, len(model.classes))
        except ValueError as error:
            raise ModelFormatError(str(error)) from None

    def _calibration_rows(self, kind: str, fit: FinishedFit) -> UnseenRows:
        first = "oob" if self._is_average else "cv"
        sources = (first, "validation", "split")
        return find_unseen_rows(self, fit, sources, f"calibration={kind!r}")

    def _calibrate_by(self, kind: str, rows: UnseenRows) -> dict[str, Any]:
        """Fit the calibration map to rows; return facts."""
        self._check_classes(rows)
        self._set_learned(PREFIX, {})
        model, codes = self.model_, rows.y.astype(np.intp)
        floor = 0.5 / max(1, model.ensemble.n_rounds) if self._is_average else SMALLEST
        log_proba = _logarithms(predict_unseen(self, rows), floor)
        own = log_proba, codes, rows.weight
        shifts = self.class_weight is not None
        found = (
            choose_map(*own, self.seed_, shifts=shifts)
            if kind == "auto"
            else MAPS[kind].fit(*own, shifts=shifts)
        )
        self._set_learned(PREFIX, {**found.learned(), FLOOR: np.array([floor])})
        with np.errstate(divide="ignore"):
            after = mean_log_loss(np.log(found.apply(log_proba)), codes, rows.weight)
        return {
            "map": found.kind,
            "rows": len(codes),
            "source": rows.source,
            "log_loss_before": mean_log_loss(*own),
            "log_loss_after": after,
        }

    def _check_classes(self, rows: UnseenRows) -> None:
        """Raise ValueError if rows have one class only, and warn of classes without a row."""
        classes = self.model_.classes
        assert classes is not None
        known = np.bincount(rows.y.astype(np.intp), minlength=len(classes)) > 0
        absent = short_repr(classes[~known].tolist())
        if known.sum() < 2:
            raise InvalidParameterError(
                f"calibration needs rows of at least two classes, but its {len(rows.y)} rows are "
                f"all of the class {short_repr(classes[known].tolist()[0])}; none is of {absent}. "
                "Pass more rows, or leave calibration out."
            )
        if not known.all():
            warn_caller(
                f"The {len(rows.y)} rows of the calibration have none of the classes {absent}, so "
                "nothing is known about their probabilities. Pass rows of all classes, such as a "
                "stratified sample, or use calibration='temperature'."
            )

    def calibrate(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        calibration: str = "auto",
        offset: Any = None,
    ) -> Self:
        """Calibrate the probabilities by rows that the model was not trained on; return self.

        A former calibration is replaced, and conformity scores, which are those of the former
        probabilities, are removed.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,) or None
            Their weights, as frequencies.
        calibration : {"auto", "temperature", "beta", "isotonic"}, default="auto"
            The map; see the parameter `calibration`.
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), number, str or None
            As of `predict_proba`.
        """
        kind: str = check_argument("calibration", KINDS, calibration)
        model = self._fitted()
        check_one_target(self, "calibrate")
        score = self._with_offset(model, self._score(X), X, offset, None)
        codes, weight = self._target_reader().read_validation(
            y, sample_weight, len(score), model.classes
        )
        present = np.ones(len(score), dtype=bool) if weight is None else weight > 0
        self._calibrate_by(kind, UnseenRows("rows", score, codes, weight).part(present))
        self._set_learned("conformity.", {})
        return self
