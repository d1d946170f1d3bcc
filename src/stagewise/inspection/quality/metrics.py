"""Metrics as functions of the row weights.

Everything that does not depend on the weights (the losses of the rows, their order) is computed
once, so that a metric can be evaluated hundreds of times for the bootstrap. The baseline of a
metric is its value for the constant prediction that is best for the same rows, with their offsets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagewise.distributions import Distribution
from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quality.own_losses import COVERAGE
from stagewise.inspection.quality.predictions import Predictions
from stagewise.metrics import METRICS, find_metrics
from stagewise.metrics import Metric as FitMetric
from stagewise.metrics.metric import FitFacts
from stagewise.metrics.ordinal import ranked_probability_scores
from stagewise.metrics.ranking import RankedRows
from stagewise.metrics.row_losses import (
    CLASSIFICATION_ROW_LOSSES,
    REGRESSION_ROW_LOSSES,
    cross_entropy,
    unit_deviance,
)

__all__ = ["MeanLoss", "MeanScore", "Metric", "metrics_of"]

NAN = float("nan")
DEVIANCES = {1.0: ("poisson", "Poisson"), 2.0: ("gamma", "gamma")}
"""The names of deviances by their power, in metrics and for display; others are Tweedie's."""


class Metric(ABC):
    """A metric as a function of the row weights."""

    name: str
    label: str
    larger_is_better = False
    ends: tuple[float, float] = (0.0, float("inf"))
    """The smallest and the largest possible value."""
    passes = 1  # passes over the rows per evaluation

    @abstractmethod
    def value(self, weight: Vector) -> float:
        """Return the metric; NaN if it is undefined."""

    @abstractmethod
    def baseline(self, weight: Vector) -> float:
        """Return the metric of the best constant prediction; NaN if it is undefined."""

    @abstractmethod
    def influence(self, weight: Vector) -> Vector:
        """Return w_i · ∂metric/∂w_i for each row."""

    def reason(self, n_rows: int) -> str:
        """Return why the metric or its limits are undefined; empty if they are defined."""
        return "" if n_rows > 1 else "one row is not enough for confidence limits"


Constant = Callable[[Vector], Vector]
"""The losses of the rows for the best constant prediction, as a function of their weights."""


class MeanLoss(Metric):
    """A weighted mean of losses, times their unit."""

    def __init__(
        self, name: str, label: str, loss: Vector, constant: Constant, unit: float = 1.0
    ) -> None:
        self.name, self.label, self._loss, self._unit = name, label, loss, unit
        self._constant = constant

    def _mean(self, weight: Vector) -> float:
        return float(np.average(self._loss, weights=weight))

    def value(self, weight: Vector) -> float:
        """Return the mean of the losses."""
        return self._unit * self._mean(weight)

    def baseline(self, weight: Vector) -> float:
        """Return the mean of the losses of the best constant prediction."""
        constant = type(self)(
            self.name, self.label, self._constant(weight), self._constant, self._unit
        )
        return constant.value(weight)

    def influence(self, weight: Vector) -> Vector:
        """Return w_i · ∂mean/∂w_i."""
        moved = weight * (self._loss - self._mean(weight)) / weight.sum()
        return np.asarray(self._unit * moved)


class _Root(MeanLoss):
    """The square root of a weighted mean."""

    def value(self, weight: Vector) -> float:
        return self._unit * float(np.sqrt(self._mean(weight)))

    def influence(self, weight: Vector) -> Vector:
        mean = self._mean(weight)
        moved = self._unit * weight * (self._loss - mean) / weight.sum()
        return np.asarray(moved / (2 * mean**0.5) if mean > 0 else moved)


class MeanScore(MeanLoss):
    """A mean that is better when larger."""

    larger_is_better = True
    ends = (0.0, 1.0)


class _Deviance(MeanLoss):
    """A mean deviance."""

    def reason(self, n_rows: int) -> str:
        if np.isfinite(self._loss).all():
            return super().reason(n_rows)
        return f"the {self.label} is undefined for a target or a prediction of these rows"


class _OwnLoss(MeanLoss):
    """A mean of a loss that has no smallest value."""

    ends = (float("-inf"), float("inf"))


class _Explained(Metric):
    """The share of a loss that is explained, 1 - L / L(constant): R², or D² of a deviance.

    R² has the mean of y. D² has the best constant, with an exposure a rate that is multiplied by
    it. Both minimise their loss, so that their own derivative does not matter.
    """

    larger_is_better = True
    ends = (float("-inf"), 1.0)

    def __init__(self, name: str, label: str, loss: Vector, constant: Constant) -> None:
        self.name, self.label, self._loss, self._constant = name, label, loss, constant

    def _parts(self, weight: Vector) -> tuple[float, Vector, float]:
        far = self._constant(weight)
        whole, left = (float(np.average(each, weights=weight)) for each in (far, self._loss))
        return whole, far, left

    def baseline(self, weight: Vector) -> float:
        return 0.0 if np.isfinite(self.value(weight)) else NAN

    def value(self, weight: Vector) -> float:
        whole, _, left = self._parts(weight)
        if np.count_nonzero(weight) < 2:
            return NAN
        if whole == 0:  # as in scikit-learn
            return 1.0 if left == 0 else 0.0
        return 1.0 - left / whole

    def influence(self, weight: Vector) -> Vector:
        whole, far, left = self._parts(weight)
        if whole == 0:
            return np.full(len(weight), NAN)
        moved = (self._loss - left) / whole - left * (far - whole) / whole**2
        return np.asarray(-weight * moved / weight.sum())

    def reason(self, n_rows: int) -> str:
        if not np.isfinite(self._loss).all():
            return f"{self.label} is undefined for a target or a prediction of these rows"
        return "" if n_rows > 1 else f"{self.label} is undefined for one row"


class _MeanExplained(Metric):
    """The mean of shares that are explained: D² of the pinball losses of several quantiles."""

    larger_is_better = True
    ends = (float("-inf"), 1.0)

    def __init__(self, parts: Sequence[_Explained]) -> None:
        self.name, self.label = parts[0].name, parts[0].label
        self._parts, self.passes = parts, len(parts)

    def value(self, weight: Vector) -> float:
        return float(np.mean([part.value(weight) for part in self._parts]))

    def baseline(self, weight: Vector) -> float:
        return self._parts[0].baseline(weight)

    def influence(self, weight: Vector) -> Vector:
        return np.asarray(np.mean([part.influence(weight) for part in self._parts], axis=0))

    def reason(self, n_rows: int) -> str:
        return self._parts[0].reason(n_rows)


class _Area(Metric):
    """The area under the ROC curve; of several classes the mean of one-vs-rest areas."""

    name, label, larger_is_better = "auc", "AUC", True
    ends = (0.0, 1.0)

    def __init__(self, predictions: Predictions) -> None:
        assert predictions.classes is not None
        met = np.bincount(predictions.y, minlength=len(predictions.classes))
        # For two classes the column of the second is enough.
        columns = [1] if len(met) == 2 else range(len(met))
        n = len(predictions.y)
        self._sorted = [
            RankedRows.of(predictions.y_pred[:, k], predictions.y == k)
            for k in columns
            if 0 < met[k] < n
        ]
        self.passes = max(1, len(self._sorted))

    def value(self, weight: Vector) -> float:
        areas = [ranked.area(weight) for ranked in self._sorted]
        known = [area for area in areas if area == area]
        return float(np.mean(known)) if known else NAN

    def baseline(self, weight: Vector) -> float:
        return 0.5 if np.isfinite(self.value(weight)) else NAN

    def influence(self, weight: Vector) -> Vector:
        if not self._sorted:
            return np.full(len(weight), NAN)
        return np.asarray(np.mean([ranked.influence(weight) for ranked in self._sorted], axis=0))

    def reason(self, n_rows: int) -> str:
        return "" if self._sorted else "AUC is undefined: all rows are of one class"


class _Registered(Metric):
    """A metric that `eval_metric` of a fit has, too; its limits need resamples."""

    def __init__(self, metric: FitMetric, predictions: Predictions) -> None:
        self.name, self.label = metric.name, metric.name.replace("_", " ")
        self.larger_is_better = metric.larger_is_better
        self.ends = (float("-inf"), float("inf"))
        self._metric, self._predictions = metric, predictions
        self._y = predictions.y
        if predictions.classes is not None and not metric.of_codes:
            self._y = np.array(predictions.classes)[predictions.y]

    def _of(self, y_pred: Vector, weight: Vector) -> float:
        known = weight > 0
        own = weight[known]
        weights = None if (own == own[0]).all() else own
        metric, offsets = self._metric, self._predictions.offsets
        if offsets is not None and self._predictions.classes is None:
            metric = metric.beside(offsets.offset[known][:, :1], offsets.loss)
        return float(metric.function(self._y[known], y_pred[known], weights))

    def value(self, weight: Vector) -> float:
        return self._of(self._predictions.y_pred, weight)

    def baseline(self, weight: Vector) -> float:
        constant, power = self._predictions.constant, self._predictions.deviance_power
        if self._predictions.classes is not None:
            shares = constant.class_shares(weight, len(self._predictions.classes))
            return self._of(np.array(shares), weight)
        if power is not None:
            return self._of(constant.least_deviance(weight, power), weight)
        return self._of(constant.least_squares(weight), weight)

    def influence(self, weight: Vector) -> Vector:
        return np.full(len(weight), NAN)


def metrics_of(predictions: Predictions, chosen: Any = None) -> list[Metric]:
    """Return metrics of predictions.

    Parameters
    ----------
    predictions : Predictions
        The predictions.
    chosen : None, or as `eval_metric`
        The metrics; None: the usual ones of the task, after those of the model's loss.
    """
    usual = [*_own_metrics(predictions), *_usual_metrics(predictions)]
    if chosen is None:
        return usual
    classes = None if predictions.classes is None else np.array(predictions.classes)
    facts = FitFacts(classes, "", predictions.deviance_power)
    by_name = {metric.name: metric for metric in usual}
    return [
        by_name.get(metric.name) or _Registered(metric.bind(facts), predictions)
        for metric in find_metrics(chosen, predictions.task, "metrics")
    ]


def _usual_metrics(predictions: Predictions) -> list[Metric]:
    """Return the metrics of a task for these predictions; those of the model's loss come first."""
    if predictions.task == "regression":
        of_loss = *_deviances(predictions), *_cross_entropies(predictions), *_pinballs(predictions)
        return [*of_loss, *_errors(predictions)]
    y, y_pred = predictions.y, predictions.y_pred

    def constant(name: str) -> Constant:
        """Return the losses of the class shares; the most probable class is the majority."""

        def losses(weight: Vector) -> Vector:
            shares = predictions.constant.class_shares(weight, y_pred.shape[1])
            return CLASSIFICATION_ROW_LOSSES[name](y, shares)

        return losses

    wrong, wrong_constant = CLASSIFICATION_ROW_LOSSES["error"](y, y_pred), constant("error")
    log_loss, brier = (CLASSIFICATION_ROW_LOSSES[name](y, y_pred) for name in ("log_loss", "brier"))
    return [
        MeanLoss("log_loss", "log loss", log_loss, constant("log_loss")),
        MeanScore("accuracy", "accuracy", 1.0 - wrong, lambda weight: 1.0 - wrong_constant(weight)),
        _Area(predictions),
        MeanLoss("brier", "Brier", brier, constant("brier")),
        *(_of_ordered(predictions) if predictions.ordered else ()),
    ]


def _of_ordered(predictions: Predictions) -> list[Metric]:
    """Return the further metrics of ordered classes."""
    y, y_pred = predictions.y, predictions.y_pred

    def constant(weight: Vector) -> Vector:
        shares = predictions.constant.class_shares(weight, y_pred.shape[1])
        return ranked_probability_scores(y, shares)

    name = "ranked_probability_score"
    kappa = _Registered(METRICS["quadratic_kappa"], predictions)
    return [
        MeanLoss(name, "ranked probability", ranked_probability_scores(y, y_pred), constant),
        kappa,
    ]


def _unit(*values: Vector) -> float:
    """Return a power of two near the largest number, so that sums of squares are finite."""
    largest = max(float(np.max(np.abs(each), initial=0.0)) for each in values)
    return 2.0 ** float(np.frexp(largest)[1] - 1) if 0 < largest < np.inf else 1.0


def _own_metrics(predictions: Predictions) -> list[Metric]:
    """Return the metrics of a loss that no other metric measures; see `OwnRows`."""
    own = predictions.own
    if own is None:
        return []
    if not own.has_distribution:
        return [_OwnLoss("loss", "mean loss", own.losses(), own.constant_losses)]

    def covered(found: Distribution, y: Vector) -> Vector:
        low, high = found.interval(COVERAGE).T
        return np.asarray(((low <= y) & (y <= high)).astype(np.float64))

    def metric(kind: type[MeanLoss], name: str, label: str, measure: Any) -> MeanLoss:
        def of_constant(weight: Vector) -> Vector:
            return own.of_constant_distribution(measure, weight)

        return kind(name, label, own.of_distributions(measure), of_constant)

    share = f"{COVERAGE:.0%}"
    return [
        metric(_OwnLoss, "nll", "negative log-likelihood", lambda found, y: found.nll(y)),
        metric(MeanLoss, "crps", "CRPS", lambda found, y: found.crps(y)),
        metric(MeanScore, f"coverage_{share[:-1]}", f"coverage of {share} intervals", covered),
    ]


def _pinballs(predictions: Predictions) -> list[Metric]:
    """Return the pinball loss and its D², if the model predicts quantiles."""
    quantiles = predictions.quantiles
    if quantiles is None:
        return []
    unit = _unit(predictions.y, quantiles.values)
    y, constant = predictions.y / unit, predictions.constant.scaled(unit)

    def loss(predicted: Vector, level: float) -> Vector:
        residual = y - predicted
        return np.asarray(np.maximum(level * residual, (level - 1.0) * residual))

    def of_constant(level: float) -> Constant:
        return lambda weight: loss(constant.least_pinball(weight, level), level)

    columns = (quantiles.values / unit).T
    losses = [loss(own, level) for own, level in zip(columns, quantiles.levels, strict=True)]
    constants = [of_constant(level) for level in quantiles.levels]

    def mean(weight: Vector) -> Vector:
        return np.asarray(np.mean([own(weight) for own in constants], axis=0))

    pairs = zip(losses, constants, strict=True)
    return [
        MeanLoss("pinball", "pinball loss", np.mean(losses, axis=0), mean, unit),
        _MeanExplained([_Explained("d2_pinball", "D²", *pair) for pair in pairs]),
    ]


def _errors(predictions: Predictions) -> list[Metric]:
    """Return the metrics of any regression."""
    # Squares must not overflow or vanish: values are divided by a power of two near the largest.
    unit = _unit(predictions.y, predictions.y_pred)
    y, y_pred = predictions.y / unit, predictions.y_pred / unit
    squared = REGRESSION_ROW_LOSSES["squared_error"](y, y_pred)
    absolute = REGRESSION_ROW_LOSSES["absolute_error"](y, y_pred)

    constant = predictions.constant.scaled(unit)

    def from_mean(weight: Vector) -> Vector:
        return np.asarray((y - constant.least_squares(weight)) ** 2)

    def from_median(weight: Vector) -> Vector:
        return np.asarray(np.abs(y - constant.least_absolute(weight)))

    return [
        _Root("rmse", "RMSE", squared, from_mean, unit),
        MeanLoss("mae", "MAE", absolute, from_median, unit),
        _Explained("r2", "R²", squared, lambda weight: (y - np.average(y, weights=weight)) ** 2),
    ]


def _cross_entropies(predictions: Predictions) -> list[Metric]:
    """Return the mean cross-entropy, if it is the loss of the model."""
    if not predictions.of_shares:
        return []

    def from_mean(weight: Vector) -> Vector:
        return cross_entropy(predictions.y, predictions.constant.least_squares(weight))

    own = cross_entropy(predictions.y, predictions.y_pred)
    return [_Deviance("cross_entropy", "cross-entropy", own, from_mean)]


def _deviances(predictions: Predictions) -> list[Metric]:
    """Return the mean deviance and D², if the loss of the model is a deviance."""
    power = predictions.deviance_power
    if power is None:
        return []
    name, label = DEVIANCES.get(power, ("tweedie", "Tweedie"))
    y, own = predictions.y, unit_deviance(predictions.y, predictions.y_pred, power)

    def from_mean(weight: Vector) -> Vector:
        return unit_deviance(y, predictions.constant.least_deviance(weight, power), power)

    return [
        _Deviance(f"{name}_deviance", f"{label} deviance", own, from_mean),
        _Explained(f"d2_{name}_deviance", "D²", own, from_mean),
    ]
