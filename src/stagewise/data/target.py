"""Reads and checks numeric targets and sample weights.

Targets and weights that make no sense (a missing target, a negative weight) raise an error here,
with the row and the remedy, so later code need not check them. Class labels are read in `labels`,
and targets are scaled in `target_scale`; both are re-exported here. This module must not import
losses.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.cluster.peers import ALONE, Peers
from stagewise.data.labels import Labels, read_labels
from stagewise.data.reading.column import Array, Mask, read_column
from stagewise.data.reading.datetimes import temporal_type_of
from stagewise.data.reading.vector import read_vector, refuse_infinite, refuse_missing, require_y
from stagewise.data.target_scale import TargetScale
from stagewise.exact_sums import mean_of_blocks
from stagewise.validation.messages import warn_caller

__all__ = [
    "FrequencyScale",
    "Labels",
    "TargetScale",
    "as_frequencies",
    "check_weight",
    "read_doubles",
    "read_labels",
    "read_numbers",
    "read_target",
    "read_weight",
    "read_weights",
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
    remedy = "Use a classifier for labels, or convert y to numbers"
    values = read_doubles(cells, missing, "y", remedy)
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
    if isinstance(sample_weight, str):
        raise ValueError(
            f"sample_weight is the text {sample_weight!r}, and must have one number for each of "
            f"{n_rows} rows. Pass the column itself, and leave it out of X, where it would be a "
            f"feature: fit(X.drop(columns={sample_weight!r}), y, "
            f"sample_weight=X[{sample_weight!r}])."
        )
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n_rows, sample_weight, dtype=np.float64)
    weight = read_weights(sample_weight, n_rows)
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
    frequency = FrequencyScale.learn(lambda: [weight], total).apply(weight)
    return None if (frequency == 1.0).all() else frequency


@dataclass(frozen=True)
class FrequencyScale:
    """How weights become frequencies: w · 2^-exponent / mean.

    Parameters
    ----------
    exponent : int
        A power of two changes no digit, and keeps the sum of huge weights finite.
    mean : float
        The mean of the positive weights, times 2^-exponent; 1 if the weights are counts.
    whole : bool
        Whether the weights are counts, which do not change.
    """

    exponent: int = 0
    mean: float = 1.0
    whole: bool = True

    @classmethod
    def learn(
        cls,
        blocks: Callable[[], Iterable[Vector]],
        total: float | None = None,
        peers: Peers = ALONE,
    ) -> FrequencyScale:
        """Return the scale of weights that are read in blocks, twice; `total`: `as_frequencies`.

        `peers` are the ranks that have further rows.
        """
        n, largest, whole = 0, 0.0, True
        for weight in blocks():
            n += int(np.count_nonzero(weight))
            largest = max(largest, float(weight.max(initial=0.0)))
            whole = whole and bool((weight == np.rint(weight)).all())
        found = peers.gather((n, largest, whole))
        n, largest = sum(each[0] for each in found), max(each[1] for each in found)
        whole = all(each[2] for each in found)
        # With a sum beyond 2**53, sums of counts would no longer be exact.
        if whole and largest * n <= 2.0**53:
            return cls()
        exponent, positive = int(np.frexp(largest)[1]), 0

        def scaled() -> Iterator[tuple[Vector, None]]:
            nonlocal positive
            for weight in blocks():
                own = np.ldexp(weight[weight > 0], -exponent)
                positive += len(own)
                yield own, None

        mean = mean_of_blocks(scaled(), peers)
        positive = sum(peers.gather(positive))
        return cls(exponent, mean if total is None else mean * positive / total, whole=False)

    def apply(self, weight: Vector) -> Vector:
        """Return the frequencies of rows."""
        if self.whole:
            return weight
        return np.asarray(np.ldexp(weight, -self.exponent) / self.mean, dtype=np.float64)


def read_weights(sample_weight: Any, n_rows: int) -> Vector:
    """Read the weights of some rows, which may all be 0; raise ValueError if one is invalid."""
    weight = _read_weights(sample_weight, n_rows)
    _refuse_weights(np.isnan(weight), weight, "NaN or missing", "Use 0 to leave a row out")
    _refuse_weights(np.isinf(weight), weight, "infinite", "Use large but finite weights")
    _refuse_weights(weight < 0, weight, "negative", "Use 0 to leave a row out")
    return weight


def _read_weights(sample_weight: Any, n_rows: int) -> Vector:
    cells, missing = read_vector(sample_weight, n_rows, "sample_weight", ravel=False)
    if temporal_type_of(cells) is not None:
        raise TypeError(
            f"sample_weight has dtype {cells.dtype} and holds dates, durations or times of day. "
            "Weights must be numbers."
        )
    return read_doubles(cells, missing, "sample_weight", "Convert the weights to numbers")


def _refuse_weights(wrong: Mask, weight: Vector, what: str, remedy: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"sample_weight is {what} at row {row} ({weight[row]}); {int(wrong.sum())} of "
            f"{len(weight)} weights are. {remedy}."
        )


def read_doubles(cells: Array, missing: Mask | None, name: str, remedy: str) -> Vector:
    """Return cells as float64, NaN where they are missing; `name` and `remedy` are for messages."""
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
