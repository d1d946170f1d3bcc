"""The metrics of the rows of one set, as a function of their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.boosting.monitor import WORDS
from stagewise.losses import Loss
from stagewise.losses.levels import LevelsLoss
from stagewise.losses.regression import Quantile
from stagewise.losses.scores import squeeze_outputs
from stagewise.losses.survival.competing_risks import CompetingRisksLoss
from stagewise.metrics import Metric, find_metrics
from stagewise.metrics.labels import metric_of_targets
from stagewise.metrics.metric import FitFacts
from stagewise.training.reading.row_set import RowSet

__all__ = ["BoundMetrics", "bind_metrics", "facts_of"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BoundMetrics:
    """Metrics of the predictions of some rows.

    Attributes
    ----------
    metrics : sequence of Metric
        The metrics.
    loss, scale : Loss, TargetScale or TargetScales
        What turns scores into predictions.
    y : array
        The targets, or the class codes.
    labels : array
        The targets, or the class labels.
    weight : float64 array or None
        The weights.
    offset : float64 array of shape (n_rows, n_outputs) or None
        What is added to the scores, in the units of the target; None: they have it already.
    rows_name : str
        The rows in messages.
    """

    metrics: Sequence[Metric]
    loss: Loss
    scale: Any
    y: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    weight: Vector | None
    offset: npt.NDArray[np.float64] | None = None
    rows_name: str = "held-out rows"

    def values(
        self,
        score: npt.NDArray[np.float64],
        rows: Any = slice(None),
        learned: Mapping[str, Vector] | None = None,
    ) -> dict[str, float]:
        """Return the metrics of scores, shape (n_rows, n_outputs), of some of the rows.

        `learned` are the numbers that the loss has learned so far.
        """
        if not self.metrics:
            return {}
        loss = self.loss.with_learned(learned) if learned else self.loss
        predicted = self.scale.offset + self.scale.scale * loss.mean(squeeze_outputs(score))
        if self.offset is not None:
            own, location = self.offset[rows], self.loss.location
            shift = squeeze_outputs(own) if location is None else own[:, location]
            predicted = predicted + (shift[:, np.newaxis] if predicted.ndim > shift.ndim else shift)
        weight = None if self.weight is None else self.weight[rows]
        distributions: Any = predicted
        if self.loss.has_distribution and any(metric.of_distribution for metric in self.metrics):
            start = self.scale.offset + (0.0 if self.offset is None else shift)
            distributions = self.loss.distribution(score, start, self.scale.scale)
        return {
            metric.name: metric.value(
                (self.y if metric.of_codes else self.labels)[rows],
                distributions if metric.of_distribution else predicted,
                weight,
                self.rows_name,
            )
            for metric in self.metrics
        }


def facts_of(loss: Loss, classes: npt.NDArray[Any] | None) -> FitFacts:
    """Return the facts of a fit that its metrics may depend on."""
    one = getattr(loss, "one", loss)  # the loss of each of several targets
    levels = tuple(loss.levels) if isinstance(loss, LevelsLoss) else None
    causes = tuple(loss.causes) if isinstance(loss, CompetingRisksLoss) else ()
    return FitFacts(
        classes,
        loss.name,
        getattr(one, "power", None),
        levels,
        has_distribution=loss.has_distribution,
        causes=causes,
        larger_is_earlier=getattr(loss, "larger_is_earlier", True),
        quantile=loss.quantile if isinstance(loss, Quantile) else None,
    )


def bind_metrics(
    eval_metric: Any,
    rows: RowSet,
    loss: Loss,
    scale: Any,
    classes: npt.NDArray[Any] | None,
    name: str,
    class_targets: Sequence[npt.NDArray[Any]] | None = None,
) -> BoundMetrics:
    """Return the metrics of rows.

    Parameters
    ----------
    eval_metric : None, a metric or a list of metrics
        As of `find_metrics`.
    rows : RowSet
        The rows that are measured.
    loss, scale
        As of `BoundMetrics`.
    classes : array or None
        The class labels; None: regression.
    name : str
        The name of the set.
    class_targets : sequence of arrays or None
        The class labels of each of several targets.
    """
    of_numbers = classes is None and class_targets is None
    task = loss.task or ("regression" if of_numbers else "classification")
    found = find_metrics(eval_metric, task)
    facts = facts_of(loss, classes)
    metrics = [metric.bind(facts) for metric in found]
    if of_numbers and rows.offset is not None and rows.offset.shape[1] == rows.n_targets:
        metrics = [each.beside(rows.offset, loss) for each in metrics]
    if class_targets is not None:
        metrics = [metric_of_targets(metric, class_targets) for metric in metrics]
    labels = rows.y
    if classes is not None and not all(metric.of_codes for metric in metrics):
        labels = np.asarray(classes)[rows.y]
    weight = None if rows.weight is None else _read_only(rows.weight)
    # The scores of a loss of y - F are fitted to y - offset.
    offset = None if loss.degree is None else rows.offset
    words = f"{WORDS[name]} rows" if name in WORDS else f"rows of eval_set {name!r}"
    own = _read_only(rows.y), _read_only(labels), weight, offset, words
    return BoundMetrics(metrics, loss, scale, *own)


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that a function of the user cannot change."""
    view = array.view()
    view.flags.writeable = False
    return view
