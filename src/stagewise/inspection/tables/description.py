"""What is in a table, column by column, before anything is learned from it.

The one idea: a table is read exactly as a fit reads it (text counts as categories), and every
column is told in one line, the same line for all. Must not change or repair anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.categorical_features import CategoricalFeatures
from stagewise.data.reading.sparse import SparseCells
from stagewise.data.reading.table import Table, read_table
from stagewise.errors import InvalidParameterError
from stagewise.inspection.tables.association import (
    correlation_ratio,
    cramers_v,
    mutual_information,
    pearson,
    rank_correlations,
    spearman,
)
from stagewise.inspection.tables.hints import Hint, find_hints
from stagewise.inspection.tables.profile import Profile, profile_levels, profile_numbers
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = ["Description", "describe", "describe_table"]

PAIRS = 20
"""How many of the strongest pairs of columns are kept."""
WEAKEST = 0.3
"""Below this a pair of columns is not worth a line."""


@dataclass(frozen=True, eq=False)
class Description:
    """What is in a table.

    Attributes
    ----------
    n_rows : int
        How many rows there are.
    columns : tuple of Profile
        What is in each column.
    target : str or None
        What the target is called.
    associations : list of dict
        How much each column says about the target, the most telling first: Pearson's and Spearman's
        correlation, η of a category and a number, Cramér's V of two categories, and mutual
        information in nats, of which every pairing has one.
    pairs : list of dict
        The pairs of columns of numbers with the strongest rank correlations.
    hints : tuple of Hint
        What to look at before a fit.
    """

    n_rows: int
    columns: tuple[Profile, ...]
    target: str | None = None
    associations: list[dict[str, Any]] = field(default_factory=list)
    pairs: list[dict[str, Any]] = field(default_factory=list)
    hints: tuple[Hint, ...] = ()

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each column."""
        return [profile.row() for profile in self.columns]

    def words(self) -> str:
        """Return the hints as sentences, one a line."""
        if not self.hints:
            return "Nothing stands out."
        return "\n".join(hint.words for hint in self.hints)

    def __str__(self) -> str:
        lines = [f"{self.n_rows:,} rows, {len(self.columns)} columns"]
        lines += [f"  {profile}" for profile in self.columns]
        return "\n".join([*lines, self.words()])


def describe(table: Any, target: Any = None) -> Description:
    """Return what is in a table: columns, what they say about a target, and what to look at.

    Parameters
    ----------
    table : array-like or data frame
        What a fit would be given, with or without the target.
    target : str, array-like or None
        The name of a column of the table, or a target of its own.

    Returns
    -------
    Description

    Examples
    --------
    >>> import pandas as pd
    >>> from stagewise.inspection import describe
    >>> found = describe(pd.DataFrame({"x": [1, 2, 3, 4], "c": ["a", "b", "a", "b"]}))
    >>> [row["kind"] for row in found.table()]
    ['whole number', 'category']
    """
    read = read_table(table, caller="describe", categorical=CategoricalFeatures("text"))
    if isinstance(read.columns, SparseCells):
        raise TypeError(
            "describe reads dense columns, and X is a sparse matrix. Pass X.toarray(), perhaps of "
            "some of its columns."
        )
    return describe_table(read, target)


def describe_table(read: Table, target: Any = None) -> Description:
    """Return the same of a table of dense columns that has been read."""
    names = read.names or [f"x{j}" for j in range(read.n_features)]
    values = {name: _values(read, j) for j, name in enumerate(names)}
    profiles = {name: _profile(read, j, name) for j, name in enumerate(names)}
    aim, known = _target(target, values, profiles, read.n_rows)
    others = {n: v for n, v in values.items() if n != aim}
    told = [] if known is None else _associations(others, known)
    hints = find_hints(profiles, others, aim, known, told)
    return Description(
        read.n_rows, tuple(profiles.values()), aim, told, _pairs(others), tuple(hints)
    )


def _values(table: Table, place: int) -> npt.NDArray[Any]:
    """Return a column as floats with NaN, or as codes with -1, for missing cells."""
    if place in table.factors:
        return table.factors[place].codes
    column = table.column(place)
    values = np.asarray(column.values, dtype=np.float64)
    return values if column.missing is None else np.where(column.missing, np.nan, values)


def _profile(table: Table, place: int, name: str) -> Profile:
    if place in table.factors:
        return profile_levels(name, table.factors[place])
    return profile_numbers(name, table.column(place))


def _target(
    target: Any, values: dict[str, Any], profiles: dict[str, Profile], n_rows: int
) -> tuple[str | None, npt.NDArray[Any] | None]:
    """Return the name of the target and its cells, floats or codes."""
    if target is None:
        return None, None
    if isinstance(target, str):
        if target not in values:
            raise InvalidParameterError(
                f"target: there is no column {target!r}.{nearest_name(target, values)}"
            )
        return target, values[target]
    cells = np.asarray(target) if not hasattr(target, "to_numpy") else target.to_numpy()
    if cells.ndim != 1 or len(cells) != n_rows:
        raise InvalidParameterError(
            f"target must be the name of a column or a value for each of the {n_rows} rows; got "
            f"{short_repr(target)}."
        )
    text = cells.dtype.kind not in "biufmM"
    chosen = CategoricalFeatures((0,) if text else None)
    own = read_table(cells[:, np.newaxis], caller="describe", categorical=chosen)
    name = str(getattr(target, "name", None) or "target")
    name = name if name not in values else f"{name} (target)"
    profiles[name] = _profile(own, 0, name)
    return name, _values(own, 0)


def _associations(
    columns: dict[str, npt.NDArray[Any]], target: npt.NDArray[Any]
) -> list[dict[str, Any]]:
    """Return how much each column says about the target, the most telling first."""
    nothing = float("nan")
    is_number, rows = target.dtype.kind == "f", []
    for name, x in columns.items():
        row = {"column": name, "pearson": nothing, "spearman": nothing, "eta": nothing}
        row["cramers_v"] = nothing
        if x.dtype.kind == "f" and is_number:
            row["pearson"], row["spearman"] = pearson(x, target), spearman(x, target)
        elif is_number:
            row["eta"] = correlation_ratio(x, target)
        elif x.dtype.kind == "f":
            row["eta"] = correlation_ratio(target, x)
        else:
            row["cramers_v"] = cramers_v(x, target)
        row["mutual_information"] = mutual_information(x, target)
        rows.append(row)
    return sorted(rows, key=lambda row: -np.nan_to_num(row["mutual_information"]))


def _pairs(columns: dict[str, npt.NDArray[Any]]) -> list[dict[str, Any]]:
    """Return the pairs of columns of numbers with the strongest rank correlations."""
    numbers = {name: x for name, x in columns.items() if x.dtype.kind == "f"}
    if len(numbers) < 2:
        return []
    names = list(numbers)
    found = rank_correlations(list(numbers.values()))
    one, two = np.triu_indices(len(names), 1)
    size = np.abs(found[one, two])
    order = np.argsort(-size, kind="stable")[:PAIRS]
    return [
        {"columns": f"{names[one[i]]} ~ {names[two[i]]}", "spearman": float(found[one[i], two[i]])}
        for i in order.tolist()
        if size[i] >= WEAKEST
    ]
