"""Scores of several targets of classes: of the labels of a row together, and of each target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stagewise.data import match_targets
from stagewise.data.targets import read_label_columns
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.model_access import fit_loss
from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quality.constants import OffsetRows
from stagewise.inspection.quality.metrics import MeanLoss, MeanScore, Metric, metrics_of
from stagewise.inspection.quality.predictions import Predictions, offsets_of
from stagewise.inspection.quality.scores import Scores
from stagewise.losses import MultiTargetLoss
from stagewise.validation.messages import short_repr

__all__ = ["has_labels", "label_metrics", "label_predictions", "label_scores", "wrong_labels"]

PER_LABEL = ("log_loss", "auc")
"""The metrics of each target."""


def has_labels(estimator: Any) -> bool:
    """Return whether an estimator was fitted to several targets of classes."""
    return getattr(getattr(estimator, "model_", None), "class_targets", None) is not None


class _MeanOfTargets(Metric):
    """The mean of a metric over the targets for which it is defined."""

    def __init__(self, name: str, label: str, parts: Sequence[Metric]) -> None:
        self.name, self.label, self._parts = name, label, parts
        self.larger_is_better, self.ends = parts[0].larger_is_better, parts[0].ends
        self.passes = sum(part.passes for part in parts)

    def value(self, weight: Vector) -> float:
        return _mean([part.value(weight) for part in self._parts])

    def baseline(self, weight: Vector) -> float:
        return _mean([part.baseline(weight) for part in self._parts])

    def influence(self, weight: Vector) -> Vector:
        each = [part.influence(weight) for part in self._parts]
        known = [moved for moved in each if np.isfinite(moved).all()]
        return np.asarray(np.mean(known, axis=0)) if known else each[0]

    def reason(self, n_rows: int) -> str:
        reasons = [part.reason(n_rows) for part in self._parts]
        return reasons[0] if all(reasons) else ""


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else float("nan")


def label_predictions(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None
) -> dict[str, Predictions]:
    """Return the predictions of each target of classes, by its name.

    Parameters
    ----------
    estimator : classifier
        Fitted to several targets.
    X, y, sample_weight, offset
        The rows, as of `score` of the estimator.
    """
    model, caller = estimator.model_, type(estimator).__name__
    given = {} if offset is None else {"offset": offset}
    proba = estimator.predict_proba(X, **given)
    n_rows, n = len(proba[0]), len(proba)
    columns = read_label_columns(match_targets(y, model.targets), n_rows, caller=caller)
    if columns is None or len(columns) != n:
        found = 1 if columns is None else len(columns)
        raise ValueError(
            f"This {caller} has {n} targets, and y has {found}. Pass a column for each target."
        )
    offsets = offsets_of(estimator, X, n_rows, offset)
    loss = fit_loss(estimator)
    found_predictions = {}
    for k, (name, labels) in enumerate(zip(model.target_names, columns, strict=True)):
        own = None
        if offsets is not None and isinstance(loss, MultiTargetLoss):
            own = OffsetRows(loss.one, offsets.offset[:, k : k + 1])
        try:
            found_predictions[name] = Predictions.from_arrays(
                *(labels.classes[labels.codes], proba[k], model.class_targets[k], sample_weight),
                caller=caller,
                offsets=own,
            )
        except ValueError as error:
            raise ValueError(f"Target {name}: {error}") from None
    return found_predictions


def wrong_labels(each: Sequence[Predictions]) -> Vector:
    """Return whether the predicted labels of rows are wrong, shape (n_rows, n_targets)."""
    return np.column_stack([own.y != own.y_pred.argmax(axis=1) for own in each]).astype(np.float64)


def label_metrics(predictions: Mapping[str, Predictions]) -> tuple[list[Metric], list[Metric]]:
    """Return the metrics of the labels together, and those of each target.

    Parameters
    ----------
    predictions : mapping of str to Predictions
        The predictions of each target, for rows with positive weights.
    """
    each = list(predictions.values())
    found = [{metric.name: metric for metric in metrics_of(own)} for own in each]
    wrong = wrong_labels(each)
    codes = np.column_stack([own.y for own in each])
    combinations, place = np.unique(codes, axis=0, return_inverse=True)
    place = place.reshape(-1)

    def constant_wrong(weight: Vector) -> Vector:
        """Return the shares of wrong labels if every target has its most frequent class."""
        chosen = [own.constant.class_shares(weight, own.y_pred.shape[1]) for own in each]
        constant = np.column_stack([shares.argmax(axis=1) for shares in chosen])
        return np.asarray((codes != constant).mean(axis=1))

    def most_frequent(weight: Vector) -> Vector:
        """Return whether rows have the most frequent labels."""
        best = np.bincount(place, weights=weight, minlength=len(combinations)).argmax()
        return np.asarray(place == best, dtype=np.float64)

    exact = (wrong == 0).all(axis=1).astype(np.float64)
    together: list[Metric] = [
        MeanLoss("hamming_loss", "Hamming loss", wrong.mean(axis=1), constant_wrong),
        MeanScore("subset_accuracy", "subset accuracy", exact, most_frequent),
        _MeanOfTargets("log_loss", "mean log loss", [own["log_loss"] for own in found]),
        _MeanOfTargets("macro_auc", "mean AUC", [own["auc"] for own in found]),
    ]
    single = []
    for name, own in zip(predictions, found, strict=True):
        for kind in PER_LABEL:
            metric = own[kind]
            metric.name, metric.label = f"{kind}_{name}", f"{metric.label}, {name}"
            single.append(metric)
    return together, single


def label_scores(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    offset: Any = None,
    metrics: Any = None,
    **options: Any,
) -> Scores:
    """Return the scores of several targets of classes; the parameters are those of `scores`."""
    if metrics is not None:
        raise InvalidParameterError(
            "metrics must be None for several targets of classes, which have their own scores: "
            "hamming_loss, subset_accuracy, log_loss and macro_auc, and log_loss and auc of each "
            f"target; got {short_repr(metrics)}."
        )
    found = label_predictions(estimator, X, y, sample_weight, offset=offset)
    used = {name: own.with_weight() for name, own in found.items()}
    together, single = label_metrics(used)
    weight = next(iter(used.values())).weight
    return Scores.of_metrics("classification", [*together, *single], weight, **options)
