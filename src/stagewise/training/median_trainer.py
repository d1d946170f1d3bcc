"""The trainer of AdaBoost.R2: terms with row weights that grow with the errors, and their median.

Drucker (1997). Round m fits a term h_m to y with row weights w, and

    L_i = |y_i - h_m(x_i)| / D            D = max_i |y_i - h_m(x_i)|; or L_i², or 1 - e^(-L_i)
    L̄ = Σ w_i L_i / Σ w_i                 β = L̄ / (1 - L̄)
    w_i ← w_i β^(ν (1 - L_i))             α_m = ν log(1 / β)

The prediction is the weighted median of h_1(x), …, h_M(x) with the weights α. The model has an
output for each term, so that its scores are h_1(x), …, h_M(x).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients
from stagewise.boosting.monitor import Monitor
from stagewise.data import TargetScale
from stagewise.exact_sums import sum_rows
from stagewise.learners.estimator import EstimatorTerm
from stagewise.losses import Loss
from stagewise.losses.logarithm import exact_log, portable_exp
from stagewise.training.adapters.estimator_adapter import EstimatorAdapter
from stagewise.training.preparation import Scale, check_targets, learn_scale, make_monitor
from stagewise.training.reading.training_data import TrainingData
from stagewise.training.results import FitResult
from stagewise.training.specs import BoostingSpec, FitContext

__all__ = ["ROW_LOSSES", "MedianResult", "train_median"]

Vector = npt.NDArray[np.float64]

ROW_LOSSES: Mapping[str, Callable[[Vector], Vector]] = MappingProxyType(
    {
        "linear": lambda error: error,
        "square": lambda error: error * error,
        "exponential": lambda error: 1.0 - portable_exp(-error),
    }
)
"""The losses of rows, of errors that are divided by the largest one."""

SMALLEST = 1e-30
"""The smallest weight of a row, as a fraction of the mean weight; float32 can represent it."""


@dataclass(frozen=True)
class MedianResult(FitResult):
    """The result of AdaBoost.R2: also the weights α_m of the terms, and their mean losses L̄_m."""

    weights: Vector = field(default_factory=lambda: np.empty(0))
    errors: Vector = field(default_factory=lambda: np.empty(0))


def train_median(
    spec: BoostingSpec, row_loss: str, loss: Loss, data: TrainingData, context: FitContext
) -> MedianResult:
    """Fit AdaBoost.R2.

    Parameters
    ----------
    spec : BoostingSpec
        The learner, the learning rate ν and the number of rounds.
    row_loss : {"linear", "square", "exponential"}
        L.
    loss : Loss
        The squared error, which trees minimise.
    data : TrainingData
        The rows.
    context : FitContext
        Threads, seed and start time.
    """
    check_targets(loss, data)
    learner, features = spec.learner, data.features
    table = data.train.table()
    encoded, _ = learner.encode([table], data.train.weight, features, context, rows=data.train.rows)
    constant, missing = learner.find_constant(encoded, data, features, warns=True)
    kind = _Estimators if isinstance(learner, EstimatorAdapter) else _Trees
    members: _Members = kind(spec, loss, data, context, encoded, learner.source(table, context))
    parts, weights, errors, reason = _rounds(spec, ROW_LOSSES[row_loss], data, members)
    ensemble = learner.new_ensemble(features, np.zeros(len(parts)))
    for part in parts:
        ensemble.append(part)
    monitor = make_monitor(spec.stopping, loss, members.scale, context, stops_early=False)
    return MedianResult(
        members.model(ensemble, monitor),
        reason,
        len(parts),
        bool(reason),
        constant,
        missing,
        weights=np.array(weights),
        errors=np.array(errors),
    )


def _rounds(
    spec: BoostingSpec,
    row_loss: Callable[[Vector], Vector],
    data: TrainingData,
    members: _Members,
) -> tuple[list[Any], list[float], list[float], str]:
    """Return the terms, their weights and mean losses, and why the rounds ended early."""
    y, weight, rate = data.train.y, data.train.weight, spec.recipe.learning_rate
    total = float(len(y)) if weight is None else sum_rows(weight)
    spread = TargetScale.learn(y, weight)
    rounding = members.precision * (spread.scale * spread.spread)
    times = np.ones(len(y))  # w_i, divided by the weight of the row
    parts: list[Any] = []
    weights: list[float] = []
    errors: list[float] = []
    for number in range(spec.stopping.n_estimators):
        times = np.maximum(times * (total / sum_rows(times, weight)), SMALLEST)
        part, predicted = members.fit(times, number)
        off = np.abs(predicted - y)
        largest = float(off.max())
        perfect = largest <= rounding
        losses = np.zeros(len(y)) if perfect else row_loss(off / largest)
        mean = sum_rows(times * losses, weight) / sum_rows(times, weight)
        if mean >= 0.5 and parts:
            return parts, weights, errors, "the mean loss of an estimator is not below one half"
        parts.append(part)
        errors.append(mean)
        # An estimator without errors gets the weight of one with half a row wrong.
        least = max(mean, 0.5 / max(total, 2.0))
        log_odds = exact_log((1.0 - least) / least) if mean < 0.5 else 0.0
        weights.append(rate * log_odds if mean < 0.5 else 1.0)
        if mean >= 0.5:
            return parts, weights, errors, "the mean loss of an estimator is not below one half"
        if perfect:
            return parts, weights, errors, "an estimator without errors was found"
        times = times * portable_exp(-rate * log_odds * (1.0 - losses))
    return parts, weights, errors, ""


class _Members(Protocol):
    """Fits the terms of the rounds."""

    scale: Scale
    precision: float
    """The precision of predictions, as a fraction of the standard deviation of y."""

    def fit(self, times: Vector, number: int) -> tuple[Any, Vector]:
        """Return a term that is fitted with row weights, and its predictions of the rows."""

    def model(self, ensemble: Any, monitor: Monitor) -> Any:
        """Return the model of all terms."""


class _Trees:
    """Trees that are fitted to the standardised target by weighted least squares."""

    precision = 1e-6  # gradients are float32

    def __init__(
        self,
        spec: BoostingSpec,
        loss: Loss,
        data: TrainingData,
        context: FitContext,
        encoded: Any,
        source: Any,
    ) -> None:
        self._adapter, self._data, self._context, self._source = spec.learner, data, context, source
        train = data.train
        self.scale: Scale = learn_scale(loss, train, None)
        self._loss = loss.in_units(self.scale.unit)
        self._y = self.scale.standardise(train.y)
        learner = spec.learner.learner(data.features, self._loss, self.scale.unit, ())
        self._bound = learner.start(
            context.workers,
            encoded,
            train.weight,
            None,
            hessian_bound=0.0,
            hessian_is_weight=False,
        )

    def fit(self, times: Vector, number: int) -> tuple[Any, Vector]:
        """Return a tree that is fitted with row weights, and its predictions of the rows."""
        workers, weight = self._context.workers, self._data.train.weight
        gradients = Gradients(len(self._y))
        gradients.squared(workers, self._y, np.zeros(len(self._y)), weight)
        gradients.multiply(workers, weight, times.astype(np.float32), True)
        term = self._bound.grow(gradients, None, self._context.seed, number)
        predicted = self._bound.predictions(term, self._source)
        return term.part, np.asarray(self.scale.offset + self.scale.scale * predicted)

    def model(self, ensemble: Any, monitor: Monitor) -> Any:
        """Return the model: every output has the offset and scale of the target."""
        data, loss = self._data, self._loss
        found: Any = self._adapter.model(loss, data, data.features, ensemble, self.scale, monitor)
        n = ensemble.n_outputs
        if n == 1:
            return found
        return replace(found, offset=np.full(n, found.offset), scale=np.full(n, found.scale))


class _Estimators:
    """Estimators of any library, which are fitted to y itself."""

    precision = 1e-12

    def __init__(
        self,
        spec: BoostingSpec,
        loss: Loss,
        data: TrainingData,
        context: FitContext,
        encoded: Any,
        source: Any,
    ) -> None:
        self._adapter, self._data, self._seed, self._loss = spec.learner, data, context.seed, loss
        self.scale: Scale = TargetScale(0.0, 1.0)
        self._X, self._rows = encoded, np.arange(data.train.n_rows)
        learner: Any = spec.learner.learner(data.features, loss, 1.0, ())
        self._bound = learner.start(
            context.workers,
            encoded,
            data.train.weight,
            None,
            hessian_bound=0.0,
            hessian_is_weight=False,
        )

    def fit(self, times: Vector, number: int) -> tuple[Any, Vector]:
        """Return an estimator that is fitted with row weights, and its predictions of the rows."""
        weight = self._data.train.weight
        weight = times if weight is None else weight * times
        rng = np.random.default_rng([self._seed, number])
        fitted = self._bound.fit_rows(self._rows, self._data.train.y, weight, rng)
        term = EstimatorTerm(fitted, np.ones(1))
        return term, term.of(self._X)

    def model(self, ensemble: Any, monitor: Monitor) -> Any:
        """Return the model."""
        data = self._data
        return self._adapter.model(self._loss, data, data.features, ensemble, self.scale, monitor)
