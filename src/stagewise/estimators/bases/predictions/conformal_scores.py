"""The conformity scores of a fit, and the checks of the parameter `conformal`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.conformal.conformity import (
    INTERVAL_KINDS,
    PER_CLASS,
    SET_KINDS,
    Conformity,
    keep_some,
)
from stagewise.conformal.sets import SetScore
from stagewise.data.reading.sparse import SparseCells
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.model_access import fit_loss, read_rows
from stagewise.estimators.bases.predictions.unseen_rows import UnseenRows, predict_unseen
from stagewise.losses import Loss
from stagewise.options import Conformal
from stagewise.training.reading.training_data import FitArguments
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = [
    "check_conformal",
    "check_fold_models",
    "check_folds",
    "conformity_of_classes",
    "conformity_of_numbers",
    "group_column",
    "group_keys",
    "loss_of",
]

Vector = npt.NDArray[np.float64]


def loss_of(estimator: Any) -> Loss:
    """Return the loss of a fitted estimator, whatever its parameter is now."""
    model = estimator.model_
    fitted: Loss = estimator._prediction_loss(model)  # noqa: SLF001
    if estimator._passed_loss is not None:  # noqa: SLF001
        return fitted
    try:
        loss = fit_loss(estimator)  # with its parameters, such as a power
    except InvalidParameterError:
        return fitted
    if loss.name != model.loss:
        return fitted
    return loss.with_learned(estimator.model_.learned_by("loss")) if loss.learns else loss


def check_conformal(option: Conformal, name: str, *, of_classes: bool, of_forest: bool) -> None:
    """Raise InvalidParameterError unless an estimator has the method and the score of an option.

    Parameters
    ----------
    option : Conformal
        The option.
    name : str
        The estimator's class, for messages.
    of_classes, of_forest : bool
        Whether it predicts classes, and whether it is a forest.
    """
    methods = ("split", "oob") if of_forest else ("split", "cv", "cv+")
    if option.method not in methods:
        raise InvalidParameterError(
            f"The parameter 'conformal' of {name} must have one of the methods "
            f"{', '.join(map(repr, methods))}; got {option.method!r}."
        )
    scores = ("auto", *(SET_KINDS if of_classes else INTERVAL_KINDS))
    if option.score not in scores:
        raise InvalidParameterError(
            f"The parameter 'conformal' of {name} must have one of the scores "
            f"{', '.join(map(repr, scores))}; got {option.score!r}."
        )
    if of_classes and option.method == "cv+":
        raise InvalidParameterError(
            f"conformal='cv+' is for regressors; {name} has sets. Set conformal='cv' or 'split'."
        )
    if option.per_class and not of_classes:
        raise InvalidParameterError(
            f"per_class=True is for classifiers; {name} predicts numbers. Set groups to the name "
            "of a feature, or leave per_class at False."
        )
    if option.per_class and option.groups is not None:
        raise InvalidParameterError(
            f"per_class=True cannot be combined with groups={option.groups!r}: a threshold is that "
            "of a class, or that of a group. Leave one of them out."
        )


def check_fold_models(params: Mapping[str, Any], name: str) -> None:
    """Raise InvalidParameterError unless the models of folds can predict new rows.

    Parameters
    ----------
    params : mapping
        All parameters, checked.
    name : str
        The estimator's class, for messages.
    """
    reason = ""
    if not isinstance(params.get("category_encoding", "sets"), str):
        reason = "the target encodings of folds differ; set category_encoding='sets'"
    elif not isinstance(params.get("init", "mean"), (str, tuple)):
        reason = "the estimator of init is fitted anew in every fold; set init='mean'"
    if reason:
        raise InvalidParameterError(
            f"conformal='cv+' of {name} keeps the trees of all folds, and {reason}, or "
            "conformal='cv'."
        )


def check_folds(params: Mapping[str, Any], arguments: FitArguments) -> None:
    """Raise InvalidParameterError unless boosting has rows for its conformity scores or its map.

    Parameters
    ----------
    params : mapping
        All parameters, checked.
    arguments : FitArguments
        The arguments of `fit`.
    """
    option, stopping = params.get("conformal"), params["early_stopping"]
    method = "" if option is None else option.method
    passed = arguments.deciding_set is not None and stopping is not False
    if method in ("cv", "cv+") and (stopping is True or passed):
        reason, remedy = (
            ("early_stopping=True holds one part of the rows out", "Set early_stopping='cv'")
            if stopping is True
            else ("X_val or eval_set stops the fit, so there are no folds", "Leave them out")
        )
        raise InvalidParameterError(
            f"conformal={method!r} needs folds, but {reason}. {remedy} (a number of folds is "
            "early_stopping=5), or use conformal='split'."
        )
    none = params["n_estimators"] != "auto" and str(stopping) in ("auto", "False")
    if params.get("calibration") is not None and none and not (passed or method):
        raise InvalidParameterError(
            f"calibration={params['calibration']!r} needs rows that the model was not trained on, "
            "and this fit has none. Set early_stopping='cv' or True, pass X_val and y_val, or call "
            "calibrate with other rows after the fit."
        )


def group_column(features: Any, groups: Any) -> int:
    """Return the number of the feature that has the groups; -1: there are none."""
    if groups is None:
        return -1
    names = features.names
    if isinstance(groups, str):
        if names is None or groups not in names:
            known = " X has no column names." if names is None else _features_like(groups, names)
            raise InvalidParameterError(
                f"groups={groups!r} of conformal is not a feature of the model.{known} Add the "
                "column to X, or pass the number of a column."
            )
        return int(names.index(groups))
    if groups >= features.n:
        raise InvalidParameterError(
            f"groups={groups} of conformal is not a feature: X has {features.n} columns, numbered "
            f"from 0 to {features.n - 1}. Pass one of these numbers or a name: groups is a feature "
            "whose values are the groups, not how many there are."
        )
    return int(groups)


def _features_like(name: str, names: Any) -> str:
    """Return a sentence with the most similar feature, or with the first ones."""
    return nearest_name(name, names) or f" The features are {short_repr(list(names))}."


def group_keys(estimator: Any, X: Any, column: int) -> Vector | None:
    """Return the group of every row: the values of a feature, as finite numbers; None: no groups.

    A missing value is the largest number.
    """
    if column < 0:
        return None
    values = read_rows(estimator, X)
    if isinstance(values, SparseCells):
        values = values.dense()
    own = values[column] if isinstance(values, list) else values[:, column]
    return np.nan_to_num(np.asarray(own, dtype=np.float64), nan=np.finfo(np.float64).max)


def _some(rows: UnseenRows, group: Vector | None, seed: int) -> tuple[UnseenRows, Vector | None]:
    """Return the rows whose scores are kept, and their groups."""
    kept = keep_some(len(rows.y), seed)
    if kept is None:
        return rows, group
    return rows.part(kept), None if group is None else group[kept]


def conformity_of_numbers(
    estimator: Any, option: Conformal, rows: UnseenRows, group: Vector | None, column: int
) -> Conformity:
    """Return the conformity scores of a regressor.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    option : Conformal
        The kind of the score, and the method.
    rows : UnseenRows
        The rows.
    group : float64 array or None
        Their groups.
    column : int
        The feature that has them.
    """
    rows, group = _some(rows, group, estimator.seed_)
    loss, name = loss_of(estimator), type(estimator).__name__
    predicted = predict_unseen(estimator, rows)
    levels = np.asarray(getattr(loss, "levels", ()), dtype=np.float64)
    if predicted.ndim > 1 and not len(levels):
        raise InvalidParameterError(
            f"Intervals are for one target, and {name} has {predicted.shape[1]}. Fit one model per "
            "target, or leave conformal at None."
        )
    kind = option.score
    if kind == "auto":
        kind = "quantile" if len(levels) else "pearson" if loss.log_link else "absolute"
    if (kind == "quantile") != bool(len(levels)):
        raise InvalidParameterError(
            "score='quantile' of conformal goes with loss='quantile' and several levels, such as "
            f"quantile=[0.05, 0.95]; the loss of this {name} is {loss.name!r} and the score is "
            f"{kind!r}. Set score='auto'."
        )
    if kind == "quantile":
        values = (rows.y[:, np.newaxis] - predicted).reshape(-1)
    else:
        values = np.abs(rows.y - predicted)
        if kind == "pearson":
            values = values / loss.deviation(predicted)
    fold = rows.fold if option.method == "cv+" else None
    method = rows.source if rows.source != "cv" else option.method
    power = getattr(loss, "power", None) if kind == "pearson" else None
    return Conformity(kind, method, values, rows.weight, group, fold, column, None, levels, power)


def conformity_of_classes(
    estimator: Any, option: Conformal, rows: UnseenRows, group: Vector | None, column: int
) -> Conformity:
    """Return the conformity scores of a classifier; the arguments are as above."""
    rows, group = _some(rows, group, estimator.seed_)
    kind = "lac" if option.score == "auto" else option.score
    score = SetScore(
        kind, option.randomized, option.penalty, option.free_ranks, estimator.seed_ % 2**31
    )
    proba = predict_unseen(estimator, rows)
    codes = rows.y.astype(np.intp)
    values = score.of_true_class(proba, codes, rows.score)
    if option.per_class:
        group, column = codes.astype(np.float64), PER_CLASS
    return Conformity(kind, rows.source, values, rows.weight, group, None, column, score)
