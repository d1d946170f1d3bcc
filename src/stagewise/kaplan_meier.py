"""The estimator of Kaplan and Meier, of events and of censoring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

__all__ = ["KaplanMeier", "step_values"]

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
        times, place = np.unique(time, return_inverse=True)
        left = np.bincount(place, own, minlength=len(times))
        events = np.bincount(place, own * is_event, minlength=len(times))
        at_risk = np.cumsum(left[::-1])[::-1]
        if entry is not None and (entry > -np.inf).any():
            first = np.searchsorted(times, entry, "right")  # at risk from the next time on
            late = np.bincount(first, own, minlength=len(times) + 1)
            at_risk = at_risk - np.cumsum(late[::-1])[::-1][1:]
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
