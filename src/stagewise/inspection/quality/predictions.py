"""Predictions of an estimator beside the true targets.

All measures of quality need the same arrays. They are computed and checked once, here; scores,
curves and plots are functions of these arrays and never call the estimator again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stagewise.data import check_weight, read_labels, read_target
from stagewise.data.ranking import is_ranking_target
from stagewise.display import Displayed, Summary
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.model_access import (
    fit_loss,
    point_predictions,
    quantile_levels,
    read_row_offset,
)
from stagewise.inspection.quality.constants import ConstantPredictions, OffsetRows
from stagewise.inspection.quality.own_losses import OwnRows
from stagewise.losses import REGRESSION_LOSSES, CrossEntropy, Loss
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = [
    "Predictions",
    "QuantilePredictions",
    "deviance_power",
    "has_ordered_classes",
    "known_codes",
    "offsets_of",
    "predicts_shares",
]

Vector = npt.NDArray[np.float64]
MOST_SHOWN = 8


@dataclass(frozen=True, eq=False)
class QuantilePredictions:
    """Predicted quantiles of rows.

    Attributes
    ----------
    levels : tuple of float
        The levels.
    values : float64 array of shape (n_rows, n_levels)
        The quantiles.
    """

    levels: tuple[float, ...]
    values: npt.NDArray[np.float64]

    @classmethod
    def of(cls, estimator: Any, predicted: npt.NDArray[np.float64]) -> QuantilePredictions | None:
        """Return the predictions of an estimator if they are quantiles of one target."""
        levels = quantile_levels(estimator)
        values = np.asarray(predicted, dtype=np.float64).reshape(len(predicted), -1)
        return cls(levels, values) if levels and values.shape[1] == len(levels) else None

    def __getitem__(self, rows: Any) -> QuantilePredictions:
        """Return the quantiles of some of the rows."""
        return replace(self, values=self.values[rows])


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(Displayed):
    """Predictions of an estimator beside the true targets.

    Attributes
    ----------
    task : {"regression", "classification", "ranking"}
        The kind of target.
    y : float64 array of shape (n_rows,), or intp array of shape (n_rows,)
        The true targets: numbers, or indices into `classes`.
    y_pred : float64 array of shape (n_rows,), or (n_rows, n_classes)
        The predictions: numbers, or class probabilities.
    classes : tuple, or None
        The class labels of the estimator; None for a regression.
    weight : float64 array of shape (n_rows,)
        The sample weights; 1 if none were passed.
    deviance_power : float or None
        The power of the deviance that the model was fitted by: 1 for the Poisson loss, 2 for the
        gamma loss, between them for Tweedie's; None: by another loss.
    offsets : OffsetRows or None
        The offsets of the rows, to which the best constant is added; None: they have none.
    ordered : bool
        Whether the classes have an order.
    quantiles : QuantilePredictions or None
        The predicted quantiles, of which `y_pred` is the middle one; None: y_pred is no quantile.
    of_shares : bool
        Whether the model was fitted by the cross-entropy of shares.
    own : OwnRows or None
        The rows as the loss of the model reads them, if no other metric measures it.
    """

    task: Literal["regression", "classification", "ranking"]
    y: npt.NDArray[Any]
    y_pred: Vector
    classes: tuple[Any, ...] | None
    weight: Vector
    deviance_power: float | None = None
    offsets: OffsetRows | None = None
    ordered: bool = False
    quantiles: QuantilePredictions | None = None
    of_shares: bool = False
    own: OwnRows | None = None

    def _summary(self) -> Summary:
        facts: dict[str, Any] = {"rows": len(self.y), "sum of weights": float(self.weight.sum())}
        if self.classes is None:
            facts["mean of y"] = float(np.average(self.y, weights=self.weight))
            facts["mean prediction"] = float(np.average(self.y_pred, weights=self.weight))
        else:
            facts["classes"] = ", ".join(self.names[:MOST_SHOWN])
        return Summary(f"Predictions of a {self.task}", facts)

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
    ) -> Predictions:
        """Predict rows with known targets.

        Parameters
        ----------
        estimator : estimator
            Any fitted estimator with `predict`; a classifier needs `predict_proba` and `classes_`.
        X, y : array-like or data frame, and array-like
            Rows and their targets: one number or one label per row.
        sample_weight : array-like or None
            Sample weights.
        offset, exposure : array-like, number, str or None
            As of `predict` of the estimator.

        Raises
        ------
        ValueError, TypeError
            If y has missing values, the wrong length, several targets or labels that are not in
            `classes_`; if there are no rows, or all weights are 0.
        """
        name = type(estimator).__name__
        if isinstance(estimator, type) or not hasattr(estimator, "predict"):
            raise TypeError(
                f"estimator must be a fitted estimator with predict; got {short_repr(estimator)}. "
                "Fit one first, such as GradientBoostingRegressor().fit(X, y)."
            )
        if hasattr(estimator, "predict_survival_function"):
            raise InvalidParameterError(
                f"This {name} predicts times until an event, some of which are censored. Use "
                "stagewise.inspection.survival_quality(model, X, y)."
            )
        if getattr(getattr(estimator, "model_", None), "task", "") == "ranking" or (
            is_ranking_target(y)
        ):
            raise InvalidParameterError(
                "This measure compares predictions with numbers or labels, and the target has "
                "queries whose rows are ranked. Use stagewise.inspection.query_scores(model, X, y)."
            )
        passed = {"offset": offset, "exposure": exposure}
        given = {name: value for name, value in passed.items() if value is not None}
        if hasattr(estimator, "predict_proba"):
            y_pred = estimator.predict_proba(X, **given)  # raises if it is not fitted
            if isinstance(y_pred, list):
                raise ValueError(
                    f"This {name} has {len(y_pred)} targets, and the quality is that of one. Pass "
                    "the predictions of one target: Predictions.from_arrays(y, y_pred, classes)."
                )
            classes, power, quantiles = estimator.classes_, None, None
        else:
            predicted = estimator.predict(X, **given)
            quantiles = QuantilePredictions.of(estimator, predicted)
            y_pred = point_predictions(estimator, predicted)
            classes, power = None, deviance_power(estimator)
        found = cls.from_arrays(
            *(y, y_pred, classes, sample_weight),
            caller=name,
            deviance_power=power,
            offsets=offsets_of(estimator, X, len(y_pred), offset, exposure),
            ordered=has_ordered_classes(estimator),
            quantiles=quantiles,
            of_shares=predicts_shares(estimator),
        )
        return replace(found, own=OwnRows.of(estimator, X, found.y, offset, exposure))

    @classmethod
    def from_arrays(
        cls,
        y: Any,
        y_pred: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        caller: str = "estimator",
        deviance_power: float | None = None,
        offsets: OffsetRows | None = None,
        ordered: bool = False,
        quantiles: QuantilePredictions | None = None,
        of_shares: bool = False,
    ) -> Predictions:
        """Use predictions that already exist, such as `oob_prediction_`.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            The true targets.
        y_pred : array of shape (n_rows,), or (n_rows, n_classes)
            Predicted numbers, or class probabilities.
        classes : sequence of labels, or None
            The classes of the columns of `y_pred`; None: a regression.
        sample_weight : array-like or None
            Sample weights.
        caller : str
            The name of the estimator, for messages.
        deviance_power : float or None
            As of `Predictions`, for a regression.
        offsets : OffsetRows or None
            As of `Predictions`.
        ordered : bool
            Whether the classes have an order.
        quantiles : QuantilePredictions or None
            As of `Predictions`, for a regression.
        of_shares : bool
            As of `Predictions`.
        """
        predicted = np.asarray(y_pred, dtype=np.float64)
        n_rows = len(predicted)
        if n_rows == 0:
            raise ValueError("X has no rows. Pass at least one row with a known target.")
        if not np.isfinite(predicted).all():
            row = int(np.argmin(np.isfinite(predicted).reshape(n_rows, -1).all(axis=1)))
            raise ValueError(
                f"The prediction for row {row} is not finite ({short_repr(predicted[row])}). Leave "
                "such rows out."
            )
        weight = check_weight(sample_weight, n_rows)
        weight = np.ones(n_rows) if weight is None else weight
        if classes is not None:
            labels = np.asarray(classes)
            codes = known_codes(y, n_rows, labels, caller)
            own = tuple(labels.tolist()), weight
            return cls("classification", codes, predicted, *own, None, offsets, ordered)
        if predicted.ndim > 1 and predicted.shape[1] > 1:
            raise ValueError(
                f"This {caller} predicts {predicted.shape[1]} targets, and this function evaluates "
                "one at a time. Pass the columns of one target to Predictions.from_arrays."
            )
        predicted = predicted.reshape(n_rows)
        known = read_target(y, n_rows, caller=caller)
        return cls(
            *("regression", known, predicted, None, weight, deviance_power, offsets),
            quantiles=quantiles,
            of_shares=of_shares,
        )

    @property
    def constant(self) -> ConstantPredictions:
        """The best constant predictions of these rows."""
        return ConstantPredictions(self.y, self.offsets)

    @property
    def names(self) -> tuple[str, ...]:
        """The classes as text; empty for a regression."""
        return tuple(str(label) for label in self.classes or ())

    def with_weight(self) -> Predictions:
        """Return the rows with a positive weight."""
        kept = self.weight > 0
        if kept.all():
            return self
        offsets = None if self.offsets is None else self.offsets[kept]
        return replace(
            self,
            y=self.y[kept],
            y_pred=self.y_pred[kept],
            weight=self.weight[kept],
            offsets=offsets,
            quantiles=None if self.quantiles is None else self.quantiles[kept],
            own=None if self.own is None else self.own[kept],
        )

    def require(self, task: str, caller: str) -> None:
        """Raise if the predictions are for the other task."""
        if self.task != task:
            fit = "a regressor" if task == "regression" else "a classifier"
            kind = "numbers" if self.task == "regression" else "classes"
            raise InvalidParameterError(
                f"{caller} needs {fit}, and this estimator predicts {kind}. Pass {fit}."
            )

    def class_index(self, pos_label: Any, caller: str) -> int:
        """Return the index of the positive class.

        Parameters
        ----------
        pos_label : label, str or None
            A label, or its text; None: the second of two classes.
        caller : str
            The name of the calling function, for messages.
        """
        self.require("classification", caller)
        assert self.classes is not None
        if pos_label is None:
            if len(self.classes) == 2:
                return 1
            raise InvalidParameterError(
                f"pos_label must be one of the {len(self.classes)} classes; it is compared with "
                f"all others: {_listing(self.names)}."
            )
        for known in (self.classes, self.names):
            if pos_label in known:
                return known.index(pos_label)
        raise InvalidParameterError(
            f"pos_label must be one of the classes {_listing(self.names)}; got "
            f"{short_repr(pos_label)}."
            f"{nearest_name(str(pos_label), self.names)}"
        )


def has_ordered_classes(estimator: Any) -> bool:
    """Return whether an estimator was fitted by a loss of ordered classes."""
    return "loss.thresholds" in getattr(getattr(estimator, "model_", None), "learned", ())


def predicts_shares(estimator: Any) -> bool:
    """Return whether a regressor was fitted by the cross-entropy of shares."""
    return getattr(getattr(estimator, "model_", None), "loss", "") == CrossEntropy.name


def deviance_power(estimator: Any) -> float | None:
    """Return the power of the deviance that a regressor was fitted by; None: by another loss."""
    loss = getattr(estimator, "loss", getattr(estimator, "criterion", None))
    if isinstance(loss, str):
        kind = REGRESSION_LOSSES.get(loss)
        loss = None if kind is None else kind()
    own = isinstance(loss, Loss) and loss.name in REGRESSION_LOSSES
    return getattr(loss, "power", None) if own else None


def offsets_of(
    estimator: Any, X: Any, n_rows: int, offset: Any = None, exposure: Any = None
) -> OffsetRows | None:
    """Return the offsets of rows that are passed, or that a model reads from X; None: all are 0."""
    model = getattr(estimator, "model_", None)
    if model is None or not hasattr(model, "row_offset"):  # linear models and other libraries
        return None
    added = read_row_offset(estimator, X, n_rows, offset, exposure)
    return None if added is None else OffsetRows(fit_loss(estimator), added * model.scale)


def known_codes(
    y: Any, n_rows: int, classes: npt.NDArray[Any], caller: str
) -> npt.NDArray[np.intp]:
    """Return the index of each label in the classes of a model.

    If either the labels or the classes are text, they are compared as text: a CSV file whose labels
    all look like numbers is read as numbers.

    Raises
    ------
    ValueError
        If a label is not one of the classes.
    """
    found, codes = read_labels(y, n_rows, caller=caller)
    known = classes.tolist()
    labels = found.tolist()
    texts = [all(isinstance(label, str) for label in those) for those in (known, labels)]
    if texts == [True, False]:
        labels = [str(label) for label in labels]
    elif texts == [False, True] and len({str(label) for label in known}) == len(known):
        known = [str(label) for label in known]
    place = {label: k for k, label in enumerate(known)}
    places = np.array([place.get(label, -1) for label in labels], dtype=np.intp)[codes]
    unknown = places < 0
    if unknown.any():
        strange = [label for label in labels if label not in place]
        count = int(unknown.sum())
        raise ValueError(
            f"y has labels that were not in the training data: {_listing(strange)} (in {count:,} "
            f"row{'s' if count > 1 else ''}); the classes are {_listing(known)}. "
            "Leave these rows out."
        )
    return places


def _listing(names: Any) -> str:
    listed = ", ".join(repr(name) for name in names[:MOST_SHOWN])
    return listed + (f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else "")
