"""Description of a table: columns, associations with a target, hints.

The table is read exactly as a fit reads it, with text as categories; it is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.categorical_features import CategoricalFeatures
from stagewise.data.reading.sparse import SparseCells
from stagewise.data.reading.table import Table, read_table
from stagewise.display import MOST_ROWS, Summary, Tabled
from stagewise.errors import InvalidParameterError
from stagewise.inspection.tables.association import (
    correlation_matrix,
    correlation_ratio,
    cramers_v,
    mutual_information,
    pearson,
    rank_correlations,
    spearman,
)
from stagewise.inspection.tables.hints import Hint, find_hints
from stagewise.inspection.tables.outliers import RULES, ColumnStatistics, find_outliers
from stagewise.inspection.tables.overview import MAX_COLUMNS, plot_description
from stagewise.inspection.tables.profile import Profile, profile_categories, profile_numbers
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = ["Description", "describe", "describe_table"]

MOST_HINTS = 6
"""The largest number of hints that are displayed."""
MOST_PRINTED = 20
"""The largest number of columns, and of hints, that `print` shows."""
PAIRS = 20
"""The maximum number of correlated pairs of columns."""
WEAKEST = 0.3
"""The smallest absolute rank correlation of a listed pair."""


@dataclass(frozen=True, eq=False, repr=False)
class Description(Tabled):
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
    values : mapping of str to array
        The values of each column: floats (NaN: missing), or category codes (-1: missing).
    """

    n_rows: int
    columns: tuple[Profile, ...]
    target: str | None = None
    associations: list[dict[str, Any]] = field(default_factory=list)
    pairs: list[dict[str, Any]] = field(default_factory=list)
    hints: tuple[Hint, ...] = ()
    values: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict, repr=False)

    def _summary(self) -> Summary:
        title = f"{self.n_rows:,} rows, {len(self.columns)} columns"
        names = ("column", "kind", "missing", "distinct", "min", "median", "max", "most_frequent")
        rows = [
            {name: profile.row()[name] for name in names} for profile in self.columns[:MOST_ROWS]
        ]
        facts = {f"hint {i}": hint.text for i, hint in enumerate(self.hints[:MOST_HINTS], start=1)}
        left = len(self.hints) - len(facts)
        note = f"{left} more hints: hints_text()" if left else ""
        return Summary(title, facts, rows, len(self.columns), note=note)

    def table(self) -> list[dict[str, Any]]:
        """Return one row per column."""
        return [profile.row() for profile in self.columns]

    def outliers(self, rule: str = "iqr") -> list[dict[str, Any]]:
        """Return the outliers of each numeric column, and what their removal changes.

        Parameters
        ----------
        rule : {"iqr", "mad"}, default="iqr"
            An outlier is more than 1.5 interquartile ranges beyond the quartiles (Tukey 1977), or
            with "mad" more than 3 robust standard deviations, 1.4826 · median |x - median|, from
            the median (Hampel 1974).

        Returns
        -------
        list of dict
            One row per numeric column with outliers, those with the most first: ``column``, ``low``
            and ``high`` (values outside are outliers), ``n_outliers``, ``rows`` (their positions);
            and with all rows and without these (``…_without``) ``mean``, ``deviation`` and, if the
            target is numeric, ``pearson``, ``slope`` and ``r2`` of the line y = β_0 + β_1 x.
            Slopes of dates and times are per nanosecond.
        """
        check_rule(rule)
        rows = [self._outlier_row(p, rule) for p in self.columns if p.is_number]
        return sorted((r for r in rows if r["n_outliers"]), key=lambda r: -r["n_outliers"])

    def _outlier_row(self, profile: Profile, rule: str) -> dict[str, Any]:
        x, y = self.values[profile.name], self._numeric_target(profile.name)
        (low, high), out = find_outliers(x, rule)
        before = ColumnStatistics.of(x, y)
        after = ColumnStatistics.of(x[~out], None if y is None else y[~out])
        return {
            "column": profile.name,
            "low": profile.format(low),
            "high": profile.format(high),
            "n_outliers": int(out.sum()),
            "rows": np.flatnonzero(out).tolist(),
            "mean": profile.format(before.mean),
            "mean_without": profile.format(after.mean),
            "deviation": profile.format(before.deviation, "distance"),
            "deviation_without": profile.format(after.deviation, "distance"),
            "pearson": before.pearson,
            "pearson_without": after.pearson,
            "slope": before.slope,
            "slope_without": after.slope,
            "r2": before.r2,
            "r2_without": after.r2,
        }

    def _numeric_target(self, other: str) -> npt.NDArray[Any] | None:
        """Return the target, if it is numeric and another column."""
        if self.target is None or self.target == other:
            return None
        y = self.values[self.target]
        return y if y.dtype.kind == "f" else None

    def correlations(self) -> list[dict[str, Any]]:
        """Return Pearson's correlation matrix of the numeric columns, one row per column."""
        names = [p.name for p in self.columns if p.is_number]
        matrix = correlation_matrix([self.values[name] for name in names])
        return [
            {"column": name, **dict(zip(names, row.tolist(), strict=True))}
            for name, row in zip(names, matrix, strict=True)
        ]

    @suggests_arguments
    def plot(
        self,
        kind: str = "columns",
        *,
        columns: Sequence[str] | None = None,
        max_columns: int = MAX_COLUMNS,
        rule: str = "iqr",
    ) -> Any:
        """Draw the table.

        Parameters
        ----------
        kind : {"columns", "scatter", "correlation"}, default="columns"
            "columns": the histogram and the density of each numeric column, and bars of the
            categories. "scatter": each numeric column and the target, or without a numeric target
            the pairs with the strongest correlations; with least-squares lines of all rows (dashed)
            and without the outliers of the horizontal axis. "correlation": Pearson's correlations
            of numeric columns and the target. Outliers are red.
        columns : list of str or None
            The columns to draw; None: those with the strongest association with the target, or
            without one the first ones.
        max_columns : int, default=12
            The largest number of columns or pairs; a note in the figure has the number that is left
            out.
        rule : {"iqr", "mad"}, default="iqr"
            The rule of outliers, as in `outliers`.

        Returns
        -------
        list of matplotlib axes
        """
        check_rule(rule)
        return plot_description(self, kind, columns, max_columns, rule)

    def hints_text(self) -> str:
        """Return the hints as text, one per line."""
        if not self.hints:
            return "No hints."
        return "\n".join(hint.text for hint in self.hints)

    def __str__(self) -> str:
        lines = [f"{self.n_rows:,} rows, {len(self.columns)} columns"]
        lines += [f"  {profile}" for profile in self.columns[:MOST_PRINTED]]
        left = len(self.columns) - MOST_PRINTED
        lines += [f"  … and {left} more columns: table()"] if left > 0 else []
        hints = [hint.text for hint in self.hints[:MOST_PRINTED]] or ["No hints."]
        left = len(self.hints) - MOST_PRINTED
        hints += [f"… and {left} more hints: hints_text()"] if left > 0 else []
        return "\n".join([*lines, *hints])


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
    whole = values if known is None or name is None else {**values, name: known}
    hints = find_hints(profiles, others, name, known, associations)
    return Description(
        read.n_rows,
        tuple(profiles.values()),
        name,
        associations,
        _pairs(others),
        tuple(hints),
        whole,
    )


def check_rule(rule: str) -> None:
    """Raise InvalidParameterError if a rule of outliers has an unknown name."""
    if rule not in RULES:
        raise InvalidParameterError(
            f"rule must be one of {', '.join(map(repr, RULES))}; got {short_repr(rule)}."
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
