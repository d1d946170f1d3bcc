"""The link from scores to predictions, as a formula that needs no estimator.

The link is identified by its values: the formula that gives the same predictions as the estimator
at probe scores is its link. This also works for custom losses with one of these links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from stagewise.estimators.bases.model_access import predict_scores
from stagewise.inspection.fitted_model import FittedModel, Vector

__all__ = ["Link", "link_of"]

PROBES = np.array([-30.0, -3.0, -0.9, -0.3, 0.0, 0.4, 1.2, 2.5, 30.0])
"""Scores at which formulas are compared, including values beyond saturation."""


def _both(p: Vector) -> Vector:
    """Return the probabilities of both classes from those of the second."""
    return np.hstack([1.0 - p, p])


def _shares(score: Vector) -> Vector:
    positive = np.maximum(score, 0.0)
    total = positive.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, positive, 1.0) / np.where(total > 0, total, score.shape[1])
    return np.asarray(shares, dtype=np.float64)


def _intervals(score: Vector) -> Vector:
    """Return the expected number of intervals after an event, from the log odds of its hazard."""
    hazard = np.cumsum(np.logaddexp(0.0, score), axis=1)
    return np.asarray(-np.expm1(-hazard).sum(axis=1, keepdims=True), dtype=np.float64)


def _labels(score: Vector) -> Vector:
    """Return the probabilities of both classes of each of several targets."""
    return np.stack([expit(-score), expit(score)], axis=2).reshape(len(score), -1)


FORMULAS: Mapping[str, Callable[[Vector], Vector]] = MappingProxyType(
    {
        "identity": lambda score: score,
        "exp": np.exp,
        "sigmoid": expit,
        "certain": lambda score: np.ones((len(score), 1)),
        "logistic": lambda score: np.hstack([expit(-score), expit(score)]),
        "margin": lambda score: _both(np.clip(0.5 + 0.5 * score, 0.0, 1.0)),
        "softmax": lambda score: softmax(score, axis=1),
        "shares": _shares,
        "intervals": _intervals,
        "labels": _labels,
    }
)
"""Predictions from rows of scores. "certain" is for a model of one class; "margin" and "shares" are
for scores that are class shares."""


@dataclass(frozen=True, eq=False)
class Link:
    """The link from scores F to predictions: ``offset + scale * g(F / divisor)``.

    Attributes
    ----------
    kind : str
        The name of g, one of `FORMULAS`.
    divisor : float
        The divisor of the scores: ½ for the exponential loss of two classes, whose score is half
        the log odds; K - 1 for that of K classes.
    offset, scale : float64 array
        Conversion of each prediction to the units of the target; 0 and 1 for classes.
    """

    kind: str
    divisor: float
    offset: Vector
    scale: Vector

    def gives(self, predicted: Vector, score: Vector) -> bool:
        """Whether the link maps the scores to the predictions, up to rounding."""
        found = FORMULAS[self.kind](score / self.divisor)
        if found.shape != predicted.shape:
            return False
        return np.allclose(self.offset + self.scale * found, predicted, rtol=1e-12, atol=1e-14)

    def payload(self) -> dict[str, Any]:
        """Return the link as plain data."""
        return {
            "kind": self.kind,
            "divisor": self.divisor,
            "offset": self.offset.tolist(),
            "scale": self.scale.tolist(),
        }


def link_of(fitted: FittedModel) -> Link | None:
    """Return the link of an estimator; None if it is none of the formulas."""
    score = _probes(fitted.model.ensemble.n_outputs)
    predicted = np.asarray(predict_scores(fitted.estimator, score)).reshape(len(score), -1)
    candidates = _candidates(fitted, predicted.shape[1], predicted)
    return next((link for link in candidates if link.gives(predicted, score)), None)


def _probes(n_outputs: int) -> Vector:
    """Return rows of probe scores in which the outputs have different values."""
    return np.column_stack([np.roll(PROBES, 2 * k) * (1 + k / 8) for k in range(n_outputs)])


def _candidates(fitted: FittedModel, n_predictions: int, predicted: Vector) -> Iterator[Link]:
    zero, one = np.zeros(n_predictions), np.ones(n_predictions)
    if fitted.model.classes is not None:
        n_classes = len(fitted.model.classes)
        for kind in FORMULAS:
            for divisor in sorted({1.0, 0.5, max(1.0, n_classes - 1.0)}, key=lambda d: d != 1.0):
                yield Link(kind, divisor, zero, one)
        return
    if n_predictions != fitted.model.ensemble.n_outputs:
        yield Link("intervals", 1.0, zero, one)
        yield Link("labels", 1.0, zero, one)
        yield Link("labels", 0.5, zero, one)
        return
    offset = np.broadcast_to(fitted.model.offset, n_predictions).astype(np.float64)
    scale = np.broadcast_to(fitted.model.scale, n_predictions).astype(np.float64)
    yield Link("identity", 1.0, offset, scale)
    yield Link("exp", 1.0, offset, scale)
    yield Link("sigmoid", 1.0, zero, one)
    yield Link("exp", 1.0, -one, one)  # e^F - 1
    # Any other affine link, from two of the probes, target by target.
    score = _probes(n_predictions)
    with np.errstate(all="ignore"):
        slope = (predicted[1] - predicted[0]) / (score[1] - score[0])
        factor = predicted[4] / np.exp(score[4])
    yield Link("identity", 1.0, predicted[0] - slope * score[0], slope)
    yield Link("exp", 1.0, zero, factor)  # such as the median of a log-normal time
