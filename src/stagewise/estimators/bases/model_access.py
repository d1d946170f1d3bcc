"""What inspection reads from a fitted estimator: rows, targets, scores, predictions, the fit."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.row_offset import offset_scores
from stagewise.elementary import portable_exp
from stagewise.losses import Loss, MultiTargetLoss, Quantile, Quantiles
from stagewise.training.reading.target_reader import Target

__all__ = [
    "fit_loss",
    "fit_spec",
    "has_conformity",
    "has_distribution",
    "is_average",
    "largest_coverage",
    "n_targets",
    "named_scores",
    "point_predictions",
    "predict_scores",
    "prediction_names",
    "quantile_levels",
    "read_exposure",
    "read_row_offset",
    "read_rows",
    "read_training_target",
    "read_validation_target",
    "score_columns",
    "several_scores",
    "without_calibration",
]

Vector = npt.NDArray[np.float64]


def is_average(estimator: Any) -> bool:
    """Return whether predictions are means over the trees of a forest, not sums."""
    return bool(estimator._is_average)  # noqa: SLF001


def n_targets(estimator: Any) -> int:
    """Return the number of targets that an estimator predicts."""
    is_median = getattr(estimator, "_is_median", False)  # linear models have no scores of trees
    classes = getattr(estimator.model_, "class_targets", None)
    if classes is not None:
        return len(classes)
    several = named_scores(estimator) is None and not is_median
    return int(estimator.model_.ensemble.n_outputs) if several else 1


def has_distribution(estimator: Any) -> bool:
    """Return whether an estimator predicts distributions."""
    if not hasattr(estimator, "predict_dist") or n_targets(estimator) != 1:
        return False
    return bool(estimator._prediction_loss(estimator.model_).has_distribution)  # noqa: SLF001


def several_scores(estimator: Any) -> Loss | None:
    """Return the loss of a model whose scores describe one target; None: it has no such loss."""
    model = estimator.model_
    if getattr(model, "classes", None) is not None or not hasattr(estimator, "_prediction_loss"):
        return None
    if getattr(estimator, "_is_average", False) or not hasattr(model, "ensemble"):
        return None
    loss: Loss = estimator._prediction_loss(model)  # noqa: SLF001
    several = loss.location is not None and model.ensemble.n_outputs == loss.n_outputs
    return loss if several else None


def named_scores(estimator: Any) -> Loss | None:
    """Return the loss that has the names of scores and predictions; None: targets have them."""
    if getattr(estimator.model_, "task", "") == "survival":
        own: Loss = estimator._prediction_loss(estimator.model_)  # noqa: SLF001
        return own
    return several_scores(estimator)


def point_predictions(estimator: Any, predicted: Any) -> Any:
    """Return one prediction per row: of several levels, the middle one."""
    model = getattr(estimator, "model_", None)
    loss = None if model is None or np.ndim(predicted) != 2 else several_scores(estimator)
    return predicted if loss is None else predicted[:, loss.location]


def quantile_levels(estimator: Any) -> tuple[float, ...]:
    """Return the levels of the quantiles that a fitted regressor predicts; empty: none."""
    loss = several_scores(estimator) if hasattr(estimator, "model_") else None
    if isinstance(loss, Quantiles):
        return loss.levels
    if getattr(getattr(estimator, "model_", None), "loss", "") != Quantile.name:
        return ()
    loss = fit_loss(estimator)
    one = loss.one if isinstance(loss, MultiTargetLoss) else loss
    return (one.quantile,) if isinstance(one, Quantile) else ()


def prediction_names(estimator: Any) -> tuple[str, ...]:
    """Return the names of the columns of predictions of numbers; empty: they are a vector."""
    loss = named_scores(estimator)
    if loss is not None:
        return loss.prediction_names
    n = n_targets(estimator)
    return estimator.model_.targets or (tuple(map(str, range(n))) if n > 1 else ())


def has_conformity(estimator: Any) -> bool:
    """Return whether the model of an estimator has conformity scores."""
    learned = getattr(estimator.model_, "learned", {})
    return any(name.startswith("conformity.") for name in learned)


def without_calibration(estimator: Any) -> Any:
    """Return a copy of an estimator without its calibration map; None: it has none."""
    model = estimator.model_
    others = {n: a for n, a in model.learned.items() if not n.startswith("calibration.")}
    if len(others) == len(model.learned):
        return None
    again = copy(estimator)
    again.model_ = replace(model, learned=others)
    return again


def largest_coverage(estimator: Any) -> float:
    """Return the largest coverage for which an estimator has enough conformity scores."""
    total = estimator._conformity().total  # noqa: SLF001
    return float(total / (total + 1.0))


def read_validation_target(
    estimator: Any, y: Any, sample_weight: Any, n_rows: int
) -> tuple[Any, Vector | None]:
    """Return targets, or codes of classes, and weights of rows that were not trained on."""
    reader, model = estimator._target_reader(), estimator._fitted()  # noqa: SLF001
    classes = model.classes if model.class_targets is None else model.class_targets
    found: tuple[Any, Vector | None] = reader.read_validation(y, sample_weight, n_rows, classes)
    return found


def read_rows(estimator: Any, X: Any) -> Any:
    """Return the columns of rows as the model of a fitted estimator reads them.

    Categories and wide integers are numbers.

    Returns
    -------
    array of shape (n_rows, n_features), list of arrays, or SparseCells of a sparse matrix
        It may share memory with X: do not write to it.
    """
    return estimator._match(estimator._fitted(), X)  # noqa: SLF001


def read_exposure(estimator: Any, X: Any, n_rows: int, exposure: Any) -> Vector | None:
    """Return the exposures of rows that are passed, or that a model reads from X; None: all 1."""
    model = getattr(estimator, "model_", None)
    source = False if model is None else model.row_offset.exposure
    exposure = source if exposure is None and isinstance(source, str) else exposure
    found = None if exposure is None else offset_scores(None, exposure, X, n_rows, 1)
    return None if found is None else portable_exp(found[:, 0])


def read_row_offset(
    estimator: Any, X: Any, n_rows: int, offset: Any, exposure: Any
) -> Vector | None:
    """Return the offset of rows in units of F, shape (n_rows, n_outputs); None: it is 0.

    Raises
    ------
    ValueError
        If the model was fitted with an offset that is neither passed nor a column of X.
    """
    model = estimator._fitted()  # noqa: SLF001
    if offset is None and exposure is None and not model.row_offset:
        return None
    found: Vector | None = estimator._offset_score(  # noqa: SLF001
        model, X, n_rows, offset, exposure
    )
    return found


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
    if model.class_targets is not None:
        found: Loss = estimator._targets_loss(model.class_targets)  # noqa: SLF001
        return found
    if model.task == "survival":
        own: Loss = estimator._prediction_loss(model)  # noqa: SLF001
        return own
    loss: Loss = estimator._make_loss(model.classes)  # noqa: SLF001
    n_targets = model.ensemble.n_outputs
    several = model.classes is None and (n_targets > 1 or model.targets is not None)
    several = several and loss.n_outputs == 1
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
