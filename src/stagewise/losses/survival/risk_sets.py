"""Risk sets: the rows that are at risk at each event time.

The rows of a fit never change, so they are sorted once; the native `CoxLoss` computes sums over the
risk sets in every round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import CoxLoss

__all__ = ["RiskSets"]

Vector = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

SUM_BITS = 53
"""Sums of integers below 2^53 are exact in float64."""
MANY_COPIES = 1 << 22
"""With more tied events in total, the frequencies of rows are not expanded."""


@dataclass(frozen=True, eq=False)
class RiskSets:
    """The event times of some rows, and which rows are at risk at each.

    A row is at risk at the event times t of its stratum with entry < t ≤ time. Those are at the
    positions from `first` to before `last`.

    Attributes
    ----------
    rows : intp array
        The rows of positive weight; all other arrays of rows are in this order.
    weight : float64 array
        Their weights.
    first, last : intp array
        Of each row: the positions of the event times at which it is at risk.
    is_event : bool array
        Of each row: whether it has an event; its position is then last - 1.
    time, stratum : array
        Of each event time: the time, and the stratum; sorted by stratum and time.
    deaths : float64 array
        Of each event time: m, the sum of the weights of its events.
    copies : float64 array
        Of each event time: the number of tied events; a row of weight 2 is two of them. If weights
        are not whole numbers, the number of rows.
    """

    rows: Places
    weight: Vector
    first: Places
    last: Places
    is_event: npt.NDArray[np.bool_]
    time: Vector
    stratum: npt.NDArray[np.int64]
    deaths: Vector
    copies: Vector

    @classmethod
    def of(
        cls,
        entry: Vector,
        time: Vector,
        is_event: npt.NDArray[np.bool_],
        stratum: npt.NDArray[Any],
        weight: Vector | None,
    ) -> RiskSets:
        """Return the risk sets of rows; rows of weight 0 are absent."""
        rows = np.arange(len(time)) if weight is None else np.flatnonzero(weight > 0.0)
        own = np.ones(len(rows)) if weight is None else weight[rows]
        entry, time, is_event = entry[rows], time[rows], is_event[rows]
        entered = np.flatnonzero(entry > -np.inf)
        known = np.concatenate([[-np.inf], time, entry[entered]])
        values, rank = np.unique(known, return_inverse=True)
        base = stratum[rows].astype(np.int64) * len(values)
        exit_key, entry_key = base + rank[1 : len(rows) + 1], base.copy()
        entry_key[entered] += rank[len(rows) + 1 :]
        keys = np.unique(exit_key[is_event])
        last = np.searchsorted(keys, exit_key, "right")
        first = np.searchsorted(keys, entry_key, "right")
        # Without event times in its stratum, a row is in no risk set.
        first = np.maximum(first, np.searchsorted(keys, base, "left"))
        last = np.maximum(last, first)
        at = last[is_event] - 1
        events = own[is_event]
        deaths = np.bincount(at, events, minlength=len(keys))
        whole = bool((own == np.rint(own)).all()) and deaths.sum() <= MANY_COPIES
        copies = deaths if whole else np.bincount(at, minlength=len(keys))
        kinds, times = np.divmod(keys, len(values))
        return cls(
            rows,
            own,
            first,
            last,
            is_event,
            values[times],
            kinds,
            deaths.astype(np.float64),
            copies.astype(np.float64),
        )

    @property
    def n_times(self) -> int:
        """The number of event times, over all strata."""
        return len(self.time)

    @cached_property
    def at(self) -> Places:
        """The positions of the event times of the rows with an event."""
        return self.last[self.is_event] - 1

    def loss(self, ties: str) -> CoxLoss:
        """Return the native loss of the rows.

        Parameters
        ----------
        ties : {"efron", "breslow"}
            See `Cox`.
        """
        with_ties = ties == "efron" and bool((self.copies != 1.0).any())
        return CoxLoss(
            self.rows.astype(np.uint32),
            self.weight,
            self.first.astype(np.uint32),
            self.last.astype(np.uint32),
            self.is_event.astype(np.uint8),
            np.searchsorted(self.stratum, self.stratum, "left").astype(np.uint32),
            self.deaths,
            self.copies.astype(np.uint32) if with_ties else None,
            self._digit_bits,
        )

    @property
    def _digit_bits(self) -> int:
        """The bits of a digit of which all sums over rows are exact in float64."""
        whole = bool((self.weight == np.rint(self.weight)).all())
        total = float(self.weight.sum()) if whole else float(len(self.weight))
        return SUM_BITS - 1 - math.ceil(math.log2(total + 1.0))
