"""Warnings about fits that end without an error but are probably not what was meant.

A model without a split predicts the same for all rows; the warning has the reason, as far as it can
be found, and the parameter to change. Warnings about constant data are in `fit_report`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns
from stagewise.data import Features
from stagewise.data.categories.identifiers import looks_like_identifier
from stagewise.data.reading.text_dates import (
    are_day_numbers,
    are_iso_dates,
    look_like_dates,
    may_be_day_numbers,
)
from stagewise.errors import ColumnWarning
from stagewise.model.model import Model
from stagewise.training.fit_report import counts_by_name
from stagewise.training.reading.row_set import RowSet
from stagewise.training.reading.training_data import TrainingData
from stagewise.training.results import FitResult, TreeResult
from stagewise.validation.messages import column_label, short_repr, warn_caller

__all__ = ["warn_if_no_split", "warn_of_columns", "warn_of_far_targets", "warn_of_one_class"]

LIMITS: Mapping[str, Any] = {
    "min_samples_split": 2,
    "min_weight_fraction_leaf": 0.0,
    "min_hessian": 1e-3,
    "min_gain": 0.0,
    "min_impurity_decrease": 0.0,
    "l1_regularization": 0.0,
    "l1": 0.0,
    "feature_penalty": None,
}
"""Parameters that can exclude every split, and values that exclude none."""
WEIGHT_RATIO, TARGET_RATIO = 1e8, 1e12
"""Ratios of weights and of targets up to which sums of them have a precision that suffices."""
FIRST_ROWS = 100
"""The rows by which most columns are found not to have days as numbers."""
MOST_TARGETS = 10_000
"""The rows by which the spread of most targets is found."""
SHOWN = 5
"""The columns that a warning lists."""


def warn_if_no_split(
    result: FitResult, data: TrainingData, params: Mapping[str, Any], *, starts: bool
) -> None:
    """Warn if no tree of a model has a split, unless the data are constant.

    Parameters
    ----------
    result : FitResult
        The fit.
    data : TrainingData
        The rows.
    params : mapping
        The parameters of the fit, without "auto".
    starts : bool
        Whether F starts from an estimator, which still distinguishes rows.
    """
    model = result.model
    if (
        not isinstance(model, Model)
        or model.ensemble.trees.depend_on_features()
        or _is_constant(result, data)
    ):
        return
    same = "the trees add nothing to init" if starts else "the model predicts the same for all rows"
    warn_caller(f"No tree has a split, so {same}. {_reason(result, data, params)}")


def warn_of_one_class(
    label: Any, share: float, result: FitResult, data: TrainingData, params: Mapping[str, Any]
) -> None:
    """Warn that a classifier predicts one class for all training rows.

    Parameters
    ----------
    label : label
        The class.
    share : float
        Its share of the training rows.
    result : FitResult
        The fit.
    data : TrainingData
        The rows.
    params : mapping
        The parameters of the fit, without "auto".
    """
    rounds = result.model.ensemble.n_rounds
    same = (
        f"After {rounds:,} round{'s' if rounds > 1 else ''} the model predicts the class "
        f"{short_repr(label)} for all training rows; {share:.0%} of them have it."
    )
    check = "check that the rows of X belong to those of y"
    rate = f"learning_rate={params['learning_rate']:.3g}"
    if data.valid is None and not result.held_out_rows_chose:
        warn_caller(f"{same} Set a larger n_estimators than {rounds:,}, or raise {rate}.")
    elif rounds < result.rounds_run or result.held_out_rows_chose:
        metric = params.get("eval_metric")
        by = "the loss" if metric is None else f"eval_metric={short_repr(metric)}"
        warn_caller(
            f"{same} Held-out rows chose this number of rounds by {by}: set a larger "
            f"n_iter_no_change than {params['n_iter_no_change']:g}, hold out more rows "
            f"(early_stopping='cv'), or {check}."
        )
    else:
        warn_caller(f"{same} Set a larger n_estimators, raise {rate}, or {check}.")


def warn_of_far_targets(model: Any, rows: Any) -> None:
    """Warn if a few targets are so far away that the others are one number beside them.

    Parameters
    ----------
    model : Model or TermModel
        The model of one target; its scale is that of the targets.
    rows : RowSet or DatasetRows
        The training rows; those of a dataset are left out.
    """
    y = rows.y if isinstance(rows, RowSet) else np.empty(0)  # in memory
    if not len(y) or y.ndim > 1 or y.dtype.kind != "f" or np.ndim(model.scale):
        return
    some, near = y[:: max(1, len(y) // MOST_TARGETS)], float(model.scale) / TARGET_RATIO
    inner = [(len(some) + 2) // 4, 3 * (len(some) - 1) // 4]  # targets between the quartiles
    inner_low, inner_high = np.partition(some, inner)[inner]
    if inner_high - inner_low >= near:  # most targets: percentiles take ten times as long
        return
    low, high = np.percentile(some, [25, 75])
    if not 0.0 < high - low < near:
        return
    row = int(np.argmax(np.abs(y - 0.5 * (low + high))))
    if abs(y[row] - low) / TARGET_RATIO > high - low:
        warn_caller(
            f"y has the value {y[row]:g}, while half of its values lie between {low:g} and "
            f"{high:g}: in units of its standard deviation they are all the same number, and so "
            "are predictions. Leave out the targets that are far away, or transform y."
        )


def _is_constant(result: FitResult, data: TrainingData) -> bool:
    """Return whether y or every feature has one value; `warn_if_constant` has warned of it."""
    if data.one_class or data.train.has_constant_target():
        return True
    others = result.missing_features or []
    if len(result.constant_features) + len(others) < data.features.n:
        return False
    missing = counts_by_name(data.features, data.missing)
    return not any(0 < missing.get(name, 0) < data.n_rows for name in others)


def _reason(result: FitResult, data: TrainingData, params: Mapping[str, Any]) -> str:
    """Return the probable reason, and the parameter to change."""
    pruned = result.pruned if isinstance(result, TreeResult) else None
    if pruned is not None and pruned.leaves_grown > 1:
        if params.get("ccp_alpha", 0.0) in ("cv", 0.0):
            return (
                f"Held-out rows have pruned all {pruned.leaves_grown} leaves of the tree: no split "
                "improves their predictions. Set pruning=None to keep splits."
            )
        return (
            f"ccp_alpha={params['ccp_alpha']:g} has pruned all {pruned.leaves_grown} leaves of the "
            "tree: set a smaller value."
        )
    values = params if "min_samples_leaf" in params else _fields(params.get("learner"))
    least, rows = float(values.get("min_samples_leaf", 1)), data.train.total_weight()
    if rows < 2 * least:
        return (
            f"min_samples_leaf={least:g} needs {2 * least:g} rows for a split, and there are "
            f"{rows:g}: set min_samples_leaf to a smaller number, such as {max(1, rows // 10):g}."
        )
    if lost := _lost_precision(data, params):
        return lost
    causes = [
        f"{name}={short_repr(values[name])}"
        for name, neutral in LIMITS.items()
        if name in values and _limits(values[name], neutral)
    ]
    if causes:
        return f"No split is possible with {' and '.join(causes)}: set a smaller value."
    check = "check that the rows of X belong to those of y"
    if least > 1:
        return (
            f"No split with min_samples_leaf={least:g} rows on both sides lowers the loss: set a "
            f"smaller value, or {check}."
        )
    return f"No split lowers the loss: {check}."


def _lost_precision(data: TrainingData, params: Mapping[str, Any]) -> str:
    """Return why small weights or targets do not count beside the largest; empty: they do."""
    rows: Any = data.train
    if not isinstance(rows, RowSet):  # those of a dataset, which are not read again
        return ""
    if rows.weight is not None and (ratio := _ratio(rows.weight)) > WEIGHT_RATIO:
        return (
            f"The largest weight is {ratio:.2g} times the smallest, so that rows of small weight "
            f"do not count: keep this ratio below {WEIGHT_RATIO:.0e}."
        )
    if params.get("criterion") == "poisson" and (ratio := _ratio(rows.y)) > TARGET_RATIO:
        return (
            f"The largest target is {ratio:.2g} times the smallest above 0, beyond the precision "
            "of a float64, so that small ones count as 0: check the largest ones, or transform y."
        )
    return ""


def _ratio(values: npt.NDArray[np.float64]) -> float:
    """Return the ratio of the largest to the smallest positive number; 0 if there is none."""
    positive = values[values > 0]
    return float(positive.max() / positive.min()) if len(positive) else 0.0


def _fields(learner: Any) -> Mapping[str, Any]:
    """Return the rules of a tree that is a learner."""
    return getattr(learner, "__dict__", {})


def _limits(value: Any, neutral: Any) -> bool:
    if neutral is None:
        return value is not None and len(value) > 0
    return value is not None and bool(value > neutral)


def warn_of_columns(features: Any, rows: Any) -> None:
    """Warn about columns that are probably identifiers, or dates as text or as numbers.

    Identifiers and dates as text are categorical columns.

    Parameters
    ----------
    features : Features
        The features of a fit; other descriptions of columns have no categories.
    rows : RowSet or DatasetRows
        The training rows; numbers are read from rows in memory only.
    """
    if not isinstance(features, Features):
        return
    n_rows = rows.n_rows
    _warn_of_day_numbers(features, rows.columns if isinstance(rows, RowSet) else None)
    found = [
        (column_label(features.names, place), feature.categories.values)
        for place, feature in enumerate(features)
        if feature.categories is not None and feature.categories.kind == "text"
    ]
    dates = [(label, values) for label, values in found if look_like_dates(values)]
    for label, values in dates:
        iso = " or stagewise.parse_dates(X)" if are_iso_dates(values) else ""
        warn_caller(
            f"{label} is text with dates, such as {short_repr(values[0])}. Its {len(values):,} "
            "categories have no order. Convert it to datetimes first, for instance with "
            f"pandas.to_datetime{iso}.",
            ColumnWarning,
        )
    known = {label for label, _ in dates}
    ids = [
        f"{label} ({len(values):,} categories)"
        for label, values in found
        if label not in known and looks_like_identifier(len(values), n_rows)
    ]
    if ids:
        warn_caller(
            f"{_listing(ids)} {'have' if len(ids) > 1 else 'has'} a category of "
            f"{'their' if len(ids) > 1 else 'its'} own in most of the {n_rows:,} rows, like an "
            "identifier: new rows will have unknown categories. Leave such columns out of X.",
            ColumnWarning,
        )


def _warn_of_day_numbers(features: Features, columns: Any) -> None:
    """Warn about columns of numbers such as 20240301."""
    if not isinstance(columns, Columns):
        return
    first = columns.take(np.arange(min(FIRST_ROWS, columns.n_rows), dtype=np.uint32))
    for place, feature in enumerate(features):
        if feature.kind != "real" or feature.temporal_type is not None:
            continue
        if not may_be_day_numbers(first.column(place)):  # without a copy of all rows
            continue
        values = columns.column(place)
        if are_day_numbers(values):
            label = column_label(features.names, place)
            name = place if features.names is None else features.names[place]
            warn_caller(
                f"{label} has days as numbers, such as {np.nanmin(values):.0f}, whose differences "
                "are not those of the days. Convert it to datetimes first, for instance with "
                f"X[{name!r}] = pandas.to_datetime(X[{name!r}], format='%Y%m%d').",
                ColumnWarning,
            )


def _listing(words: Iterable[str]) -> str:
    words = list(words)
    more = [f"{len(words) - SHOWN} others"] if len(words) > SHOWN else []
    shown = [*words[:SHOWN], *more]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
