"""Whether a fitted classifier predicts the same class for all of its training rows.

Almost every useful model predicts two classes among its first rows, so that few rows are scored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stagewise.estimators.bases.predictions.unseen_rows import FinishedFit, score_rows
from stagewise.model.model import Model
from stagewise.training.fit_warnings import warn_of_one_class
from stagewise.training.reading.row_set import RowSet

__all__ = ["warn_if_one_class"]

FIRST_ROWS = 1024
"""The rows that are scored first; every further part is four times as large."""
MOST_OF_ONE = 0.9
"""A larger share of one class is often predicted for all rows, by good probabilities, too."""
FEW_ROUNDS = 20
"""A fit that is limited to fewer rounds is a trial."""


def warn_if_one_class(estimator: Any, fit: FinishedFit, params: dict[str, Any]) -> None:
    """Warn if a boosted classifier predicts one class for all training rows.

    Parameters
    ----------
    estimator : estimator
        It has adopted the model of the fit.
    fit : FinishedFit
        The fit.
    params : dict
        The parameters of the fit, without "auto".
    """
    train, classes = fit.data.train, fit.data.classes
    model = fit.result.model
    if not isinstance(model, Model) or not isinstance(train, RowSet):
        return
    if "learning_rate" not in params or params["n_estimators"] < FEW_ROUNDS:
        return
    if classes is None or len(classes) < 2:
        return
    counts = np.bincount(train.y, weights=train.weight, minlength=len(classes))
    if counts.max() > MOST_OF_ONE * counts.sum() or not model.ensemble.trees.depend_on_features():
        return
    found = _only_class(estimator, fit, train)
    if found is not None:
        share = float(counts[found] / counts.sum())
        warn_of_one_class(classes[found], share, fit.result, fit.data, params)


def _only_class(estimator: Any, fit: FinishedFit, train: RowSet) -> int | None:
    """Return the index of the only class that is predicted; None: there are several."""
    first, size, only = 0, FIRST_ROWS, None
    while first < train.n_rows:
        places = np.arange(first, min(first + size, train.n_rows))
        score = score_rows(estimator, fit, train.part(places))
        predicted = estimator._predict_scores(estimator.model_, score).argmax(axis=1)  # noqa: SLF001
        only = int(predicted[0]) if only is None else only
        if (predicted != only).any():
            return None
        first, size = first + size, 4 * size
    return only
