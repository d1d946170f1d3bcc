"""The share of comparable pairs of rows in which the earlier event has the larger risk.

A pair is comparable if one row has an event and the other one is observed for longer; of equal
times, an event is before a censored row, and two events are no pair. Pairs are counted in O(n log²
n): for ranks of times r_i < r_j there is one binary digit that is the first in which they differ,
so the pairs are counted digit by digit, each by one pass over the rows sorted by risk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stagewise.kaplan_meier import KaplanMeier

__all__ = ["concordance", "concordance_influence", "uno_weights"]

Vector = npt.NDArray[np.float64]


def concordance(
    time: npt.NDArray[Any],
    is_event: npt.NDArray[np.bool_],
    risk: Vector,
    weight: Vector | None = None,
    stratum: npt.NDArray[Any] | None = None,
    event_weight: Vector | None = None,
) -> float:
    """Return Harrell's C, or Uno's with its weights; NaN: there is no comparable pair.

    Parameters
    ----------
    time : float64 array of shape (n_rows,)
        The times of events, or of the ends of observations.
    is_event : bool array
        Whether rows have an event.
    risk : float64 array
        Predictions that are larger where an event is earlier. Pairs of equal risks count as half.
    weight : float64 array or None
        The weights of rows; that of a pair is their product.
    stratum : array or None
        Only rows of one stratum are compared.
    event_weight : float64 array or None
        A further weight of each row with an event, as of `uno_weights`.
    """
    below = tied = total = 0.0
    for digit in _digits(time, is_event, risk, weight, stratum, event_weight):
        others = digit.sums(digit.late)
        found = [float((digit.early * each).sum()) for each in others]
        below, tied, total = below + found[0], tied + found[1], total + found[2]
    return (below + 0.5 * tied) / total if total > 0.0 else float("nan")


def concordance_influence(
    time: npt.NDArray[Any],
    is_event: npt.NDArray[np.bool_],
    risk: Vector,
    weight: Vector | None = None,
    stratum: npt.NDArray[Any] | None = None,
    event_weight: Vector | None = None,
) -> Vector:
    """Return w_i · ∂C/∂w_i of each row; the arguments are as of `concordance`.

    It is (a_i - C b_i) / B, with the weight a_i of the pairs of row i in the right order (ties
    count half), the weight b_i of all its pairs, and the weight B of all pairs.
    """
    right, whole = np.zeros(len(time)), np.zeros(len(time))
    for digit in _digits(time, is_event, risk, weight, stratum, event_weight):
        below, tied, total = digit.sums(digit.late)
        right[digit.rows] += digit.early * (below + 0.5 * tied)
        whole[digit.rows] += digit.early * total
        below, tied, total = digit.sums(digit.early)
        right[digit.rows] += digit.late * (total - below - 0.5 * tied)
        whole[digit.rows] += digit.late * total
    every = whole.sum()  # each pair is counted at both of its rows
    if not every > 0.0:
        return np.full(len(time), np.nan)
    return np.asarray(2.0 * (right - whole * (right.sum() / every)) / every)


def _digits(
    time: npt.NDArray[Any],
    is_event: npt.NDArray[np.bool_],
    risk: Vector,
    weight: Vector | None,
    stratum: npt.NDArray[Any] | None,
    event_weight: Vector | None,
) -> Iterator[_Digit]:
    """Yield the pairs of each binary digit of the ranks of times."""
    own = np.ones(len(time)) if weight is None else weight
    event_own = own * is_event
    if event_weight is not None:
        event_own = event_own * event_weight
    # Ranks of times; of equal times, events come first. Strata are numbers above the ranks.
    _, rank = np.unique(time, return_inverse=True)
    rank = 2 * rank + ~is_event
    _, rank = np.unique(rank, return_inverse=True)
    _, risks = np.unique(risk, return_inverse=True)
    group = np.zeros(len(time), dtype=np.int64)
    if stratum is not None:
        _, group = np.unique(stratum, return_inverse=True)
    n_digits = int(rank.max(initial=0)).bit_length()
    order = np.argsort(risks, kind="stable")
    for digit in range(n_digits):
        prefix = (group << (n_digits - digit)) + (rank >> (digit + 1))
        rows = order[np.argsort(prefix[order], kind="stable")]
        is_late = ((rank[rows] >> digit) & 1).astype(bool)
        early, late = np.where(is_late, 0.0, event_own[rows]), np.where(is_late, own[rows], 0.0)
        yield _Digit.of(rows, prefix[rows], risks[rows], early, late)


@dataclass(frozen=True, eq=False)
class _Digit:
    """The pairs of an early event and a later row whose ranks first differ in one binary digit.

    Attributes
    ----------
    rows : intp array
        The rows, sorted by the digits before (their prefix), and by risk.
    early, late : float64 arrays
        The weights of these rows in pairs: as the early event, and as the later row.
    groups, ties : intp arrays
        The first row of each prefix, and of each risk in a prefix.
    """

    rows: npt.NDArray[np.intp]
    early: Vector
    late: Vector
    groups: npt.NDArray[np.intp]
    ties: npt.NDArray[np.intp]

    @classmethod
    def of(
        cls,
        rows: npt.NDArray[np.intp],
        prefix: npt.NDArray[np.int64],
        risk: npt.NDArray[np.int64],
        early: Vector,
        late: Vector,
    ) -> Self:
        changes = prefix[1:] != prefix[:-1]
        groups = np.concatenate([[0], np.flatnonzero(changes) + 1])
        ties = np.concatenate([[0], np.flatnonzero(changes | (risk[1:] != risk[:-1])) + 1])
        return cls(rows, early, late, groups, ties)

    def sums(self, values: Vector) -> tuple[Vector, Vector, Vector]:
        """Return for each row the sum of values of smaller risk, of equal risk, and of all.

        The sums are over the rows of its prefix.
        """
        n = len(self.rows)
        cumulated = np.concatenate([[0.0], np.cumsum(values)])

        def ends(starts: npt.NDArray[np.intp]) -> tuple[Vector, Vector]:
            last = np.append(starts[1:], n)
            return np.repeat(cumulated[starts], last - starts), np.repeat(
                cumulated[last], last - starts
            )

        (base, end), (before, through) = ends(self.groups), ends(self.ties)
        return before - base, through - before, end - base


def uno_weights(
    censoring: KaplanMeier,
    time: npt.NDArray[Any],
    is_event: npt.NDArray[np.bool_],
    limit: float | None = None,
) -> Vector:
    """Return the weights 1 / G(t)² of rows with an event before a limit; of other rows 0.

    Parameters
    ----------
    censoring : KaplanMeier
        G, the curve of the time of censoring.
    time, is_event : arrays of shape (n_rows,)
        The times, and whether they are those of events.
    limit : float or None
        τ: only events before it count; None: all.
    """
    used = is_event if limit is None else is_event & (time < limit)
    weights = np.zeros(len(time))
    probability = censoring.at(time[used])
    if (probability <= 0.0).any():
        raise ValueError(
            "The probability of being uncensored is 0 at an event: all observations end before "
            f"the time {float(time[used][probability <= 0.0].min()):g}. Set a limit (tau) before "
            "it."
        )
    weights[used] = probability**-2.0
    return weights
