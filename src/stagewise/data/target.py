"""Targets and weights: what to predict, and how much each row counts.

The one idea: everything that could make a fit meaningless (a missing target, a negative weight) is
refused here, with the row and the remedy, so that nothing later need ask again. Labels are read in
`labels`, and targets are put on the scale of the losses in `target_scale`; both can be had from
here too. This file must not know about losses.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.labels import Labels, read_labels
from stagewise.data.reading.column import Array, Mask, read_column
from stagewise.data.reading.datetimes import temporal_type_of
from stagewise.data.reading.vector import read_vector, refuse_infinite, refuse_missing, require_y
from stagewise.data.target_scale import TargetScale
from stagewise.validation.messages import warn_caller

__all__ = [
    "Labels",
    "TargetScale",
    "as_frequencies",
    "check_weight",
    "read_labels",
    "read_numbers",
    "read_target",
    "read_weight",
]

Vector = npt.NDArray[np.float64]


def read_target(y: Any, n_rows: int, *, caller: str = "regressor") -> Vector:
    """Read the numbers to predict.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Numbers, all finite.
    n_rows : int
        How many rows X has.
    caller : str
        The estimator's name, for messages.

    Returns
    -------
    float64 array of shape (n_rows,)
        Contiguous; perhaps the caller's own memory.

    Raises
    ------
    ValueError, TypeError
        If a target is missing, infinite or not a number, or there are too few or too many.
    """
    require_y(y, caller)
    cells, missing = read_vector(y, n_rows, "y")
    return read_numbers(cells, missing, caller=caller)


def read_numbers(cells: Array, missing: Mask | None, *, caller: str) -> Vector:
    """Read the cells of one target; `missing` marks those that do not say so themselves."""
    if temporal_type_of(cells) is not None:
        raise TypeError(
            f"y has dtype {cells.dtype} and holds moments, and {caller} predicts numbers. "
            "Convert it to a number of days or seconds first."
        )
    values = _doubles(cells, missing, "y", "Use a classifier for labels, or convert y to numbers")
    if not np.isfinite(values).all():
        refuse_missing(np.isnan(values))
        refuse_infinite(values)
    return values


def read_weight(sample_weight: Any, n_rows: int) -> Vector | None:
    """Read weights as frequencies: `check_weight`, then `as_frequencies`.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,), number, or None
        How much each row counts.
    n_rows : int
        How many rows X has.

    Returns
    -------
    float64 array of shape (n_rows,), or None
        None when every row counts once.
    """
    weight = check_weight(sample_weight, n_rows)
    return None if weight is None else as_frequencies(weight)


def check_weight(sample_weight: Any, n_rows: int) -> Vector | None:
    """Read weights as they are, and refuse those that mean nothing.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,), number, or None
        How much each row counts; a number counts for all rows.
    n_rows : int
        How many rows X has.

    Returns
    -------
    float64 array of shape (n_rows,), or None
        Finite, not negative, and not all zero.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n_rows, sample_weight, dtype=np.float64)
    weight = _read_weights(sample_weight, n_rows)
    _refuse_weights(np.isnan(weight), weight, "NaN or missing", "Use 0 to leave a row out")
    _refuse_weights(np.isinf(weight), weight, "infinite", "Use large but finite weights")
    _refuse_weights(weight < 0, weight, "negative", "Use 0 to leave a row out")
    if not weight.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number: all of "
            f"sample_weight is zero ({n_rows} rows), so no row would count."
        )
    return weight


def as_frequencies(weight: Vector, *, total: float | None = None) -> Vector | None:
    """Settle what weights mean.

    Whole numbers are counts: weight k is k copies of the row, weight 0 its absence. Of any other
    weights only the ratios matter, and they are scaled to a sum: their mean over the rows that
    count is 1, unless a total says otherwise.

    Parameters
    ----------
    weight : float64 array
        Finite, not negative, not all zero.
    total : float or None
        What weights that are no counts shall sum to; None: the number of rows that count.

    Returns
    -------
    float64 array, or None
        None when every row counts once.
    """
    if (weight == 1.0).all():
        return None
    largest = float(weight.max())
    # Beyond 2**53 in all, a sum of counts would no longer be exact: nobody counted such rows.
    if largest * len(weight) <= 2.0**53 and (weight == np.rint(weight)).all():
        return weight
    # Powers of two leave every digit in place, and keep the sum of huge weights finite.
    scaled = np.ldexp(weight, -np.frexp(largest)[1])
    # Rows of weight zero are left out before summing, not added as zeros: the order in which
    # numpy adds depends on their number, and a row that is absent must change nothing at all.
    counting = scaled[scaled > 0]
    # Equal weights must come out as exactly one, which a rounded sum cannot promise.
    mean = counting[0] if (counting == counting[0]).all() else counting.mean()
    frequency = scaled / mean if total is None else scaled / (mean * len(counting) / total)
    return None if (frequency == 1.0).all() else np.asarray(frequency, dtype=np.float64)


def _read_weights(sample_weight: Any, n_rows: int) -> Vector:
    cells, missing = read_vector(sample_weight, n_rows, "sample_weight", ravel=False)
    if temporal_type_of(cells) is not None:
        raise TypeError(
            f"sample_weight has dtype {cells.dtype} and holds moments. Weights must be numbers."
        )
    return _doubles(cells, missing, "sample_weight", "Convert the weights to numbers")


def _refuse_weights(wrong: Mask, weight: Vector, what: str, remedy: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"sample_weight is {what} at row {row} ({weight[row]}), as are {int(wrong.sum())} of "
            f"{len(weight)} weights in all. {remedy}."
        )


def _doubles(cells: Array, missing: Mask | None, name: str, remedy: str) -> Vector:
    column = read_column(cells, missing, name, remedy)
    values = np.ascontiguousarray(column.values, dtype=np.float64)
    if column.values.dtype.kind in "iu":
        rounded = sum(int(a) != int(b) for a, b in zip(column.values, values, strict=True))
        if rounded:
            warn_caller(
                f"{name} holds {rounded} integers that no float64 can hold; they were rounded. "
                "Subtract a constant first if their last digits matter."
            )
    if column.missing is not None:
        values[column.missing] = np.nan
    return values
