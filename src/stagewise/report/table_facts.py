"""A table in a page: a line and a small picture for each column, and what to look at.

The one idea: `describe` has found all there is to say; what is chosen here is how much of it fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from stagewise.data.categories.categorical import CategoricalFeatures
from stagewise.data.reading.frame import open_frame
from stagewise.data.reading.table import Table, exact_array, read_table
from stagewise.export.formatting import number_words
from stagewise.inspection.encoded_rows import drawn_rows
from stagewise.inspection.fitted_model import Fitted, Vector
from stagewise.inspection.tables.description import Description, describe_table
from stagewise.inspection.tables.hints import Hint
from stagewise.inspection.tables.profile import Profile
from stagewise.report.row_facts import take

__all__ = ["ColumnFacts", "TableFacts", "table_facts"]

ROWS = 100_000
"""Larger tables are described by this many of their rows."""
COLUMNS = 200
LINES = 20


@dataclass(frozen=True)
class MomentFacts:
    """Where the dates, durations or times of a column lie, in words.

    Attributes
    ----------
    least, largest, mean : str
        As of `ColumnFacts`.
    quartiles : tuple of str
        Likewise.
    """

    least: str
    quartiles: tuple[str, ...]
    largest: str
    mean: str


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """A column.

    Attributes
    ----------
    name, kind : str
        What it is called, and what it holds.
    is_target : bool
        Whether it is what is predicted.
    missing, distinct, outliers : int
        How many cells are missing, values differ, numbers lie far out.
    least, quartiles, largest, mean, deviation : floats
        Of numbers; NaN of categories.
    bars : float64 array
        How many numbers lie in equal parts of the range.
    levels : tuple of (str, int)
        The most frequent values, and their rows.
    is_number : bool
        Whether its values have an order.
    in_words : MomentFacts or None
        Of moments: the same as people write it.
    """

    name: str
    is_target: bool
    kind: str
    missing: int
    distinct: int
    outliers: int
    least: float
    quartiles: Vector
    largest: float
    mean: float
    deviation: float
    bars: Vector
    levels: tuple[tuple[str, int], ...]
    is_number: bool
    in_words: MomentFacts | None = None


@dataclass(frozen=True, eq=False)
class TableFacts:
    """A table.

    Attributes
    ----------
    n_rows, n_looked_at, n_columns : int
        Its rows, how many of them were looked at, and its columns, of which `columns` may have
        fewer.
    target : str
        What is predicted.
    columns : tuple of ColumnFacts
        The target first, then the features.
    associations : tuple of (str, str, float, float)
        Column, the name and value of its correlation with the target, and mutual information.
    pairs : tuple of (str, float)
        Columns that go together, and their rank correlation.
    hints : tuple of Hint
        What to look at.
    """

    n_rows: int
    n_looked_at: int
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
"""One for every pairing of kinds."""


def table_facts(
    fitted: Fitted, X: Any, y: Any, name: str, order: Sequence[int], seed: int
) -> TableFacts:
    """Describe rows and their answers.

    Parameters
    ----------
    fitted : Fitted
        The model, whose features are described.
    X : table
        The rows.
    y : array
        Their answers: numbers or labels.
    name : str
        What the target is called.
    order : sequence of int
        The features, the most important first; of a wide table only the first are described.
    seed : int
        Keys which rows of a large table are looked at.
    """
    n_rows = len(y)
    rows = drawn_rows(np.ones(n_rows), ROWS, seed)
    places = sorted(order[:COLUMNS]) if len(order) > COLUMNS else list(range(len(order)))
    some = _columns(fitted, X if len(rows) == n_rows else take(X, rows), places)
    found = describe_table(some, np.asarray(y)[rows])
    aim = found.target
    profiles = sorted(found.columns, key=lambda c: c.name != aim)
    columns = tuple(_column(c, name if c.name == aim else c.name, c.name == aim) for c in profiles)
    return TableFacts(
        n_rows,
        len(rows),
        len(fitted.names),
        name,
        columns,
        _associations(found),
        tuple((row["columns"], float(row["spearman"])) for row in found.pairs[:LINES]),
        found.hints[:LINES],
    )


def _columns(fitted: Fitted, X: Any, places: list[int]) -> Table:
    """Return the columns of some features, under their names; other columns are not described."""
    frame, named = open_frame(X, "report"), fitted.model.features.names is not None
    if frame is not None:
        given = frame.names if named else None
        at = places if given is None else [given.index(fitted.names[j]) for j in places]
        cells = frame.frame[:, at].to_native()
    elif hasattr(X, "tocsc"):
        cells = X.tocsc()[:, places].toarray()
    else:
        cells = exact_array(X)[:, places]
    read = read_table(cells, caller="report", categorical=CategoricalFeatures("text"))
    return replace(read, names=[fitted.names[j] for j in places])


def _column(profile: Profile, name: str, is_target: bool) -> ColumnFacts:
    counts, _ = profile.density
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
        counts.astype(np.float64),
        tuple((_level(profile, k), rows) for k, (_, rows) in enumerate(profile.levels[:8])),
        profile.is_number,
        None if profile.moment is None else _in_words(profile),
    )


def _in_words(profile: Profile) -> MomentFacts:
    row = profile.row()
    return MomentFacts(row["min"], (row["q1"], row["median"], row["q3"]), row["max"], row["mean"])


def _level(profile: Profile, place: int) -> str:
    level, _ = profile.levels[place]
    if profile.moment is None and isinstance(level, float) and isfinite(level):
        return number_words(level, 6)
    return profile.level_words(place)


def _associations(found: Description) -> tuple[tuple[str, str, float, float], ...]:
    lines = []
    for row in found.associations[:LINES]:
        measure = next((m for m in CHOSEN if row[m] == row[m]), "pearson")
        told = float(row["mutual_information"])
        lines.append((str(row["column"]), MEASURES[measure], float(row[measure]), told))
    return tuple(lines)
