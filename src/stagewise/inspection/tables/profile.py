"""One column of a table in one line: its kind, its gaps, where its values lie.

The one idea: numbers and categories fill the same line; what makes no sense of one of them is
empty. Must not know other columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.categories import category_sort_key
from stagewise.data.categories.factor import Factor
from stagewise.data.reading.cell import TEMPORAL_TYPES
from stagewise.data.reading.column import Column
from stagewise.data.reading.datetimes import PARTS, SECOND, TemporalType, format_datetime

__all__ = ["Profile", "profile_levels", "profile_numbers"]

Vector = npt.NDArray[np.float64]

FENCE = 1.5
"""How many interquartile ranges beyond the quartiles an outlier begins (Tukey 1977)."""
BARS = 20
MOST_LEVELS = 10


@dataclass(frozen=True, eq=False)
class Profile:
    """What is in a column.

    Attributes
    ----------
    name, kind : str
        What it is called; "number", "whole number", "date", "duration", "time of day",
        "category" or "empty".
    n_rows, missing, distinct : int
        How many rows, missing cells and different values there are.
    deciles : float64 array of shape (11,)
        From the smallest to the largest value, in steps of a tenth of the rows; of numbers. All
        that is said of moments is in nanoseconds here, and in words where it is shown.
    quartiles : float64 array of shape (3,)
        Of numbers.
    mean, deviation : float
        Of the finite ones; NaN of a category.
    outliers : int
        How many numbers lie more than 1.5 interquartile ranges beyond the quartiles.
    density : tuple of int array and float64 array
        How many finite numbers lie between each two of some equidistant edges; the edges.
    levels : tuple of (level, int)
        The most frequent levels of a category, or the values of a number, and their rows.
    """

    name: str
    kind: str
    n_rows: int
    missing: int
    distinct: int
    deciles: Vector
    quartiles: Vector
    mean: float
    deviation: float
    outliers: int
    density: tuple[npt.NDArray[np.int64], Vector]
    levels: tuple[tuple[Any, int], ...]

    @property
    def is_number(self) -> bool:
        """Whether its values have an order and a distance."""
        return self.kind in ("number", "whole number", *TEMPORAL_TYPES)

    @property
    def moment(self) -> TemporalType | None:
        """What its numbers stand for, if they are nanoseconds."""
        return next((moment for moment in TEMPORAL_TYPES if moment == self.kind), None)

    def written(self, number: float, what: Literal["value", "mean", "distance"] = "mean") -> Any:
        """Return one of its numbers as it is shown: moments in words, others as they are.

        Parameters
        ----------
        number : float
            What is to be shown.
        what : {"value", "mean", "distance"}
            Whether some row has it, it lies between rows, or says how far these are apart. Of
            moments the first is told to the second at least, the others are rounded as the
            spread of the rows suggests; distances of dates are durations.
        """
        if self.moment is None:
            return float(number)
        span = float(self.deciles[-1] - self.deciles[0])
        within = min(span, PARTS * SECOND) if what == "value" else span
        kind = "duration" if what == "distance" else self.moment
        return format_datetime(number, kind, within=within)

    def level_words(self, place: int) -> str:
        """Return one of the most frequent values as it is shown."""
        level, _ = self.levels[place]
        if self.moment is not None:
            return format_datetime(level, self.moment)
        return str(level) if isinstance(level, (str, int)) else f"{level:g}"

    def row(self) -> dict[str, Any]:
        """Return the column as a line of a table."""
        _, rows = self.levels[0] if self.levels else ("", 0)
        q1, q2, q3 = (self.written(q) for q in self.quartiles)
        return {
            "column": self.name,
            "kind": self.kind,
            "missing": self.missing,
            "distinct": self.distinct,
            "min": self.written(self.deciles[0], "value"),
            "q1": q1,
            "median": q2,
            "q3": q3,
            "max": self.written(self.deciles[-1], "value"),
            "mean": self.written(self.mean),
            "deviation": self.written(self.deviation, "distance"),
            "outliers": self.outliers,
            "most_frequent": f"{self.level_words(0)} ({rows:,})" if rows > 1 else "",
        }

    def __str__(self) -> str:
        gaps = f", {self.missing:,} missing" if self.missing else ""
        if self.is_number:
            row = self.row()
            told = (row[name] for name in ("min", "q1", "median", "q3", "max"))
            low, a, b, c, high = (t if isinstance(t, str) else f"{t:.6g}" for t in told)
            where = f"{low} … {a} {b} {c} … {high}"
        else:
            where = ", ".join(f"{level} ({rows:,})" for level, rows in self.levels[:5])
        return f"{self.name}: {self.kind}, {self.distinct:,} distinct{gaps}: {where}"


def profile_numbers(name: str, column: Column) -> Profile:
    """Return what is in a column of numbers."""
    values = column.values
    gone = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    gone = gone if column.missing is None else column.missing
    exact = values[~gone]
    distinct, rows = np.unique(exact, return_counts=True)
    known = exact.astype(np.float64)
    finite = known[np.isfinite(known)]
    whole = len(exact) > 0 and bool(np.isfinite(known).all() and (known == np.floor(known)).all())
    kind = column.temporal_type or ("whole number" if whole else "number")
    often = np.argsort(-rows, kind="stable")[:MOST_LEVELS]
    nothing = np.full(11, np.nan)
    # Observed values: an interpolation between infinities would be none.
    tenths = np.linspace(0, 1, 11)
    deciles = np.quantile(known, tenths, method="inverted_cdf") if len(known) else nothing
    quarters = [0.25, 0.5, 0.75]
    quartiles = np.quantile(finite, quarters) if len(finite) else np.full(3, np.nan)
    reach = FENCE * (quartiles[2] - quartiles[0])
    with np.errstate(invalid="ignore"):
        out = (known < quartiles[0] - reach) | (known > quartiles[2] + reach)
    return Profile(
        name,
        kind if len(known) else "empty",
        len(values),
        int(gone.sum()),
        len(distinct),
        deciles,
        quartiles,
        float(finite.mean()) if len(finite) else float("nan"),
        float(finite.std(ddof=1)) if len(finite) > 1 else float("nan"),
        int(out.sum()),
        _density(finite),
        tuple((distinct[i].item(), int(rows[i])) for i in often),
    )


def _density(finite: Vector) -> tuple[npt.NDArray[np.int64], Vector]:
    spread = float(np.ptp(finite)) if len(finite) else 0.0
    if not 0 < spread < np.inf:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    edges = np.linspace(finite.min(), finite.max(), BARS + 1)
    if not (
        np.diff(edges) > 0
    ).all():  # so few doubles lie between the ends that bars would be none
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    counts, _ = np.histogram(finite, bins=edges)
    return counts.astype(np.int64), edges


def profile_levels(name: str, factor: Factor) -> Profile:
    """Return what is in a category."""
    rows = factor.count_rows()
    held = [(level, int(n)) for level, n in zip(factor.values, rows.tolist(), strict=True) if n]
    held.sort(key=lambda pair: (-pair[1], *category_sort_key(pair[0])))
    nothing = float("nan")
    return Profile(
        name,
        "category" if held else "empty",
        len(factor.codes),
        int((factor.codes < 0).sum()),
        len(held),
        np.full(11, nothing),
        np.full(3, nothing),
        nothing,
        nothing,
        0,
        (np.zeros(0, dtype=np.int64), np.zeros(0)),
        tuple(held[:MOST_LEVELS]),
    )
