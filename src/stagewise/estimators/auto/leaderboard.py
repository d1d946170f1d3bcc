"""The leaderboard of an automatic model: a table and a plot of the configurations it has tried."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from stagewise.axes import new_axes
from stagewise.display import Displayed, Summary

__all__ = ["Leaderboard", "LeaderboardRow"]

TIME = "seconds"
HEADINGS = ("model", "loss", "difference", "error", "weight", "folds", "rounds", "seconds")


@dataclass(frozen=True)
class LeaderboardRow:
    """A model of the search.

    Attributes
    ----------
    name : str
        The configuration; "weighted sum" is the fitted model.
    loss, standard_error : float
        The mean loss of held-out rows and its standard error; NaN: no row was held out.
    difference, difference_error : float
        The mean loss minus that of the fitted model on the same rows, and its standard error. Use
        it to compare models that have run different folds.
    weight : float
        The weight in the fitted model.
    folds : int
        The number of folds that were run.
    rounds : int
        The number of rounds.
    seconds : float
        The time of its fits; NaN after it was saved. Rows that differ only in it are equal.
    """

    name: str
    loss: float
    standard_error: float
    difference: float
    difference_error: float
    weight: float
    folds: int
    rounds: int
    seconds: float = field(default=math.nan, compare=False)


class Leaderboard(Displayed, Sequence[LeaderboardRow]):
    """The models of a search: the fitted model, then the configurations by weight and loss.

    Parameters
    ----------
    rows : iterable of LeaderboardRow
        The models.
    """

    def __init__(self, rows: Iterable[LeaderboardRow]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, place: int) -> LeaderboardRow: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[LeaderboardRow, ...]: ...

    def __getitem__(self, place: int | slice) -> LeaderboardRow | tuple[LeaderboardRow, ...]:
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Leaderboard) and self._rows == other._rows

    def __hash__(self) -> int:
        return hash(self._rows)

    def __reduce__(self) -> tuple[Any, ...]:
        # As in files, times are left out: equal fits have equal pickles.
        return Leaderboard.from_saved, (self.as_saved(),)

    def as_saved(self) -> list[dict[str, Any]]:
        """Return the rows without times, and None for an unknown loss."""
        return [
            {name: None if _is_nan(value) else value for name, value in row.items() if name != TIME}
            for row in self.records()
        ]

    @classmethod
    def from_saved(cls, rows: Iterable[Mapping[str, Any]]) -> Leaderboard:
        """Return a leaderboard from the rows of `as_saved`."""
        known = [{n: math.nan if v is None else v for n, v in dict(row).items()} for row in rows]
        return cls(LeaderboardRow(**row) for row in known)  # type: ignore[arg-type]

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each row, as a data frame can be made of."""
        return [asdict(row) for row in self._rows]

    def _summary(self) -> Summary:
        rows = [dict(zip(HEADINGS, _cells(row), strict=True)) for row in self._rows]
        return Summary(f"Leaderboard of {len(self)} models", rows=rows, n_rows=len(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw the differences of the losses to that of the fitted model; return the axes.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None: a new figure.
        """
        new = ax is None
        figure, (ax,) = new_axes(1, ax, "plot")
        if new:
            figure.set_size_inches(7, 1 + 0.4 * len(self))
        known = [row for row in self._rows if np.isfinite(row.loss)]
        places: npt.NDArray[np.intp] = np.arange(len(known))[::-1]
        for place, row in zip(places, known, strict=True):
            used = row.weight > 0
            ax.errorbar(
                row.difference,
                place,
                xerr=row.difference_error,
                fmt="o",
                capsize=3,
                color="C0" if used else "0.6",
                markerfacecolor="C0" if used else "white",
            )
        labels = [
            row.name if row.weight in (0.0, 1.0) else f"{row.name} ({row.weight:.2g})"
            for row in known
        ]
        ax.set_yticks(places, labels)
        ax.set_ylim(-0.6, len(known) - 0.4)
        ax.axvline(0.0, color="0.8", zorder=0)
        ax.set_xlabel("loss minus that of the weighted sum (± standard error)")
        ax.grid(axis="x", alpha=0.3)
        return ax


def _cells(row: LeaderboardRow) -> tuple[Any, ...]:
    """Return the cells of a row, with the digits that matter."""
    return (
        row.name,
        float(f"{row.loss:.5g}"),
        float(f"{row.difference:.3g}"),
        float(f"{row.difference_error:.2g}"),
        float(f"{row.weight:.2g}"),
        row.folds,
        row.rounds,
        float(f"{row.seconds:.1f}"),
    )


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
