"""The share of comparable pairs of rows in which the earlier event has the larger risk.

A pair is comparable if one row has an event and the other one is observed for longer; of equal
times, an event is before a censored row, and two events are no pair. Pairs are counted in O(n log²
n): for ranks of times r_i < r_j there is one binary digit that is the first in which they differ,
so the pairs are counted digit by digit, each by one pass over the rows sorted by risk.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.kaplan_meier import KaplanMeier

__all__ = ["concordance", "uno_weights"]

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
    below = tied = total = 0.0
    order = np.argsort(risks, kind="stable")
    for digit in range(n_digits):
        prefix = (group << (n_digits - digit)) + (rank >> (digit + 1))
        own_order = order[np.argsort(prefix[order], kind="stable")]
        found = _pairs_of_digit(
            prefix[own_order],
            risks[own_order],
            np.where((rank[own_order] >> digit) & 1, 0.0, event_own[own_order]),
            np.where((rank[own_order] >> digit) & 1, own[own_order], 0.0),
        )
        below, tied, total = below + found[0], tied + found[1], total + found[2]
    return (below + 0.5 * tied) / total if total > 0.0 else float("nan")


def _pairs_of_digit(
    prefix: npt.NDArray[np.int64],
    risk: npt.NDArray[np.int64],
    early: Vector,
    late: Vector,
) -> tuple[float, float, float]:
    """Return the weights of pairs of an early event and a later row of the same prefix.

    Rows are sorted by prefix and risk.

    Returns
    -------
    concordant, tied, all : float
        Pairs in which the later row has the smaller risk, pairs of equal risks, and all pairs.
    """
    changes = prefix[1:] != prefix[:-1]
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    ties = np.concatenate([[0], np.flatnonzero(changes | (risk[1:] != risk[:-1])) + 1])
    lengths = np.diff(np.append(ties, len(risk)))
    sums = np.concatenate([[0.0], np.cumsum(late)])
    before = np.repeat(sums[ties], lengths)
    through = np.repeat(sums[np.append(ties[1:], len(risk))], lengths)
    group_lengths = np.diff(np.append(starts, len(risk)))
    base = np.repeat(sums[starts], group_lengths)
    end = np.repeat(sums[np.append(starts[1:], len(risk))], group_lengths)
    return (
        float((early * (before - base)).sum()),
        float((early * (through - before)).sum()),
        float((early * (end - base)).sum()),
    )


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
