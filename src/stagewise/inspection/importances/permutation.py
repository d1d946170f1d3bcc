"""Permutation importance with standard errors.

The loss of every row is computed before and after a permutation, so the standard error of the mean
difference can be estimated from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from stagewise.data import read_target, read_targets
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.model_access import (
    fit_loss,
    n_targets,
    point_predictions,
    read_training_target,
    read_validation_target,
)
from stagewise.inspection.fitted_model import FittedModel, Vector, check_argument
from stagewise.inspection.importances.split_importance import Importance
from stagewise.inspection.quality.predictions import known_codes
from stagewise.inspection.quality.query_scores import is_ranker, read_ranking
from stagewise.metrics.queries import QueryMetric, parse_ranking_name
from stagewise.metrics.ranking import roc_auc
from stagewise.metrics.row_losses import (
    CLASSIFICATION_ROW_LOSSES,
    REGRESSION_ROW_LOSSES,
    RowLoss,
)
from stagewise.metrics.survival import c_index
from stagewise.training.bound_metrics import facts_of
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name
from stagewise.validation.rules import Number

__all__ = ["permutation_importance"]


def _finite(value: Any) -> float:
    """Return the value of a loss function of the caller as float; raise if it is not finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ValueError(
            f"loss must return a finite number; your function returned {short_repr(value)}."
        )
    return number


@dataclass(frozen=True, eq=False)
class _Evaluator:
    """Computes the loss of predictions: of each row if the loss is a mean, and of all rows."""

    y: npt.NDArray[Any]
    weight: Vector
    rows: RowLoss | None
    whole: Callable[[npt.NDArray[Any], Vector, Vector], float] | None

    def __call__(self, y_pred: Vector) -> tuple[Vector | None, float]:
        if self.rows is None:
            assert self.whole is not None
            return None, _finite(self.whole(self.y, y_pred, self.weight))
        each = self.rows(self.y, y_pred)
        return each, float(np.average(each, weights=self.weight))


@suggests_arguments
def permutation_importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    loss: Any = "auto",
    groups: Mapping[str, Any] | None = None,
    n_repeats: int = 5,
    confidence_level: float = 0.95,
    random_state: int = 0,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
) -> Importance:
    """Return the increase of the loss when the values of a feature are permuted.

        I_j = (1/R) Σ_r L(y, f(X with column j permuted)) - L(y, f(X))

    (Breiman 2001, section 10; Fisher, Rudin & Dominici 2019). Use rows that were
    not used for training: on training rows, overfitting increases the importance. Permuting one of
    several correlated features creates unrealistic rows; permute such features as one group.

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree.
    X, y : array-like, data frame or sparse matrix, and array-like
        Rows and their targets. Sparse rows become dense (at most 1 GiB).
    loss : str or callable, default="auto"
        Regression: "squared_error" or "absolute_error". Classification: "log_loss", "brier",
        "error" (the error rate) or "auc" (1 - AUC, two classes). Or a function loss(y, y_pred,
        weight) that returns a number, smaller being better; for classes y_pred has probabilities
        and y has indices into `classes_`. Rankers: "ndcg", "map", "mrr" or "err", also "ndcg@10";
        the value is their decrease. Several targets of classes: "log_loss", "brier" or "error",
        their mean. Survival models: "c_index". "auto": squared_error, log_loss, ndcg or c_index.
    groups : mapping of str to features, or None
        Named groups of features that are permuted together. None: each feature by itself.
    n_repeats : int, default=5
        R, the number of permutations of each feature or group.
    confidence_level : float, default=0.95
        The confidence level of the limits.
    random_state : int, default=0
        The seed of the permutations.
    sample_weight : array-like or None
        Sample weights of the loss.
    offset, exposure : array-like, number, str or None
        As of `predict` of the estimator.

    Returns
    -------
    Importance
        `error` is the standard error of the mean over rows. "auc" and your own function are not
        means over rows; their `error` is the standard error over the R permutations.
    """
    fitted = FittedModel.of(estimator, "permutation_importance", offsets=True, of_targets=True)
    repeats = check_argument("n_repeats", Number(1, whole=True), n_repeats)
    share = check_argument(
        "confidence_level", Number(0.0, 1.0, open_low=True, open_high=True), confidence_level
    )
    seed = check_argument("random_state", Number(0, whole=True), random_state)
    columns = fitted.columns(X, least=2)
    evaluate = _evaluator(fitted, y, sample_weight, len(columns[0]), loss)
    if evaluate.rows is None and repeats < 2:
        raise InvalidParameterError(
            "n_repeats must be at least 2 with a loss that is not a mean over rows: its standard "
            "error is estimated from the permutations."
        )
    chosen = _chosen(fitted, groups)
    added = fitted.offset(X, len(columns[0]), offset, exposure)
    rows = _Rows(fitted, columns, added, evaluate)
    before = rows.loss(columns)
    value, error = np.zeros(len(chosen)), np.zeros(len(chosen))
    for i, places in enumerate(chosen.values()):
        if fitted.used.intersection(places):
            value[i], error[i] = _increase(rows, places, before, repeats, seed)
    reach = ndtri((1 + share) / 2) * error
    unit = f"increase of {loss if isinstance(loss, str) else 'your loss'}"
    if fitted.model.task == "survival" and isinstance(loss, str):
        unit = "decrease of c_index"
    elif is_ranker(estimator) and isinstance(loss, str):
        unit = f"decrease of {'ndcg' if loss == 'auto' else loss}"
    elif loss == "auto":
        of_classes = fitted.model.task == "classification"
        unit = f"increase of {'log_loss' if of_classes else 'squared_error'}"
    names = tuple(chosen)
    return Importance(
        "permutation", unit, names, value, error=error, low=value - reach, high=value + reach
    )


def _chosen(fitted: FittedModel, groups: Any) -> dict[str, tuple[int, ...]]:
    if groups is None:
        return {name: (j,) for j, name in enumerate(fitted.names)}
    if not isinstance(groups, Mapping) or not groups:
        raise InvalidParameterError(
            f"groups must be a dictionary of names and features; got {short_repr(groups)}."
        )
    return {
        str(name): fitted.positions(features, f"groups[{name!r}]")
        for name, features in groups.items()
    }


def _evaluator(
    fitted: FittedModel, y: Any, sample_weight: Any, n_rows: int, loss: Any
) -> _Evaluator:
    """Read the targets and check that the loss fits them."""
    if is_ranker(fitted.estimator):
        return _ranking_evaluator(fitted, y, sample_weight, n_rows, loss)
    if fitted.model.task == "survival":
        return _survival_evaluator(fitted, y, sample_weight, n_rows, loss)
    if fitted.model.class_targets is not None:
        return _label_evaluator(fitted, y, sample_weight, n_rows, loss)
    classes, caller = fitted.model.classes, "permutation_importance"
    known = REGRESSION_ROW_LOSSES if classes is None else CLASSIFICATION_ROW_LOSSES
    weight = fitted.weight(sample_weight, n_rows)
    names = [*known, *([] if classes is None else ["auc"])]
    name = names[0] if isinstance(loss, str) and loss == "auto" else loss
    if not callable(name) and name not in names:
        raise InvalidParameterError(
            f"loss must be one of {', '.join(map(repr, names))} for this model, or a function of "
            f"y, y_pred and weight; got {short_repr(loss)}.{nearest_name(str(loss), names)}"
        )
    if classes is None:
        read = read_target if n_targets(fitted.estimator) == 1 else read_targets
        target: npt.NDArray[Any] = read(y, n_rows, caller=caller)
    else:
        target = known_codes(y, n_rows, classes, caller)
    if name == "auc":
        _check_auc(target, weight, classes)
        return _Evaluator(target, weight, None, _one_less_auc)
    return _Evaluator(target, weight, None if callable(name) else known[name], name)


def _ranking_evaluator(
    fitted: FittedModel, y: Any, sample_weight: Any, n_rows: int, loss: Any
) -> _Evaluator:
    """Return the loss 1 - metric of the queries."""
    name = "ndcg" if isinstance(loss, str) and loss == "auto" else loss
    found = parse_ranking_name(name) if isinstance(name, str) else None
    if found is None and not callable(name):
        raise InvalidParameterError(
            "loss of a ranker must be 'ndcg', 'map', 'mrr' or 'err', also of the first k rows such "
            f"as 'ndcg@10', or a function of y, y_pred and weight; got {short_repr(loss)}."
        )
    target, _, given = read_ranking(fitted.estimator, y, sample_weight, n_rows)
    weight = np.ones(n_rows) if given is None else given
    if found is None:
        own: Any = name
        return _Evaluator(target, weight, None, own)
    metric = QueryMetric(*found)
    return _Evaluator(target, weight, None, lambda *own: 1.0 - metric(*own))


def _survival_evaluator(
    fitted: FittedModel, y: Any, sample_weight: Any, n_rows: int, loss: Any
) -> _Evaluator:
    """Return the loss 1 - C-index of times until an event."""
    if not callable(loss) and loss not in ("auto", "c_index"):
        raise InvalidParameterError(
            "loss of a survival model must be 'c_index', or a function of y, y_pred and weight; "
            f"got {short_repr(loss)}."
        )
    read = read_training_target(fitted.estimator, y, sample_weight, n_rows)
    weight = np.ones(n_rows) if read.weight is None else read.weight
    if callable(loss):
        return _Evaluator(read.y, weight, None, loss)
    facts = facts_of(fit_loss(fitted.estimator), None)
    own: dict[str, Any] = {"causes": facts.causes, "earlier": facts.larger_is_earlier}
    return _Evaluator(read.y, weight, None, lambda *given: 1.0 - c_index(*given, **own))


def _label_evaluator(
    fitted: FittedModel, y: Any, sample_weight: Any, n_rows: int, loss: Any
) -> _Evaluator:
    """Return the mean of a loss over several targets of classes; y has their codes."""
    model, names = fitted.model, [*CLASSIFICATION_ROW_LOSSES]
    name = names[0] if isinstance(loss, str) and loss == "auto" else loss
    if name not in names:
        raise InvalidParameterError(
            f"loss must be one of {', '.join(map(repr, names))} for several targets of classes; "
            f"got {short_repr(loss)}."
        )
    known = read_validation_target(fitted.estimator, y, None, n_rows)[0]
    ends = np.cumsum([len(labels) for labels in model.class_targets or ()])[:-1]

    def mean_loss(y: npt.NDArray[Any], y_pred: Vector) -> Vector:
        parts = np.split(y_pred, ends, axis=1)
        each = [CLASSIFICATION_ROW_LOSSES[name](y[:, k], own) for k, own in enumerate(parts)]
        return np.asarray(np.mean(each, axis=0))

    return _Evaluator(known, fitted.weight(sample_weight, n_rows), mean_loss, None)


def _check_auc(codes: npt.NDArray[Any], weight: Vector, classes: Any) -> None:
    if len(classes) != 2:
        raise InvalidParameterError(
            f"loss='auc' needs two classes, and the model has {len(classes)}. Use loss='log_loss'."
        )
    if len(np.unique(codes[weight > 0])) < 2:
        raise ValueError(
            f"y has only the class {short_repr(classes[codes[0]])}, and loss='auc' needs both. "
            "Pass rows of both classes, or use loss='log_loss'."
        )


def _one_less_auc(y: npt.NDArray[Any], y_pred: Vector, weight: Vector) -> float:
    return 1.0 - roc_auc(y == 1, np.ascontiguousarray(y_pred[:, 1]), weight)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows whose columns are permuted, with the offsets that they keep."""

    fitted: FittedModel
    columns: Sequence[Vector]
    offset: Vector
    evaluate: _Evaluator

    def loss(self, columns: Sequence[Vector]) -> tuple[Vector | None, float]:
        """Return the losses of the rows with other columns."""
        score = self.fitted.score(columns) + self.offset
        predicted = self.fitted.respond(score, "mean")
        return self.evaluate(point_predictions(self.fitted.estimator, predicted))


def _increase(
    own: _Rows,
    places: Iterable[int],
    before: tuple[Vector | None, float],
    repeats: int,
    seed: int,
) -> tuple[float, float]:
    """Return the mean increase of the loss and its standard error."""
    columns, evaluate = own.columns, own.evaluate
    places, n = tuple(places), len(columns[0])
    grown, rows = np.zeros(repeats), np.zeros(n)
    for r in range(repeats):
        # Keyed by the features, so that the result does not depend on the other groups.
        order = np.random.default_rng([seed, r, *places]).permutation(n)
        moved = [c[order] if j in places else c for j, c in enumerate(columns)]
        each, whole = own.loss(moved)
        grown[r] = whole - before[1]
        if each is not None and before[0] is not None:
            rows += (each - before[0]) / repeats
    if evaluate.rows is None:
        return float(grown.mean()), float(grown.std(ddof=1) / repeats**0.5)
    mean = np.average(rows, weights=evaluate.weight)
    spread = np.average((rows - mean) ** 2, weights=evaluate.weight)
    # The effective number of rows, (Σw)² / Σw².
    count = evaluate.weight.sum() ** 2 / (evaluate.weight**2).sum()
    return float(mean), float((spread / max(count - 1, 1)) ** 0.5)
