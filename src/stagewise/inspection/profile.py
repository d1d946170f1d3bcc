"""One column of a table in one line: its kind, its gaps, where its values lie.

The one idea: numbers and categories fill the same line; what makes no sense of one of them is
empty. Must not know other columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.column import Column
from stagewise.data.factor import Factor
from stagewise.data.levels import by_value

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
        What it is called; "number", "whole number", "date", "category" or "empty".
    n_rows, missing, distinct : int
        How many rows, missing cells and different values there are.
    deciles : float64 array of shape (11,)
        From the smallest to the largest value, in steps of a tenth of the rows; of numbers.
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
        return self.kind in ("number", "whole number", "date")

    def row(self) -> dict[str, Any]:
        """Return the column as a line of a table."""
        level, rows = self.levels[0] if self.levels else ("", 0)
        written = level if isinstance(level, (str, int)) else f"{level:g}"
        nothing = float("nan")
        ends = (self.deciles[0], self.deciles[-1]) if self.is_number else (nothing, nothing)
        q1, q2, q3 = self.quartiles.tolist() if self.is_number else [nothing] * 3
        return {
            "column": self.name,
            "kind": self.kind,
            "missing": self.missing,
            "distinct": self.distinct,
            "min": float(ends[0]),
            "q1": q1,
            "median": q2,
            "q3": q3,
            "max": float(ends[1]),
            "mean": self.mean,
            "deviation": self.deviation,
            "outliers": self.outliers,
            "most_frequent": f"{written} ({rows:,})" if rows > 1 else "",
        }

    def __str__(self) -> str:
        gaps = f", {self.missing:,} missing" if self.missing else ""
        if self.is_number:
            a, b, c = self.quartiles
            low, high = self.deciles[[0, -1]]
            where = f"{low:.6g} … {a:.6g} {b:.6g} {c:.6g} … {high:.6g}"
        else:
            where = ", ".join(f"{level} ({rows:,})" for level, rows in self.levels[:5])
        return f"{self.name}: {self.kind}, {self.distinct:,} distinct{gaps}: {where}"


def profile_numbers(name: str, column: Column, *, is_moment: bool) -> Profile:
    """Return what is in a column of numbers."""
    values = column.values
    gone = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    gone = gone if column.missing is None else column.missing
    exact = values[~gone]
    distinct, rows = np.unique(exact, return_counts=True)
    known = exact.astype(np.float64)
    finite = known[np.isfinite(known)]
    whole = len(exact) > 0 and bool(np.isfinite(known).all() and (known == np.floor(known)).all())
    kind = "date" if is_moment else "whole number" if whole else "number"
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
    rows = factor.rows_of_values()
    held = [(level, int(n)) for level, n in zip(factor.values, rows.tolist(), strict=True) if n]
    held.sort(key=lambda pair: (-pair[1], *by_value(pair[0])))
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
