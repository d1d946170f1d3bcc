"""Reads and checks numeric targets and sample weights.

Targets and weights that make no sense (a missing target, a negative weight) raise an error here,
with the row and the remedy, so later code need not check them. Class labels are read in `labels`,
and targets are scaled in `target_scale`; both are re-exported here. This module must not import
losses.
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
    """Read the target of a regression.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Numbers, all finite.
    n_rows : int
        The number of rows of X.
    caller : str
        The estimator's name, for messages.

    Returns
    -------
    float64 array of shape (n_rows,)
        Contiguous; it may share the caller's memory.

    Raises
    ------
    ValueError, TypeError
        If a target is missing, infinite or not a number, or their number is not `n_rows`.
    """
    require_y(y, caller)
    cells, missing = read_vector(y, n_rows, "y")
    return read_numbers(cells, missing, caller=caller)


def read_numbers(cells: Array, missing: Mask | None, *, caller: str) -> Vector:
    """Read the cells of one target; `missing` is as `read_vector` returns it."""
    if temporal_type_of(cells) is not None:
        raise TypeError(
            f"y has dtype {cells.dtype} and holds dates, durations or times of day, but {caller} "
            "predicts numbers. Convert y to a number of days or seconds first."
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
        The weight of each row.
    n_rows : int
        The number of rows of X.

    Returns
    -------
    float64 array of shape (n_rows,), or None
        None if all weights are 1.
    """
    weight = check_weight(sample_weight, n_rows)
    return None if weight is None else as_frequencies(weight)


def check_weight(sample_weight: Any, n_rows: int) -> Vector | None:
    """Read weights unchanged; raise ValueError if they are invalid.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,), number, or None
        The weight of each row, or one weight for all rows.
    n_rows : int
        The number of rows of X.

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
            "Sample weights must contain at least one non-zero number, but all "
            f"{n_rows} weights are 0. Give some rows a positive weight."
        )
    return weight


def as_frequencies(weight: Vector, *, total: float | None = None) -> Vector | None:
    """Return weights as frequencies.

    Whole numbers are counts: weight k equals k copies of the row, weight 0 its absence. For all
    other weights only the ratios matter, and they are scaled: their mean over the rows of positive
    weight is 1, or their sum is `total`.

    Parameters
    ----------
    weight : float64 array
        Finite, not negative, not all zero.
    total : float or None
        The sum of weights that are not counts; None: the number of rows of positive weight.

    Returns
    -------
    float64 array, or None
        None if all weights are 1.
    """
    if (weight == 1.0).all():
        return None
    largest = float(weight.max())
    # With a sum beyond 2**53, sums of counts would no longer be exact.
    if largest * len(weight) <= 2.0**53 and (weight == np.rint(weight)).all():
        return weight
    # A power of two changes no digit, and keeps the sum of huge weights finite.
    scaled = np.ldexp(weight, -np.frexp(largest)[1])
    # Rows of weight 0 are removed before summing: the order in which numpy adds depends on the
    # number of items, and a row of weight 0 must not change the result.
    counting = scaled[scaled > 0]
    # Equal weights must become exactly 1, which a rounded sum does not guarantee.
    mean = counting[0] if (counting == counting[0]).all() else counting.mean()
    frequency = scaled / mean if total is None else scaled / (mean * len(counting) / total)
    return None if (frequency == 1.0).all() else np.asarray(frequency, dtype=np.float64)


def _read_weights(sample_weight: Any, n_rows: int) -> Vector:
    cells, missing = read_vector(sample_weight, n_rows, "sample_weight", ravel=False)
    if temporal_type_of(cells) is not None:
        raise TypeError(
            f"sample_weight has dtype {cells.dtype} and holds dates, durations or times of day. "
            "Weights must be numbers."
        )
    return _doubles(cells, missing, "sample_weight", "Convert the weights to numbers")


def _refuse_weights(wrong: Mask, weight: Vector, what: str, remedy: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"sample_weight is {what} at row {row} ({weight[row]}); {int(wrong.sum())} of "
            f"{len(weight)} weights are. {remedy}."
        )


def _doubles(cells: Array, missing: Mask | None, name: str, remedy: str) -> Vector:
    column = read_column(cells, missing, name, remedy)
    values = np.ascontiguousarray(column.values, dtype=np.float64)
    if column.values.dtype.kind in "iu":
        rounded = sum(int(a) != int(b) for a, b in zip(column.values, values, strict=True))
        if rounded:
            warn_caller(
                f"{name} holds {rounded} integers that a float64 cannot hold; they were rounded. "
                "Subtract a constant first if their last digits matter."
            )
    if column.missing is not None:
        values[column.missing] = np.nan
    return values
