"""The estimators of Kaplan and Meier, and of Aalen and Johansen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

__all__ = ["AalenJohansen", "KaplanMeier", "step_values"]

Vector = npt.NDArray[np.float64]


def step_values(
    grid: Vector, values: npt.NDArray[np.float64], times: Vector, before: float = 0.0
) -> npt.NDArray[np.float64]:
    """Return the values of step functions that change at the times of a grid.

    Parameters
    ----------
    grid : float64 array
        The times, in ascending order; the value at one of them is the new one.
    values : float64 array of shape (…, len(grid))
        The values from each time of the grid on.
    times : float64 array
        Where to evaluate.
    before : float
        The value before the first time.
    """
    place = np.searchsorted(grid, times, "right")
    first = np.full((*values.shape[:-1], 1), before)
    return np.asarray(np.concatenate([first, values], axis=-1)[..., place])


@dataclass(frozen=True, eq=False)
class KaplanMeier:
    """S(t) = Π_{event times until t} (1 - d / n), with d events among n rows at risk.

    Attributes
    ----------
    times, survival : float64 array
        The event times, and S from each of them on.
    """

    times: Vector
    survival: Vector

    @classmethod
    def of(
        cls,
        entry: npt.NDArray[Any] | None,
        time: npt.NDArray[Any],
        is_event: npt.NDArray[np.bool_],
        weight: Vector | None = None,
        *,
        censoring: bool = False,
    ) -> Self:
        """Return the curve of rows.

        Parameters
        ----------
        entry : float64 array or None
            The time from which each row is observed; None: the beginning.
        time : float64 array
            The times of events, or of the ends of observations.
        is_event : bool array
            Whether rows have an event.
        weight : float64 array or None
            The weights.
        censoring : bool
            Return the curve of the time of censoring instead; at equal times, events come first.
        """
        own = np.ones(len(time)) if weight is None else weight
        times, place, at_risk = _at_risk(entry, time, own)
        left, events = _sums(place, own), _sums(place, own * is_event)
        if censoring:
            at_risk, events = at_risk - events, left - events
        used = events > 0.0
        steps = 1.0 - events[used] / at_risk[used]
        survival = np.cumprod(np.maximum(steps, 0.0)).astype(np.float64)
        return cls(times[used], survival)

    def at(self, times: Any) -> Vector:
        """Return S at times."""
        return step_values(self.times, self.survival, np.asarray(times, dtype=np.float64), 1.0)

    def before(self, times: Any) -> Vector:
        """Return S just before times."""
        place = np.searchsorted(self.times, np.asarray(times, dtype=np.float64), "left")
        return np.asarray(np.append(1.0, self.survival)[place])


@dataclass(frozen=True, eq=False)
class AalenJohansen:
    """F(t) = P(T ≤ t, an event of one cause) = Σ_{times until t} S(t-) d / n.

    S is the estimate of Kaplan and Meier for the events of all causes, and d the number of events
    of the cause among n rows at risk. Without other causes F = 1 - S.

    Attributes
    ----------
    times, incidence : float64 array
        The times of events of any cause, and F from each of them on.
    before : float64 array
        S just before each time.
    at_risk, events, all_events : float64 array
        n, d, and the number of events of all causes.
    """

    times: Vector
    incidence: Vector
    before: Vector
    at_risk: Vector
    events: Vector
    all_events: Vector

    @classmethod
    def of(
        cls,
        entry: npt.NDArray[Any] | None,
        time: npt.NDArray[Any],
        is_event: npt.NDArray[np.bool_],
        is_other: npt.NDArray[np.bool_],
        weight: Vector | None = None,
    ) -> Self:
        """Return the curve of rows.

        Parameters
        ----------
        entry, time, weight
            As of `KaplanMeier.of`.
        is_event, is_other : bool arrays
            Whether rows have an event of the cause, or of another one.
        """
        own = np.ones(len(time)) if weight is None else weight
        times, place, at_risk = _at_risk(entry, time, own)
        events, all_events = (_sums(place, own * rows) for rows in (is_event, is_event | is_other))
        used = all_events > 0.0
        times, at_risk, events = times[used], at_risk[used], events[used]
        all_events = all_events[used]
        survival = np.cumprod(np.maximum(1.0 - all_events / at_risk, 0.0))
        before = np.append(1.0, survival)[:-1]
        incidence = np.cumsum(before * events / at_risk)
        # Standard errors need the effective number of rows.
        unit = float(own.sum() / (own**2).sum())
        counts = unit * at_risk, unit * events, unit * all_events
        return cls(times, incidence, before, *counts)

    def at(self, times: Any) -> Vector:
        """Return F at times."""
        return step_values(self.times, self.incidence, np.asarray(times, dtype=np.float64))

    def standard_error(self, times: Any) -> Vector:
        """Return the standard error of F at times (Marubini & Valsecchi 1995, eq. 10.12).

        Of one cause it is that of Greenwood.
        """
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))
        n, d, every = self.at_risk, self.events, self.all_events
        left = n - every
        hazard = np.divide(every, n * left, out=np.zeros(len(n)), where=left > 0.0)
        until = self.times <= at[:, np.newaxis]
        later = np.where(until, self.at(at)[:, np.newaxis] - self.incidence, 0.0)
        each = later**2 * hazard - 2.0 * later * self.before * d / n**2
        each += self.before**2 * d * (n - d) / n**3
        return np.asarray(np.sqrt(np.maximum((each * until).sum(axis=1), 0.0)))

    def limits(self, times: Any, confidence_level: float = 0.95) -> tuple[Vector, Vector]:
        """Return confidence limits of F at times, symmetric on the scale log(-log(1 - F)).

        Where F is 0 or 1, they are this number.
        """
        found = self.at(np.atleast_1d(np.asarray(times, dtype=np.float64)))
        # One time after the other: the matrix of all may be large.
        error = np.concatenate([self.standard_error(t) for t in np.atleast_1d(times)])
        inside = (found > 0.0) & (found < 1.0)
        log_s = np.log1p(-found, out=np.full(len(found), -1.0), where=inside)
        slope = np.where(inside, -(1.0 - found) * log_s, np.inf)
        reach = np.exp(ndtri((1 + confidence_level) / 2) * error / slope)
        low, high = -np.expm1(log_s / reach), -np.expm1(log_s * reach)
        return np.where(inside, low, found), np.where(inside, high, found)


def _sums(place: npt.NDArray[np.intp], values: Vector) -> Vector:
    return np.bincount(place, values).astype(np.float64)


def _at_risk(
    entry: npt.NDArray[Any] | None, time: npt.NDArray[Any], weight: Vector
) -> tuple[Vector, npt.NDArray[np.intp], Vector]:
    """Return the different times, the place of each row in them, and the weight at risk at each."""
    times, place = np.unique(time, return_inverse=True)
    at_risk = np.cumsum(_sums(place, weight)[::-1])[::-1]
    if entry is not None and (entry > -np.inf).any():
        first = np.searchsorted(times, entry, "right")  # at risk from the next time on
        late = np.bincount(first, weight, minlength=len(times) + 1)
        at_risk = at_risk - np.cumsum(late[::-1])[::-1][1:]
    return times, place, at_risk
