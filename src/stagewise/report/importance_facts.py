"""Rankings of features by several measures of importance, for the report page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.ranking import is_ranking_target
from stagewise.inspection.encoded_rows import sample_rows
from stagewise.inspection.fitted_model import FittedModel, Vector
from stagewise.inspection.importances.importance import importance, shap_importance
from stagewise.inspection.importances.permutation import permutation_importance
from stagewise.inspection.importances.split_importance import Importance
from stagewise.inspection.shap.values import ShapValues
from stagewise.report.row_budget import row_budget
from stagewise.report.row_facts import offset_arguments, take

__all__ = ["ImportanceFacts", "importance_facts"]

ROWS_OF_PERMUTATION = 2000
N_REPEATS = 5
FEATURES = 60
"""The maximum number of features of a ranking."""
KIND_LABELS = {
    "squared_improvement": "Friedman's relative importance",
    "gain": "Gain",
    "shap": "Mean |Shapley value|",
    "permutation": "Permutation importance",
    "splits": "Number of splits",
    "cover": "Cover",
}


@dataclass(frozen=True, eq=False)
class ImportanceFacts:
    """A ranking of features.

    Attributes
    ----------
    kind, label, unit : str
        The kind of importance, its name on the page, and its unit.
    feature : int64 array
        Indices of the features, the most important first.
    value : float64 array
        Their importance.
    low, high : float64 arrays, or None
        Confidence limits.
    outputs : tuple of str
        The classes or targets of `by_output`.
    by_output : float64 array of shape (n_outputs, n_features), or None
        The importances for each output.
    """

    kind: str
    label: str
    unit: str
    feature: Any
    value: Vector
    low: Vector | None
    high: Vector | None
    outputs: tuple[str, ...]
    by_output: Vector | None


def importance_facts(
    fitted: FittedModel,
    X: Any,
    y: Any,
    weight: Vector,
    shap: ShapValues | None,
    seed: int,
    offset: Vector,
) -> tuple[ImportanceFacts, ...]:
    """Return the rankings.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    X, y : table and array
        The rows and their targets.
    weight : float64 array
        The sample weights.
    shap : ShapValues or None
        The Shapley values of some rows, if they are available.
    seed : int
        The seed of the permutations.
    offset : float64 array of shape (n_rows, n_scores)
        The offset of each row in units of F.
    """
    estimator = fitted.estimator
    every = list(range(len(fitted.names)))
    found = {kind: (importance(estimator, kind), every) for kind in ("gain", "squared_improvement")}
    if shap is not None:
        found["shap"] = shap_importance(shap, np.ones(len(shap.values))), every
    drawn = _rows_of_permutation(fitted, y, weight, seed)
    if len(drawn) > 1:
        # Of a wide table only the columns with the largest gain are permuted.
        some = sorted(found["gain"][0].order[:FEATURES])
        shuffled = permutation_importance(
            estimator,
            take(X, drawn),
            y[drawn],
            sample_weight=weight[drawn],
            groups={str(j): j for j in some},
            n_repeats=N_REPEATS,
            random_state=seed,
            **offset_arguments(fitted, offset[drawn]),
        )
        found["permutation"] = shuffled, some
    found |= {kind: (importance(estimator, kind), every) for kind in ("splits", "cover")}
    return tuple(_ranked(kind, own, places) for kind, (own, places) in found.items())


def _rows_of_permutation(
    fitted: FittedModel, y: Any, weight: Vector, seed: int
) -> npt.NDArray[np.int64]:
    """Return a random sample of the rows; of a ranking, whole queries."""
    most = row_budget(fitted).limit(ROWS_OF_PERMUTATION, 200)
    if not is_ranking_target(y) or len(weight) <= most:
        return sample_rows(weight, most, seed)
    _, query = np.unique(y["qid"], return_inverse=True)
    order = np.random.default_rng(seed).permutation(int(query.max()) + 1)
    sizes = np.bincount(query)[order]
    kept = np.zeros(len(order), dtype=bool)
    kept[order[: max(1, int(np.searchsorted(np.cumsum(sizes), most, "right")))]] = True
    return np.flatnonzero(kept[query] & (weight > 0))


def _ranked(kind: str, found: Importance, places: list[int]) -> ImportanceFacts:
    """Return the most important features of a ranking; `places` are the feature indices."""
    first = found.order[:FEATURES]
    limits = (None if ends is None else ends[first] for ends in (found.low, found.high))
    low, high = limits
    return ImportanceFacts(
        kind,
        KIND_LABELS[kind],
        found.unit,
        np.array([places[i] for i in first], dtype=np.int64),
        found.value[first],
        low,
        high,
        found.outputs,
        None if found.by_output is None else found.by_output[:, first],
    )
