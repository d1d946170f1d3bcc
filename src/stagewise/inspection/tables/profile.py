"""The profile of one column: kind, missing values, distribution.

Numeric and categorical columns have the same attributes; those that do not apply are empty or NaN.
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
from stagewise.inspection.tables.outliers import find_outliers

__all__ = ["Profile", "profile_categories", "profile_numbers"]

Vector = npt.NDArray[np.float64]

BARS = 20
MAX_FREQUENT = 10


@dataclass(frozen=True, eq=False)
class Profile:
    """The profile of a column.

    Attributes
    ----------
    name, kind : str
        The name; and "number", "whole number", "date", "duration", "time of day", "category" or
        "empty".
    n_rows, missing, distinct : int
        The numbers of rows, missing values and distinct values.
    deciles : float64 array of shape (11,)
        The smallest value, the deciles and the largest value; NaN for categories. Dates and times
        are in nanoseconds here, and text where they are shown.
    quartiles : float64 array of shape (3,)
        The quartiles; NaN for categories.
    mean, deviation : float
        Mean and standard deviation of the finite values; NaN for categories.
    outliers : int
        The number of values more than 1.5 interquartile ranges beyond the quartiles.
    density : tuple of int array and float64 array
        The histogram of the finite values: counts and equidistant edges.
    frequent : tuple of (value, int)
        The most frequent categories or numbers, and their numbers of rows.
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
    frequent: tuple[tuple[Any, int], ...]

    @property
    def is_number(self) -> bool:
        """Whether the column is numeric; dates and times are."""
        return self.kind in ("number", "whole number", *TEMPORAL_TYPES)

    @property
    def temporal_type(self) -> TemporalType | None:
        """The temporal type, if the numbers are nanoseconds."""
        return next(
            (temporal_type for temporal_type in TEMPORAL_TYPES if temporal_type == self.kind), None
        )

    def format(self, number: float, what: Literal["value", "mean", "distance"] = "mean") -> Any:
        """Return a number for display: dates and times as text, other numbers unchanged.

        Parameters
        ----------
        number : float
            The number.
        what : {"value", "mean", "distance"}
            A value of a row, a mean or quantile, or a difference. Dates and times: a value is shown
            at least to the second, the others are rounded according to the range of the column;
            differences of dates are durations.
        """
        if self.temporal_type is None:
            return float(number)
        span = float(self.deciles[-1] - self.deciles[0])
        within = min(span, PARTS * SECOND) if what == "value" else span
        kind = "duration" if what == "distance" else self.temporal_type
        return format_datetime(number, kind, within=within)

    def format_frequent(self, place: int) -> str:
        """Return one of the most frequent values as text."""
        value, _ = self.frequent[place]
        if self.temporal_type is not None:
            return format_datetime(value, self.temporal_type)
        return str(value) if isinstance(value, (str, int)) else f"{value:g}"

    def row(self) -> dict[str, Any]:
        """Return the profile as one row of a table."""
        _, rows = self.frequent[0] if self.frequent else ("", 0)
        q1, q2, q3 = (self.format(q) for q in self.quartiles)
        return {
            "column": self.name,
            "kind": self.kind,
            "missing": self.missing,
            "distinct": self.distinct,
            "min": self.format(self.deciles[0], "value"),
            "q1": q1,
            "median": q2,
            "q3": q3,
            "max": self.format(self.deciles[-1], "value"),
            "mean": self.format(self.mean),
            "deviation": self.format(self.deviation, "distance"),
            "outliers": self.outliers,
            "most_frequent": f"{self.format_frequent(0)} ({rows:,})" if rows > 1 else "",
        }

    def __str__(self) -> str:
        gaps = f", {self.missing:,} missing" if self.missing else ""
        if self.is_number:
            row = self.row()
            values = (row[name] for name in ("min", "q1", "median", "q3", "max"))
            low, a, b, c, high = (t if isinstance(t, str) else f"{t:.6g}" for t in values)
            where = f"{low} … {a} {b} {c} … {high}"
        else:
            where = ", ".join(f"{value} ({rows:,})" for value, rows in self.frequent[:5])
        return f"{self.name}: {self.kind}, {self.distinct:,} distinct{gaps}: {where}"


def profile_numbers(name: str, column: Column) -> Profile:
    """Return the profile of a numeric column."""
    values = column.values
    gone = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    gone = gone if column.missing is None else column.missing
    exact = values[~gone]
    distinct, rows = np.unique(exact, return_counts=True)
    known = exact.astype(np.float64)
    finite = known[np.isfinite(known)]
    whole = len(exact) > 0 and bool(np.isfinite(known).all() and (known == np.floor(known)).all())
    kind = column.temporal_type or ("whole number" if whole else "number")
    often = np.argsort(-rows, kind="stable")[:MAX_FREQUENT]
    nothing = np.full(11, np.nan)
    # Observed values: interpolation between infinities is undefined.
    tenths = np.linspace(0, 1, 11)
    deciles = np.quantile(known, tenths, method="inverted_cdf") if len(known) else nothing
    quarters = [0.25, 0.5, 0.75]
    quartiles = np.quantile(finite, quarters) if len(finite) else np.full(3, np.nan)
    _, out = find_outliers(known, "iqr")
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
    if not (np.diff(edges) > 0).all():  # too few doubles between the ends
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    counts, _ = np.histogram(finite, bins=edges)
    return counts.astype(np.int64), edges


def profile_categories(name: str, factor: Factor) -> Profile:
    """Return the profile of a categorical column."""
    rows = factor.count_rows()
    held = [(value, int(n)) for value, n in zip(factor.values, rows.tolist(), strict=True) if n]
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
        tuple(held[:MAX_FREQUENT]),
    )
