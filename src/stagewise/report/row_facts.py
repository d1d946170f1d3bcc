"""Sampled rows of the table with their predictions and Shapley values.

A page contains a random sample of the rows. Rows are identified by their index in the table; values
are stored as encoded by the model, so that the page can change them and predict again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.reading.column import Column
from stagewise.data.reading.datetimes import TemporalType, format_datetime
from stagewise.data.reading.frame import open_frame
from stagewise.data.reading.table import Table, exact_array
from stagewise.estimators.bases.model_access import fit_loss, is_average
from stagewise.inspection.encoded_rows import sample_rows
from stagewise.inspection.fitted_model import FittedModel, Vector
from stagewise.inspection.shap.values import ShapValues, shap_values
from stagewise.report.payload import compact
from stagewise.report.row_budget import row_budget

__all__ = ["RowFacts", "offset_arguments", "row_facts", "take"]

MOST_ROWS, FEWEST_ROWS = 250, 20
"""The largest and the smallest sample of rows."""
MOST_NUMBERS = 120_000
"""The maximum number of values, and of Shapley values, of a page."""
MOST_EXACT = 30_000
"""Up to this many Shapley values are stored exactly, so that they sum to the prediction."""
BACKGROUND = 100
"""The number of background rows for linear leaves."""
MOST_CELLS = 100
"""With more columns, only those that the model uses are stored."""
MOST_FEATURES = 60
"""The maximum number of features with their own Shapley values; the others are summed."""

SURVIVAL_UNITS = {
    "cox": "log hazard ratio",
    "cause_specific": "log hazard ratio",
    "fine_gray": "log ratio of subdistribution hazards",
    "discrete_time": "log odds of the hazard",
    "aft": "log time",
}
"""The units of the scores of models of times, by loss."""
REGRESSION_UNITS = {
    "cross_entropy": "log odds of the prediction",
    "squared_log_error": "logarithm of 1 + the prediction",
}
"""The units of scores that are not those of the prediction, nor its logarithm, by loss."""


@dataclass(frozen=True, eq=False)
class RowFacts:
    """The sampled rows of the page.

    Attributes
    ----------
    row : int64 array of shape (n,)
        The row indices in the table.
    features : int64 array of shape (m,)
        The stored features: all, or of a wide table those that the model uses.
    codes : float64 array of shape (n, m)
        The encoded values of these features.
    unknown : tuple of (int, int, str)
        Unknown categories: the index in the sample, the feature and the value.
    texts : tuple of (int, tuple of str)
        Features with integers beyond 2**53, which dates may be: the index and the values as text.
    y_true : tuple of str or float64 array
        The true targets: labels or other text, or numbers with a column for each target.
    y_pred : float64 array of shape (n, n_outputs)
        The predictions: numbers, or probabilities of all classes.
    error : float64 array of shape (n,)
        The errors of the predictions, such as |residual|; 0 if rows have none.
    explained : int64 array of shape (k,)
        The features with their own Shapley values.
    base : float64 array of shape (n_explained_outputs,)
        The base values.
    shap : float array of shape (n, k, n_explained_outputs)
        The Shapley values.
    other_shap : float array of shape (n, n_explained_outputs)
        The sum of the Shapley values of all other features.
    unit : str
        The unit of the Shapley values.
    baseline : str
        The rows over which the base value is averaged.
    reason : str or None
        Why there are no Shapley values; None if there are.
    offset : float64 array of shape (n, n_scores) or None
        The offset of each row in units of F; None if the model has none.
    offset_name : str
        Its name for display.
    """

    row: npt.NDArray[np.int64]
    features: npt.NDArray[np.int64]
    codes: Vector
    unknown: tuple[tuple[int, int, str], ...]
    texts: tuple[tuple[int, tuple[str, ...]], ...]
    y_true: tuple[str, ...] | Vector
    y_pred: Vector
    error: Vector
    explained: npt.NDArray[np.int64]
    base: Vector
    shap: Vector
    other_shap: Vector
    unit: str
    baseline: str
    reason: str | None
    offset: Vector | None
    offset_name: str


def take(X: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Return some rows of a table of any supported type."""
    frame = open_frame(X, "report")
    if frame is not None:
        return frame.frame[rows.tolist()].to_native()
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    return exact_array(X)[rows]


def row_facts(
    fitted: FittedModel,
    X: Any,
    y_true: Any,
    weight: Vector,
    errors: Vector,
    seed: int,
    offset: Vector,
) -> tuple[RowFacts, ShapValues | None]:
    """Sample rows, including the worst prediction, and compute their Shapley values.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    X : table
        All rows.
    y_true : sequence of str, or float64 array
        Their labels or numbers.
    weight, errors : float64 arrays
        The sample weights (rows with weight 0 are not sampled), and the errors of the predictions.
    seed : int
        The seed of the sampling.
    offset : float64 array of shape (n_rows, n_scores)
        The offset of each row in units of F.

    Returns
    -------
    RowFacts, and ShapValues or None
        The rows, and their Shapley values if these are available.
    """
    p, outputs = len(fitted.names), fitted.model.ensemble.n_outputs
    stored = range(p) if p <= MOST_CELLS else sorted(fitted.used)
    fits = MOST_NUMBERS // max(len(stored), min(p, MOST_FEATURES) * outputs, 1)
    most = row_budget(fitted).limit(MOST_ROWS, FEWEST_ROWS)
    drawn = sample_rows(weight, min(max(fits, FEWEST_ROWS), most), seed)
    rows = np.union1d(drawn, [np.argmax(np.where(weight > 0, errors, -1.0))])
    some = take(X, rows)
    columns = fitted.columns(some)
    y_pred = fitted.respond(fitted.score(columns) + offset[rows], "mean")
    offsets = _offset_facts(fitted, offset[rows])
    targets = y_true[rows] if isinstance(y_true, np.ndarray) else tuple(y_true[i] for i in rows)
    places = np.array(stored, dtype=np.int64)
    codes = (
        np.column_stack([columns[j] for j in stored]) if len(stored) else np.zeros((len(rows), 0))
    )
    table = None if _as_read(fitted) else fitted.model.features.read(some, "report")
    unknown, texts = _unknown(fitted, table, columns), _texts(fitted, table)
    shared = (rows, places, codes, unknown, texts, targets, y_pred, errors[rows])
    baseline, options = _baseline(fitted, X, weight, seed)
    try:
        # Without the offset: the page adds it.
        zero = offset_arguments(fitted, np.zeros_like(offset[rows]))
        shap = shap_values(fitted.estimator, some, **options, **zero)
    except ValueError as error:
        none = np.zeros((len(rows), 0, outputs))
        no_features, base = np.empty(0, dtype=np.int64), np.zeros(outputs)
        rest = none.sum(axis=1)
        facts = no_features, base, none, rest, "", "", str(error)
        return RowFacts(*shared, *facts, *offsets), None
    values = shap.values.reshape(len(rows), p, -1)
    size = np.abs(values).mean(axis=(0, 2))
    explained = np.argsort(-size, kind="stable")[:MOST_FEATURES]
    explained = explained[np.isin(explained, places)]
    rest = np.delete(values, explained, axis=1).sum(axis=1)
    kept, base = values[:, explained], np.atleast_1d(shap.base_values)
    if kept.size > MOST_EXACT:
        kept = compact(kept)
    unit = _unit(fitted)
    return RowFacts(*shared, explained, base, kept, rest, unit, baseline, None, *offsets), shap


def _offset_facts(fitted: FittedModel, offset: Vector) -> tuple[Vector | None, str]:
    """Return the offsets of rows and their name, if the model has one."""
    source = fitted.model.row_offset
    name = "log(exposure)" if source.exposure and not source.offset else "offset"
    has_offset = bool(source) or bool(offset.any())
    return (offset, name) if has_offset else (None, "")


def offset_arguments(fitted: FittedModel, offset: Vector) -> dict[str, Any]:
    """Return the arguments `offset` and `exposure` of rows with these offsets, in units of F."""
    source = fitted.model.row_offset
    if not source and not offset.any():
        return {}
    scores, loss = offset * fitted.model.scale, fit_loss(fitted.estimator)
    if loss.location is not None:  # the scores of one target have one offset
        scores = scores[:, [loss.location]]
    given = {"offset": scores[:, 0] if scores.shape[1] == 1 else scores}
    return given | ({"exposure": 1.0} if source.exposure else {})


def _baseline(fitted: FittedModel, X: Any, weight: Vector, seed: int) -> tuple[str, dict[str, Any]]:
    """Return a description of the baseline rows, and the arguments of `shap_values`."""
    if not fitted.has_linear_leaves:
        return "the training rows", {}
    # Linear leaves need interventional Shapley values.
    others = sample_rows(weight, BACKGROUND, seed)
    background = {"kind": "interventional", "background": take(X, others)}
    return f"{len(others):,} rows of this table", background


def _unit(fitted: FittedModel) -> str:
    """Return the unit of the scores."""
    if fitted.model.task == "survival":
        return SURVIVAL_UNITS[fitted.model.loss]
    if fitted.model.class_targets is not None:
        has_odds = not is_average(fitted.estimator) and fitted.model.loss == "log_loss"
        return (
            "probability" if is_average(fitted.estimator) else "log odds" if has_odds else "score"
        )
    if fitted.model.classes is None:
        other = REGRESSION_UNITS.get(fitted.model.loss, "logarithm of the prediction")
        return "prediction" if fitted.mean_is_affine else other
    if is_average(fitted.estimator):
        return "probability"
    odds = fitted.model.loss == "log_loss" and fitted.model.ensemble.n_outputs == 1
    return "log odds" if odds else "score"


def _as_read(fitted: FittedModel) -> bool:
    """Whether all values can be restored from the encoded values."""
    return all(feature.kind == "real" for feature in fitted.model.features)


def _unknown(
    fitted: FittedModel, table: Table | None, columns: list[Vector]
) -> tuple[tuple[int, int, str], ...]:
    """Return values of categorical features that are unknown categories."""
    found: list[tuple[int, int, str]] = []
    for j, factor in table.factors.items() if table is not None else ():
        levels = fitted.model.features[j].categories
        assert levels is not None
        unknown = np.flatnonzero((factor.codes >= 0) & ~(columns[j] < len(levels)))
        found += [(i, j, str(factor.values[factor.codes[i]])) for i in unknown.tolist()]
    return tuple(found)


def _texts(fitted: FittedModel, table: Table | None) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the values of wide integers as text: their encoded values are only ranks."""
    features = fitted.model.features
    wide = [j for j, feature in enumerate(features) if feature.cuts is not None]
    if table is None:
        return ()
    return tuple((j, tuple(_format(table.column(j), features[j].temporal_type))) for j in wide)


def _format(column: Column, temporal_type: TemporalType | None) -> list[str]:
    gone = np.isnan(column.values) if column.missing is None else column.missing
    words: Callable[[Any], str] = (
        str if temporal_type is None else partial(format_datetime, temporal_type=temporal_type)
    )
    cells = zip(column.values.tolist(), gone.tolist(), strict=True)
    return ["" if absent else words(cell) for cell, absent in cells]
