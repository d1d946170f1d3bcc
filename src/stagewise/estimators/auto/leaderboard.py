"""The leaderboard of an automatic model: a table and a plot of the configurations it has tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

__all__ = ["Leaderboard", "LeaderboardRow"]

HEADINGS = ("model", "loss", "standard error", "weight", "folds", "rounds", "seconds")


@dataclass(frozen=True)
class LeaderboardRow:
    """A model of the search.

    Attributes
    ----------
    name : str
        The configuration; "weighted sum" is the fitted model.
    loss, standard_error : float
        The mean loss of held-out rows and its standard error; NaN: no row was held out.
    weight : float
        The weight in the fitted model.
    folds : int
        The number of folds that were run.
    rounds : int
        The number of rounds.
    seconds : float
        The time of its fits.
    """

    name: str
    loss: float
    standard_error: float
    weight: float
    folds: int
    rounds: int
    seconds: float


class Leaderboard(Sequence[LeaderboardRow]):
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

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each row, as a data frame can be made of."""
        return [asdict(row) for row in self._rows]

    def __repr__(self) -> str:
        cells = [HEADINGS, *(_cells(row) for row in self._rows)]
        widths = [max(len(line[j]) for line in cells) for j in range(len(HEADINGS))]
        lines = [
            "  ".join(
                cell.ljust(width) if j == 0 else cell.rjust(width)
                for j, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in cells
        ]
        return "\n".join(line.rstrip() for line in lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the losses of held-out rows with their standard errors; return the axes.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None: a new figure.
        """
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(7, 1 + 0.4 * len(self)), layout="constrained")
        known = [row for row in self._rows if np.isfinite(row.loss)]
        places: npt.NDArray[np.intp] = np.arange(len(known))[::-1]
        for place, row in zip(places, known, strict=True):
            used = row.weight > 0
            ax.errorbar(
                row.loss,
                place,
                xerr=row.standard_error,
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
        ax.set_xlabel("loss of held-out rows ± standard error")
        ax.grid(axis="x", alpha=0.3)
        return ax


def _cells(row: LeaderboardRow) -> tuple[str, ...]:
    unknown = np.isnan(row.loss)
    return (
        row.name,
        "" if unknown else f"{row.loss:.5g}",
        "" if unknown else f"{row.standard_error:.2g}",
        f"{row.weight:.2g}",
        str(row.folds),
        str(row.rounds),
        f"{row.seconds:.1f}",
    )
