"""Metrics of several targets of classes: of labels together, and means over the targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.exact_sums import mean_rows
from stagewise.metrics.metric import Metric

__all__ = ["hamming_loss", "metric_of_targets", "subset_accuracy"]

Vector = npt.NDArray[np.float64]


def hamming_loss(y: npt.NDArray[Any], chosen: npt.NDArray[Any], weight: Vector | None) -> float:
    """Return the share of wrong labels: codes of classes, shape (n_rows, n_targets)."""
    return mean_rows(np.ascontiguousarray((y != chosen).mean(axis=1)), weight)


def subset_accuracy(y: npt.NDArray[Any], chosen: npt.NDArray[Any], weight: Vector | None) -> float:
    """Return the share of rows without a wrong label."""
    return mean_rows((y == chosen).all(axis=1).astype(np.float64), weight)


OF_LABELS = {"hamming_loss": hamming_loss, "subset_accuracy": subset_accuracy}


def metric_of_targets(metric: Metric, classes: Sequence[npt.NDArray[Any]]) -> Metric:
    """Return a metric of several targets; y has codes, and predictions all probabilities.

    It is the mean over the targets, without those for which it is not defined, such as the area
    under a curve if all rows have the same label. "hamming_loss" and "subset_accuracy" compare the
    labels of a row.
    """
    ends = np.cumsum([len(own) for own in classes])[:-1]

    def of(y: npt.NDArray[Any], p: Vector, weight: Vector | None) -> float:
        parts = np.split(p, ends, axis=1)
        if metric.name in OF_LABELS:
            chosen = np.column_stack([own.argmax(axis=1) for own in parts])
            return OF_LABELS[metric.name](y, chosen, weight)
        found = []
        for k, (own, labels) in enumerate(zip(parts, classes, strict=True)):
            target = np.ascontiguousarray(y[:, k])
            if len(labels) > 1:
                given = target if metric.of_codes else labels[target]
                found.append(float(metric.function(given, own, weight)))
        defined = [value for value in found if np.isfinite(value)]
        return float(np.mean(defined)) if defined else float("nan")

    return replace(metric, function=of, of_codes=True)
