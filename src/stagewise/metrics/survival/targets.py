"""Metrics of structured targets, as fits measure them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.kaplan_meier import KaplanMeier
from stagewise.metrics.survival.concordance import concordance, uno_weights

__all__ = ["c_index", "exit_times", "uno_c_index"]

Vector = npt.NDArray[np.float64]


def exit_times(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return times and events; an event in an interval is at its end, or in its middle."""
    is_event = y["event"] > 0
    inside = is_event & (y["upper"] > y["time"])
    middle = np.where(inside, y["upper"], y["time"])
    return np.where(inside, 0.5 * (y["time"] + middle), y["time"]), is_event


def _of_causes(
    y: npt.NDArray[Any],
    predicted: npt.NDArray[np.float64],
    causes: tuple[int, ...],
    earlier: bool,
    of: Any,
) -> float:
    """Return the mean of a concordance over causes; other events never have the event.

    A cause without comparable pairs is left out.
    """
    time, is_event = exit_times(y)
    stratum = y["stratum"] if (y["stratum"] != y["stratum"][:1]).any() else None
    risk = predicted if earlier else -predicted
    risk = risk[:, 0] if risk.ndim > 1 and risk.shape[1] == 1 else risk
    if not causes:
        return float(of(time, is_event, risk, stratum))
    each = []
    for place, cause in enumerate(causes):
        own = y["event"] == cause
        column = risk if risk.ndim == 1 else risk[:, place]
        other = is_event & ~own
        each.append(of(np.where(other, np.inf, time), own, column, stratum))
    known = [value for value in each if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def c_index(
    y: npt.NDArray[Any],
    predicted: npt.NDArray[np.float64],
    weight: Vector | None,
    causes: tuple[int, ...] = (),
    *,
    earlier: bool = True,
) -> float:
    """Return Harrell's C-index of targets; NaN: no pair is comparable.

    Parameters
    ----------
    y : structured array
        The targets.
    predicted : float64 array of shape (n_rows,) or (n_rows, n_causes)
        The predictions.
    weight : float64 array or None
        The weights of the rows.
    causes : tuple of int
        The codes of the events of the columns; empty: any event.
    earlier : bool
        Whether larger predictions are earlier events.
    """

    def of(time: Any, is_event: Any, risk: Any, stratum: Any) -> float:
        return concordance(time, is_event, risk, weight, stratum)

    return _of_causes(y, predicted, causes, earlier, of)


def uno_c_index(
    y: npt.NDArray[Any],
    predicted: npt.NDArray[np.float64],
    weight: Vector | None,
    causes: tuple[int, ...] = (),
    *,
    earlier: bool = True,
) -> float:
    """Return Uno's C-index, with the censoring of the same rows; see `c_index`."""
    times, events = exit_times(y)
    censoring = KaplanMeier.of(None, times, events, weight, censoring=True)
    # After the last censored row nothing is known, and G is 0.
    last = float(np.max(times[censoring.at(times) > 0.0], initial=0.0))

    def of(time: Any, is_event: Any, risk: Any, stratum: Any) -> float:
        known = is_event & (time <= last)
        own = uno_weights(censoring, time, known)
        return concordance(time, is_event, risk, weight, stratum, own)

    return _of_causes(y, predicted, causes, earlier, of)
