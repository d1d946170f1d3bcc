"""Predicted curves of rows: survival, cumulative hazards and cumulative incidences."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stagewise.axes import DOTS, LINE, new_axes
from stagewise.errors import InvalidParameterError
from stagewise.losses.survival.base import SurvivalLoss
from stagewise.losses.survival.competing_risks import CompetingRisksLoss
from stagewise.validation.arguments import check_argument
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import FRACTION

__all__ = ["HazardCurves", "IncidenceCurves", "SurvivalCurves", "read_times"]

Vector = npt.NDArray[np.float64]

MOST_LINES = 200
"""The largest number of rows whose curves are drawn."""
FEW_LINES = 10
"""Up to this many curves have a legend."""


def read_times(times: Any, name: str = "times") -> Vector:
    """Return times as float64; raise InvalidParameterError unless they are numbers from 0 on."""
    try:
        found = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError):
        found = np.array([np.nan])
    if found.ndim != 1 or not len(found) or not (found >= 0.0).all():
        raise InvalidParameterError(
            f"{name} must be one or more numbers that are not negative; got {short_repr(times)}."
        )
    return found


@dataclass(frozen=True, eq=False, repr=False)
class _Curves:
    """The curves of rows.

    Attributes
    ----------
    times : float64 array of shape (n_times,)
        The times at which `values` has the curves.
    """

    loss: Any
    score: npt.NDArray[np.float64]
    stratum: npt.NDArray[np.int32]
    times: Vector

    what = "curve"

    @abstractmethod
    def _evaluate(self, times: Vector) -> npt.NDArray[np.float64]:
        """Return the curves at times; the last axis is that of the times."""

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """The curves at `times`, shape (n_rows, n_times)."""
        return self._evaluate(self.times)

    def at(self, times: Any) -> npt.NDArray[np.float64]:
        """Return the curves at one time, shape (n_rows,), or at several, (n_rows, n_times)."""
        found = self._evaluate(read_times(times))
        return found[..., 0] if np.ndim(times) == 0 else found

    def __len__(self) -> int:
        return len(self.score)

    def __getitem__(self, rows: Any) -> Self:
        """Return the curves of some rows."""
        own: Any = [rows] if isinstance(rows, (int, np.integer)) else rows
        return replace(self, score=self.score[own], stratum=self.stratum[own])

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        return np.asarray(self.values, dtype=dtype)

    def __repr__(self) -> str:
        last = f"{self.times[-1]:g}" if len(self.times) else "0"
        return (
            f"<{type(self).__name__} of {len(self)} rows at {len(self.times)} times until {last}>"
        )

    def _lines(self) -> list[npt.NDArray[np.float64]]:
        return list(self.values)

    def plot(self, *, labels: Sequence[Any] | None = None, axes: Any = None) -> Any:
        """Draw the curves.

        Parameters
        ----------
        labels : sequence or None
            The names of the curves in the legend; None: row numbers, if there are at most ten.
        axes : matplotlib axes or None
            Where to draw; None: a new figure.

        Returns
        -------
        matplotlib axes
        """
        lines = self._lines()
        if len(lines) > MOST_LINES:
            raise InvalidParameterError(
                f"There are {len(lines)} curves, and at most {MOST_LINES} are drawn. Select some "
                "rows, such as curves[:10]."
            )
        if labels is not None and len(labels) != len(lines):
            raise InvalidParameterError(
                f"labels must have a name for each of {len(lines)} curves; got {len(labels)}."
            )
        _, (ax,) = new_axes(1, axes, f"{type(self).__name__}.plot")
        few = len(lines) <= FEW_LINES
        names = [str(i) for i in range(len(lines))] if labels is None and few else labels
        start = 1.0 if self.what == "survival" else 0.0
        order = np.argsort(self.times, kind="stable")
        for number, line in enumerate(lines):
            own = {"color": None if few else DOTS, "alpha": 1.0 if few else 0.4, "lw": 1.4}
            own["label"] = None if names is None else str(names[number])
            times, values = np.append(0.0, self.times[order]), np.append(start, line[order])
            ax.step(times, values, where="post", **own)
        ax.axhline(0.0, color=LINE, lw=0.6)
        if self.what != "cumulative hazard":
            ax.set_ylim(-0.02, 1.02)
        ax.set(xlabel="time", ylabel=self.what)
        if names is not None:
            ax.legend(frameon=False)
        return ax


class SurvivalCurves(_Curves):
    """S(t) = P(T > t) of rows.

    Attributes
    ----------
    times : float64 array of shape (n_times,)
        The times at which `values` has the curves: those that were passed, or those at which the
        curves change.
    """

    loss: SurvivalLoss
    what = "survival"

    def _evaluate(self, times: Vector) -> npt.NDArray[np.float64]:
        return self.loss.survival(self.score, self.stratum, times)

    def quantile(self, q: float) -> Vector:
        """Return the time until which a share q of such rows has the event.

        It is the least t with S(t) ≤ 1 - q, and inf if S stays above it in the observed times.
        """
        return self.loss.quantile(self.score, self.stratum, check_argument("q", FRACTION, q))

    def median(self) -> Vector:
        """Return the median time of each row; inf if it is after the observed times."""
        return self.quantile(0.5)

    def restricted_mean(self, limit: float) -> Vector:
        """Return the mean of min(T, limit) of each row: the area below S(t) until the limit.

        After the last time at which it changes, a curve keeps its value.
        """
        found = read_times(limit, "limit")
        if len(found) != 1 or not 0.0 < found[0] < np.inf:
            raise InvalidParameterError(f"limit must be one number above 0; got {limit!r}.")
        return self.loss.restricted_mean(self.score, self.stratum, float(found[0]))


class HazardCurves(_Curves):
    """The cumulative hazard H(t) = -log S(t) of rows.

    Attributes
    ----------
    times : float64 array of shape (n_times,)
        As of `SurvivalCurves`.
    """

    loss: SurvivalLoss
    what = "cumulative hazard"

    def _evaluate(self, times: Vector) -> npt.NDArray[np.float64]:
        return self.loss.cumulative_hazard(self.score, self.stratum, times)


class IncidenceCurves(_Curves):
    """The cumulative incidence P(T ≤ t, event of a cause) of rows.

    `values` and `at` have the shape (n_rows, n_causes, n_times), or (n_rows, n_causes).

    Attributes
    ----------
    times : float64 array of shape (n_times,)
        As of `SurvivalCurves`.
    """

    loss: CompetingRisksLoss
    what = "cumulative incidence"

    @property
    def causes(self) -> list[int]:
        """The codes of the events, in the order of the second axis."""
        return self.loss.causes

    def _evaluate(self, times: Vector) -> npt.NDArray[np.float64]:
        return self.loss.cumulative_incidence(self.score, self.stratum, times)

    def of_cause(self, cause: int) -> Vector:
        """Return the curves of one cause at `times`, shape (n_rows, n_times)."""
        if cause not in self.causes:
            raise InvalidParameterError(f"cause must be one of {self.causes}; got {cause!r}.")
        return np.asarray(self.values[:, self.causes.index(cause)])

    def _lines(self) -> list[npt.NDArray[np.float64]]:
        return [line for row in self.values for line in row]
