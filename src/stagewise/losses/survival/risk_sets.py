"""Risk sets: the rows that are at risk at each event time, and sums over them.

The rows of a fit never change, so they are sorted once. In every round, a sum over all risk sets is
a sum by event time and one cumulative sum. The sums are exact: terms are rounded to multiples of a
small unit, and these are added as integers. So a sum depends neither on the order of the rows nor
on whether a row of weight 2 is one row or two, and what leaves a risk set leaves no rounding error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["RiskSets", "tied_sums"]

Vector = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

UNIT_BITS = 78
"""Terms are multiples of 2^-78 of a power of two above the largest one."""
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
        values, rank = np.unique(np.concatenate([time, entry]), return_inverse=True)
        base = stratum[rows].astype(np.int64) * len(values)
        exit_key, entry_key = base + rank[: len(rows)], base + rank[len(rows) :]
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

    @cached_property
    def loss_weight(self) -> Vector:
        """1 for each event time, then minus the weight of each row with an event."""
        return np.concatenate([np.ones(self.n_times), -self.weight[self.is_event]])

    @cached_property
    def _whole_weights(self) -> bool:
        return bool((self.weight == np.rint(self.weight)).all())

    @cached_property
    def _is_simple(self) -> bool:
        """Whether all rows enter at the beginning and there is one stratum."""
        return len(self._strata) <= 1 and not self.first.any()

    @cached_property
    def has_ties(self) -> bool:
        """Whether several events are at one time of a stratum."""
        return bool((self.copies != 1.0).any())

    def sums(self, terms: Vector, *, of_events: bool) -> tuple[Vector, Vector | None]:
        """Return Σ w x over the rows at risk at each event time, and over its events.

        Parameters
        ----------
        terms : float64 array
            x of each row, not negative.
        of_events : bool
            Whether the second sum is needed; otherwise it is None.
        """
        n = self.n_times
        at_risk, events = np.zeros(n), np.zeros(n) if of_events else None
        for digits, unit in self._digits(terms):
            change = np.bincount(self.last, digits, minlength=n + 1)
            if self._is_simple:
                at_risk += (digits.sum() - np.cumsum(change[:n])) * unit
            else:
                change = np.bincount(self.first, digits, minlength=n + 1) - change
                at_risk += np.cumsum(change[:n]) * unit
            if events is not None:
                events += np.bincount(self.at, digits[self.is_event], minlength=n) * unit
        return at_risk, events

    def _digits(self, terms: Vector) -> list[tuple[Vector, float]]:
        """Return w x as sums of integers times units, so that all sums of them are exact."""
        counts = self.weight if self._whole_weights else None
        terms = terms if counts is not None else terms * self.weight
        largest = float(terms.max(initial=0.0))
        if largest == 0.0:
            return []
        total = float(len(terms) if counts is None else counts.sum())
        bits = SUM_BITS - 1 - math.ceil(math.log2(total + 1.0))
        scale = math.frexp(largest)[1]
        rest, digits = np.ldexp(terms, -scale), []
        for place in range(-(-UNIT_BITS // bits)):
            rest = np.ldexp(rest, bits)
            whole = np.floor(rest)
            rest = rest - whole
            own = whole if counts is None else whole * counts
            digits.append((own, math.ldexp(1.0, scale - bits * (place + 1))))
        return digits

    @cached_property
    def _strata(self) -> list[tuple[int, int]]:
        """The first event time of each stratum, and the one after the last."""
        starts = np.flatnonzero(np.diff(self.stratum, prepend=-1)).tolist()
        return list(zip(starts, [*starts[1:], self.n_times], strict=True))

    def reached(self, steps: Vector) -> Vector:
        """Return the sums of steps from the first event time of a stratum to each one."""
        sums = np.empty(self.n_times)
        for begin, end in self._strata:
            np.cumsum(steps[begin:end], out=sums[begin:end])
        return sums

    @cached_property
    def _starts(self) -> npt.NDArray[np.intp]:
        """Of each row: the first event time of its stratum, or `first` if it has none."""
        begins = np.searchsorted(self.stratum, self.stratum, "left")
        inside = self.last > self.first
        return np.where(inside, begins[np.maximum(self.last, 1) - 1], self.first)

    def sums_until(self, steps: Vector) -> Vector:
        """Return for each row the sum of steps at the event times at which it is at risk."""
        sums = np.concatenate([[0.0], self.reached(steps)])
        if self._is_simple:
            return np.asarray(sums[self.last])
        until = np.where(self.last > self._starts, sums[self.last], 0.0)
        return until - np.where(self.first > self._starts, sums[self.first], 0.0)

    @cached_property
    def tied_events(self) -> tuple[Places, Places, Vector]:
        """The first tied event of each event time; of each event its time, and l/n."""
        n = self.copies.astype(np.intp)
        starts = np.concatenate([[0], np.cumsum(n)[:-1]]).astype(np.intp)
        at = np.repeat(np.arange(len(n)), n)
        return starts, at, (np.arange(len(at)) - starts[at]) / self.copies[at]


@dataclass(frozen=True, eq=False)
class TiedSums:
    """Sums over the tied events of each event time; see `tied_sums`.

    Attributes
    ----------
    log : float64 array
        Σ_l u log(S - l/n D), the log of the risk set, once for each event.
    hazard, squared : float64 array
        Σ_l u / (S - l/n D), and Σ_l u / (S - l/n D)².
    own_hazard, own_squared : float64 array
        The same for an event itself: with the factors (1 - l/n) and (1 - l/n)².
    """

    log: Vector
    hazard: Vector
    squared: Vector
    own_hazard: Vector
    own_squared: Vector


def tied_sums(sets: RiskSets, total: Vector, events: Vector | None) -> TiedSums:
    """Return sums over the n tied events of each event time, each of the weight u = m / n.

    The l-th of them, from 0, is compared with the rows at risk and without l/n of the tied rows
    (Efron 1977), or with all rows at risk (Breslow 1974).

    Parameters
    ----------
    sets : RiskSets
        The event times.
    total : float64 array
        S, the sum of w e^F over the rows at risk at each event time.
    events : float64 array or None
        D, the same over the tied events; None: as if it were 0, which is Breslow's method, and
        the same without ties.
    """
    deaths = sets.deaths
    if events is None:
        hazard, squared = deaths / total, deaths / total**2
        return TiedSums(deaths * np.log(total), hazard, squared, hazard, squared)
    starts, at, share = sets.tied_events
    left = total[at] - share * events[at]
    unit = deaths / sets.copies
    inverse = 1.0 / left
    kept = (1.0 - share) * inverse

    def by_time(terms: Vector) -> Vector:
        return np.asarray(np.add.reduceat(terms, starts) * unit)

    return TiedSums(
        by_time(np.log(left)),
        by_time(inverse),
        by_time(inverse**2),
        by_time(kept),
        by_time(kept**2),
    )
