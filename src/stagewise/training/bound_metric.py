"""A metric bound to the held-out rows of a fit, as a function of their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.losses import Loss
from stagewise.losses.base import squeeze_outputs
from stagewise.metrics import Metric, find_metric
from stagewise.training.reading.row_set import RowSet

__all__ = ["BoundMetric", "bind_metric"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BoundMetric:
    """A metric of the predictions of some rows.

    Attributes
    ----------
    metric : Metric
        The metric.
    loss, scale : Loss, TargetScale or TargetScales
        What turns scores into predictions.
    y, weight : array, float64 array or None
        The targets as the metric gets them, and the weights.
    """

    metric: Metric
    loss: Loss
    scale: Any
    y: npt.NDArray[Any]
    weight: Vector | None

    def value(self, score: npt.NDArray[np.float64], rows: Any = slice(None)) -> float:
        """Return the metric of scores, shape (n_rows, n_outputs), of some of the rows."""
        restored = np.asarray(self.scale.offset + self.scale.scale * score)
        predicted = self.loss.mean(squeeze_outputs(restored))
        weight = None if self.weight is None else self.weight[rows]
        return self.metric.value(self.y[rows], predicted, weight)


def bind_metric(
    eval_metric: Any, rows: RowSet, loss: Loss, scale: Any, classes: npt.NDArray[Any] | None
) -> BoundMetric | None:
    """Return the metric of rows; None: there is no metric.

    Parameters
    ----------
    eval_metric : None, str, callable or Metric
        As of `find_metric`.
    rows : RowSet
        The rows that are measured.
    loss, scale
        As of `BoundMetric`.
    classes : array or None
        The class labels; None: regression.
    """
    metric = find_metric(eval_metric, "regression" if classes is None else "classification")
    if metric is None:
        return None
    labels = classes is not None and not metric.of_codes
    y = np.asarray(classes)[rows.y] if labels else rows.y
    weight = None if rows.weight is None else _read_only(rows.weight)
    return BoundMetric(metric, loss, scale, _read_only(y), weight)


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that a function of the user cannot change."""
    view = array.view()
    view.flags.writeable = False
    return view
