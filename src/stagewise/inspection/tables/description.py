"""Description of a table: columns, associations with a target, hints.

The table is read exactly as a fit reads it, with text as categories; it is never changed.
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
from stagewise.inspection.tables.profile import Profile, profile_categories, profile_numbers
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = ["Description", "describe", "describe_table"]

PAIRS = 20
"""The maximum number of correlated pairs of columns."""
WEAKEST = 0.3
"""The smallest absolute rank correlation of a listed pair."""


@dataclass(frozen=True, eq=False)
class Description:
    """The description of a table.

    Attributes
    ----------
    n_rows : int
        The number of rows.
    columns : tuple of Profile
        The profile of each column.
    target : str or None
        The name of the target.
    associations : list of dict
        The association of each column with the target, the strongest first: Pearson's and
        Spearman's correlation (two numbers), η (a number and a category), Cramér's V (two
        categories), and mutual information in nats (always).
    pairs : list of dict
        The pairs of numeric columns with the strongest rank correlations.
    hints : tuple of Hint
        Possible problems to check before a fit.
    """

    n_rows: int
    columns: tuple[Profile, ...]
    target: str | None = None
    associations: list[dict[str, Any]] = field(default_factory=list)
    pairs: list[dict[str, Any]] = field(default_factory=list)
    hints: tuple[Hint, ...] = ()

    def table(self) -> list[dict[str, Any]]:
        """Return one row per column."""
        return [profile.row() for profile in self.columns]

    def hints_text(self) -> str:
        """Return the hints as text, one per line."""
        if not self.hints:
            return "No hints."
        return "\n".join(hint.text for hint in self.hints)

    def __str__(self) -> str:
        lines = [f"{self.n_rows:,} rows, {len(self.columns)} columns"]
        lines += [f"  {profile}" for profile in self.columns]
        return "\n".join([*lines, self.hints_text()])


@suggests_arguments
def describe(table: Any, target: Any = None) -> Description:
    """Describe a table: columns, associations with a target, hints.

    Parameters
    ----------
    table : array-like or data frame
        The table, with or without the target column.
    target : str, array-like or None
        The name of a column of the table, or the values of the target.

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
            "describe does not support sparse matrices. Pass X.toarray(), perhaps of some of its "
            "columns."
        )
    return describe_table(read, target)


def describe_table(read: Table, target: Any = None) -> Description:
    """Describe a table that has been read."""
    names = read.names or [f"x{j}" for j in range(read.n_features)]
    values = {column: _values(read, j) for j, column in enumerate(names)}
    profiles = {column: _profile(read, j, column) for j, column in enumerate(names)}
    name, known = _target(target, values, profiles, read.n_rows)
    others = {n: v for n, v in values.items() if n != name}
    associations = [] if known is None else _associations(others, known)
    hints = find_hints(profiles, others, name, known, associations)
    return Description(
        read.n_rows,
        tuple(profiles.values()),
        name,
        associations,
        _pairs(others),
        tuple(hints),
    )


def _values(table: Table, place: int) -> npt.NDArray[Any]:
    """Return a column as floats (NaN for missing) or category codes (-1 for missing)."""
    if place in table.factors:
        return table.factors[place].codes
    column = table.column(place)
    values = np.asarray(column.values, dtype=np.float64)
    return values if column.missing is None else np.where(column.missing, np.nan, values)


def _profile(table: Table, place: int, name: str) -> Profile:
    if place in table.factors:
        return profile_categories(name, table.factors[place])
    return profile_numbers(name, table.column(place))


def _target(
    target: Any, values: dict[str, Any], profiles: dict[str, Profile], n_rows: int
) -> tuple[str | None, npt.NDArray[Any] | None]:
    """Return the name of the target and its values, floats or codes."""
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
    """Return the associations of the columns with the target, the strongest first."""
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
    """Return the pairs of numeric columns with the strongest rank correlations."""
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
