"""The description of the table for the report page.

`describe` computes the description; this module selects the part that fits on the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from stagewise.data.categories.categorical_features import CategoricalFeatures
from stagewise.data.reading.frame import open_frame
from stagewise.data.reading.table import Table, exact_array, read_table
from stagewise.export.formatting import format_number
from stagewise.inspection.encoded_rows import sample_rows
from stagewise.inspection.fitted_model import FittedModel, Vector
from stagewise.inspection.tables.description import Description, describe_table
from stagewise.inspection.tables.hints import Hint
from stagewise.inspection.tables.profile import Profile
from stagewise.report.axis_limits import robust_limits
from stagewise.report.row_facts import take

__all__ = ["ColumnFacts", "TableFacts", "table_facts"]

ROWS = 100_000
"""Larger tables are described from a sample of this many rows."""
COLUMNS = 200
LINES = 20
BARS = 20


@dataclass(frozen=True)
class FormattedFacts:
    """The quantiles and the mean of a column of dates or times, as text.

    Attributes
    ----------
    min, max, mean : str
        As in `ColumnFacts`.
    quartiles : tuple of str
        As in `ColumnFacts`.
    """

    min: str
    quartiles: tuple[str, ...]
    max: str
    mean: str


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """One column of the table.

    Attributes
    ----------
    name, kind : str
        The name, and the kind of values.
    is_target : bool
        Whether it is the target.
    missing, distinct, outliers : int
        The numbers of missing values, distinct values and outliers.
    min, quartiles, max, mean, deviation : floats
        Summary of a numeric column; NaN for categories.
    bars : float64 array
        The counts of a histogram with equal bins between `robust_limits`.
    outside : int
        The number of finite values beyond these limits.
    frequent : tuple of (str, int)
        The most frequent values and their numbers of rows.
    is_number : bool
        Whether the column is numeric.
    formatted : FormattedFacts or None
        Dates and times: the summary as text.
    """

    name: str
    is_target: bool
    kind: str
    missing: int
    distinct: int
    outliers: int
    min: float
    quartiles: Vector
    max: float
    mean: float
    deviation: float
    bars: Vector
    outside: int
    frequent: tuple[tuple[str, int], ...]
    is_number: bool
    formatted: FormattedFacts | None = None


@dataclass(frozen=True, eq=False)
class TableFacts:
    """The description of the table.

    Attributes
    ----------
    n_rows, n_described, n_columns : int
        The numbers of rows, of sampled rows, and of columns; `columns` may have fewer.
    target : str
        The name of the target.
    columns : tuple of ColumnFacts
        The target first, then the features.
    associations : tuple of (str, str, float, float)
        Column, the name and value of its correlation with the target, and mutual information.
    pairs : tuple of (str, float)
        Correlated pairs of columns and their rank correlation.
    hints : tuple of Hint
        Possible problems.
    """

    n_rows: int
    n_described: int
    n_columns: int
    target: str
    columns: tuple[ColumnFacts, ...]
    associations: tuple[tuple[str, str, float, float], ...]
    pairs: tuple[tuple[str, float], ...]
    hints: tuple[Hint, ...]


MEASURES = {
    "pearson": "Pearson's r",
    "spearman": "Spearman's ρ",
    "eta": "η",
    "cramers_v": "Cramér's V",
}
CHOSEN = ("spearman", "eta", "cramers_v")
"""One measure for every combination of kinds."""


def table_facts(
    fitted: FittedModel,
    X: Any,
    y: Any,
    name: str,
    order: Sequence[int],
    seed: int,
    *,
    associated: bool = True,
) -> TableFacts:
    """Describe the rows and the target.

    Parameters
    ----------
    fitted : FittedModel
        The model, whose features are described.
    X : table
        The rows.
    y : array
        The target: numbers or labels.
    name : str
        The name of the target.
    order : sequence of int
        The features, the most important first; of a wide table only the first are described.
    seed : int
        The seed of the sample of a large table.
    associated : bool
        Whether the columns are compared with the target.
    """
    n_rows = len(y)
    rows = sample_rows(np.ones(n_rows), ROWS, seed)
    places = sorted(order[:COLUMNS]) if len(order) > COLUMNS else list(range(len(order)))
    some = _columns(fitted, X if len(rows) == n_rows else take(X, rows), places)
    found = describe_table(some, np.asarray(y)[rows])
    target = found.target
    profiles = sorted(found.columns, key=lambda c: c.name != target)
    columns = tuple(
        _column(c, name if c.name == target else c.name, c.name == target, found.values[c.name])
        for c in profiles
    )
    return TableFacts(
        n_rows,
        len(rows),
        len(fitted.names),
        name,
        columns,
        _associations(found) if associated else (),
        tuple((row["columns"], float(row["spearman"])) for row in found.pairs[:LINES]),
        found.hints[:LINES],
    )


def _columns(fitted: FittedModel, X: Any, places: list[int]) -> Table:
    """Return the columns of some features, by their names."""
    frame, named = open_frame(X, "report"), fitted.model.features.names is not None
    if frame is not None:
        given = frame.names if named else None
        at = places if given is None else [given.index(fitted.names[j]) for j in places]
        cells = frame.frame[:, at].to_native()
    elif hasattr(X, "tocsc"):
        cells = X.tocsc()[:, places].toarray()
    else:
        cells = exact_array(X)[:, places]
    types = [fitted.model.features[j].temporal_type for j in places]
    dates = frozenset(place for place, kind in enumerate(types) if kind == "date")
    read = read_table(cells, caller="report", categorical=CategoricalFeatures("text", dates))
    return replace(read, names=[fitted.names[j] for j in places])


def _column(profile: Profile, name: str, is_target: bool, values: Any) -> ColumnFacts:
    bars, outside = _histogram(values) if profile.is_number else (np.zeros(0), 0)
    return ColumnFacts(
        name,
        is_target,
        profile.kind,
        profile.missing,
        profile.distinct,
        profile.outliers,
        float(profile.deciles[0]),
        profile.quartiles,
        float(profile.deciles[-1]),
        profile.mean,
        profile.deviation,
        bars,
        outside,
        tuple((_format(profile, k), rows) for k, (_, rows) in enumerate(profile.frequent[:8])),
        profile.is_number,
        None if profile.temporal_type is None else _formatted(profile),
    )


def _histogram(values: Vector) -> tuple[Vector, int]:
    """Return the counts of equal bins between robust limits, and the number of values beyond."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.zeros(0), 0
    low, high = robust_limits(finite)
    edges = np.linspace(low, high, BARS + 1)
    if not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
        return np.zeros(0), 0
    counts, _ = np.histogram(finite, bins=edges)
    return counts.astype(np.float64), int(np.count_nonzero((finite < low) | (finite > high)))


def _formatted(profile: Profile) -> FormattedFacts:
    row = profile.row()
    return FormattedFacts(
        row["min"], (row["q1"], row["median"], row["q3"]), row["max"], row["mean"]
    )


def _format(profile: Profile, place: int) -> str:
    value, _ = profile.frequent[place]
    if profile.temporal_type is None and isinstance(value, float) and isfinite(value):
        return format_number(value, 6)
    return profile.format_frequent(place)


def _associations(found: Description) -> tuple[tuple[str, str, float, float], ...]:
    lines = []
    for row in found.associations[:LINES]:
        measure = next((m for m in CHOSEN if row[m] == row[m]), "pearson")
        nats = float(row["mutual_information"])
        lines.append((str(row["column"]), MEASURES[measure], float(row[measure]), nats))
    return tuple(lines)
