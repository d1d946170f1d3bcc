"""Hints about possible problems of a table before training.

A hint has a column, a kind and a sentence with the reason and a remedy. Each rule is one function.
Hints are heuristics: nothing is rejected or changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.categories import number_from_text
from stagewise.data.categories.identifiers import FEW_ROWS, looks_like_identifier
from stagewise.data.reading.text_dates import look_like_dates
from stagewise.inspection.tables.association import mutual_information
from stagewise.inspection.tables.profile import Profile

__all__ = ["Hint", "find_hints"]

MANY_MISSING = 0.5
MANY_CATEGORIES = 50
RARE = 5
LEAK = 0.999
"""From this correlation with the target on, a column is a suspected leak."""
LEAK_SHARE = 0.98
"""The same for the mutual information as a share of the entropy of the classes."""
ROWS_PER_CATEGORY = 5
"""With fewer rows per category, a strong association occurs by chance."""


@dataclass(frozen=True)
class Hint:
    """A possible problem of a column.

    Attributes
    ----------
    column : str
        The column.
    kind : str
        The kind of problem.
    text : str
        The reason and a remedy.
    """

    column: str
    kind: str
    text: str


def find_hints(
    profiles: Mapping[str, Profile],
    columns: Mapping[str, npt.NDArray[Any]],
    target: str | None,
    known: npt.NDArray[Any] | None,
    associations: Sequence[Mapping[str, Any]],
) -> list[Hint]:
    """Return hints, in the order of the columns.

    Parameters
    ----------
    profiles : mapping of str to Profile
        The profile of each column, including the target.
    columns : mapping of str to array
        The values of all columns except the target: floats, or category codes.
    target, known : str and array, or None
        The name of the target and its values.
    associations : sequence of mappings
        The association of each column with the target.
    """
    hints: list[Hint] = []
    for name in columns:
        hints += _of_column(profiles[name])
    hints += _duplicates(columns)
    if target is not None and known is not None:
        hints += _of_target(profiles[target])
        hints += _leaks(profiles, columns, known, associations)
    return hints


def _of_column(profile: Profile) -> Iterator[Hint]:
    """Yield hints about one column by itself."""
    name, n = profile.name, profile.n_rows
    held = n - profile.missing
    if profile.distinct <= 1:
        what = "is empty" if profile.distinct == 0 else "has one value"
        yield Hint(name, "constant", f"{name!r} {what}: it carries no information; leave it out.")
        return
    if profile.missing > MANY_MISSING * n:
        yield Hint(
            name,
            "many missing",
            f"{name!r} is missing in {profile.missing / n:.0%} of the rows: trees can split on "
            "missing values; make sure that new rows have the same missing values.",
        )
    is_category = profile.kind == "category"
    if (is_category or profile.kind == "whole number") and looks_like_identifier(
        profile.distinct, n if is_category else held, is_category=is_category
    ):
        most = "every row" if profile.distinct == held else "most rows"
        yield Hint(
            name,
            "id-like",
            f"{name!r} has a different value in {most}, like an identifier: leave it out, or use "
            "it as groups.",
        )
    elif is_category and profile.distinct > MANY_CATEGORIES:
        yield Hint(
            name,
            "high cardinality",
            f"{name!r} has {profile.distinct:,} categories with {held / profile.distinct:.1f} rows "
            "each: use target encoding (category_encoding='target' of gradient boosting).",
        )
    if profile.kind == "date":
        yield Hint(
            name,
            "timestamps",
            f"{name!r} is a date: if the model will predict the future, hold out the latest rows "
            "instead of random rows.",
        )
    if is_category and look_like_dates(value for value, _ in profile.frequent):
        yield Hint(
            name,
            "dates as text",
            f"{name!r} is text with dates: convert it to datetimes (pandas.to_datetime, or "
            "stagewise.parse_dates).",
        )
    if is_category and all(
        isinstance(value, str) and number_from_text(value) is not None
        for value, _ in profile.frequent
    ):
        yield Hint(
            name,
            "numbers as text",
            f"{name!r} is text with numbers: convert it to numbers if their order matters.",
        )
    yield from _sentinels(profile)


def _sentinels(profile: Profile) -> Iterator[Hint]:
    """Yield repeated extreme values that may stand for missing values."""
    if not profile.is_number or profile.temporal_type is not None:
        return
    q1, _, q3 = profile.quartiles
    for value, rows in profile.frequent:
        far = value < q1 - 5 * (q3 - q1) or value > q3 + 5 * (q3 - q1)
        usual = str(abs(value)).removesuffix(".0")
        looks = len(usual) > 1 and (set(usual) == {"9"} or usual in ("1e+20", "1e+30"))
        if far and looks and rows > 1 and q3 > q1:
            yield Hint(
                profile.name,
                "sentinel",
                f"{profile.name!r} is {value:g} in {rows:,} rows, far from all other values: if "
                f"this stands for a missing value, pass missing_values=[{value:g}].",
            )


def _duplicates(columns: Mapping[str, npt.NDArray[Any]]) -> Iterator[Hint]:
    """Yield columns that are identical to an earlier column."""
    seen: dict[tuple[str, bytes], str] = {}
    for name, cells in columns.items():
        plain = np.unique(cells, return_inverse=True)[1] if cells.dtype.kind != "f" else cells
        if cells.dtype.kind != "f":
            # Codes are arbitrary: number the categories by their first row.
            first = np.full(plain.max(initial=0) + 1, len(plain))
            np.minimum.at(first, plain, np.arange(len(plain)))
            plain = first[plain]
        key = (cells.dtype.kind, np.ascontiguousarray(plain).tobytes())
        if key in seen:
            yield Hint(
                name,
                "duplicate",
                f"{name!r} is identical to {seen[key]!r}: leave one of them out.",
            )
        seen.setdefault(key, name)


def _of_target(profile: Profile) -> Iterator[Hint]:
    """Yield hints about the target."""
    name = profile.name
    if profile.missing:
        yield Hint(
            name,
            "missing target",
            f"The target {name!r} is missing in {profile.missing:,} rows: leave these out.",
        )
    if profile.distinct <= 1:
        yield Hint(
            name, "constant", f"The target {name!r} has one value: there is nothing to learn."
        )
    rare = [value for value, rows in profile.frequent if rows < RARE]
    if profile.kind == "category" and rare:
        names = ", ".join(map(repr, rare[:5]))
        yield Hint(
            name,
            "rare classes",
            f"The classes {names} of {name!r} have fewer than {RARE} rows each: collect more rows, "
            "or merge classes.",
        )


def _leaks(
    profiles: Mapping[str, Profile],
    columns: Mapping[str, npt.NDArray[Any]],
    known: npt.NDArray[Any],
    associations: Sequence[Mapping[str, Any]],
) -> Iterator[Hint]:
    """Yield columns that predict the target almost perfectly."""
    entropy = mutual_information(known, known)
    for row in associations:
        name = row["column"]
        profile = profiles[name]
        if profile.distinct <= 1 or profile.n_rows < FEW_ROWS:
            continue
        close = max(np.nan_to_num([abs(row["pearson"]), abs(row["spearman"])]))
        rows_each = (profile.n_rows - profile.missing) / profile.distinct
        learned = profile.is_number or rows_each >= ROWS_PER_CATEGORY
        is_class = known.dtype.kind != "f"
        share = row["mutual_information"] / entropy if entropy > 0 else 0.0
        eta = np.nan_to_num(row["eta"]) if not is_class and learned else 0.0
        if close >= LEAK or eta >= LEAK or (is_class and learned and share >= LEAK_SHARE):
            yield Hint(
                name,
                "leak",
                f"{name!r} determines the target almost completely: leave it out unless it is "
                "known before the target.",
            )
