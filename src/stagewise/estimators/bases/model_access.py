"""What inspection reads from a fitted estimator: rows, targets, scores, predictions, the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.losses import Loss, MultiTargetLoss
from stagewise.training.reading.target_reader import Target

__all__ = [
    "fit_loss",
    "fit_spec",
    "is_average",
    "predict_scores",
    "read_rows",
    "read_training_target",
    "score_columns",
]

Vector = npt.NDArray[np.float64]


def is_average(estimator: Any) -> bool:
    """Return whether predictions are means over the trees of a forest, not sums."""
    return bool(estimator._is_average)  # noqa: SLF001


def read_rows(estimator: Any, X: Any) -> Any:
    """Return the columns of rows as the model of a fitted estimator reads them.

    Categories and wide integers are numbers.

    Returns
    -------
    array of shape (n_rows, n_features), list of arrays, or SparseCells of a sparse matrix
        It may share memory with X: do not write to it.
    """
    return estimator._match(estimator._fitted(), X)  # noqa: SLF001


def read_training_target(estimator: Any, y: Any, sample_weight: Any, n_rows: int) -> Target:
    """Return targets and weights as the fit of an estimator reads them, class weights included."""
    target: Target = estimator._target_reader().read(y, sample_weight, n_rows)  # noqa: SLF001
    return target


def fit_spec(estimator: Any) -> Any:
    """Return the specification of the fit of a fitted estimator; no parameter is "auto"."""
    checked = estimator._parameters()  # noqa: SLF001
    return estimator._spec(  # noqa: SLF001
        estimator._resolve(checked),  # noqa: SLF001
        estimator._hold_out(checked),  # noqa: SLF001
    )


def fit_loss(estimator: Any) -> Loss:
    """Return the loss that a fitted estimator minimises."""
    model = estimator.model_
    loss: Loss = estimator._make_loss(model.classes)  # noqa: SLF001
    n_targets = model.ensemble.n_outputs
    several = model.classes is None and (n_targets > 1 or model.targets is not None)
    return MultiTargetLoss(loss, n_targets) if several else loss


def score_columns(estimator: Any, columns: Any) -> Vector:
    """Return F of rows that `read_rows` has read, shape (n_rows, n_outputs)."""
    return np.asarray(estimator._score_values(estimator._fitted(), columns))  # noqa: SLF001


def predict_scores(estimator: Any, score: Vector) -> Vector:
    """Return the predictions of scores: numbers, or probabilities of classes.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    score : float64 array of shape (n_rows, n_outputs)
        F(x), as `model_.ensemble.score` returns it.
    """
    return np.asarray(estimator._predict_scores(estimator._fitted(), score))  # noqa: SLF001
