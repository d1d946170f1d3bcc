"""What to look at in a table before anything is learned from it.

The one idea: a hint is a column, a word for what it looks like, and a sentence that says why and
what to do; each rule is one function. Hints are guesses: nothing is refused or changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.categories import number_from_text
from stagewise.inspection.tables.association import mutual_information
from stagewise.inspection.tables.profile import Profile

__all__ = ["Hint", "find_hints"]

MANY_MISSING = 0.5
MANY_LEVELS = 50
FEW_ROWS = 20
"""Tables with fewer rows have columns of distinct values by chance."""
RARE = 5
LEAK = 0.999
"""A correlation with the target from here on is too good to be true."""
LEAK_SHARE = 0.98
"""The same for the share of what there is to know about a class."""
ROWS_PER_LEVEL = 5
"""Below this many rows a level can tell its target by heart."""


@dataclass(frozen=True)
class Hint:
    """Something to look at.

    Attributes
    ----------
    column : str
        Where.
    kind : str
        What it looks like.
    words : str
        Why, and what to do.
    """

    column: str
    kind: str
    words: str


def find_hints(
    profiles: Mapping[str, Profile],
    columns: Mapping[str, npt.NDArray[Any]],
    target: str | None,
    known: npt.NDArray[Any] | None,
    told: Sequence[Mapping[str, Any]],
) -> list[Hint]:
    """Return hints, in the order of the columns.

    Parameters
    ----------
    profiles : mapping of str to Profile
        What is in each column, the target included.
    columns : mapping of str to array
        The cells of all columns but the target: floats, or codes of levels.
    target, known : str and array, or None
        The target and its cells.
    told : sequence of mappings
        How much each column says about the target.
    """
    hints: list[Hint] = []
    for name in columns:
        hints += _alone(profiles[name])
    hints += _twins(columns)
    if target is not None and known is not None:
        hints += _of_target(profiles[target])
        hints += _leaks(profiles, columns, known, told)
    return hints


def _alone(profile: Profile) -> Iterator[Hint]:
    """Yield what one column looks like by itself."""
    name, n = profile.name, profile.n_rows
    held = n - profile.missing
    if profile.distinct <= 1:
        what = "is empty" if profile.distinct == 0 else "has one value"
        yield Hint(name, "constant", f"{name!r} {what}: it can say nothing; leave it out.")
        return
    if profile.missing > MANY_MISSING * n:
        yield Hint(
            name,
            "many missing",
            f"{name!r} is missing in {profile.missing / n:.0%} of the rows: trees can use that it "
            "is missing; make sure that it will be so for new rows too.",
        )
    if (
        held >= FEW_ROWS
        and profile.distinct == held
        and profile.kind in ("whole number", "category")
    ):
        yield Hint(
            name,
            "id-like",
            f"{name!r} is different in every row, as an identifier is: leave it out, or use it "
            "for groups.",
        )
    elif profile.kind == "category" and profile.distinct > MANY_LEVELS:
        yield Hint(
            name,
            "high cardinality",
            f"{name!r} has {profile.distinct:,} levels, of {held / profile.distinct:.1f} rows "
            "each: gradient boosting can target-encode them (category_encoding='target').",
        )
    if profile.kind == "date":
        yield Hint(
            name,
            "timestamps",
            f"{name!r} is a point in time: hold out the latest rows, not random ones, if the model "
            "is for the future.",
        )
    if profile.kind == "category" and all(
        isinstance(level, str) and number_from_text(level) is not None
        for level, _ in profile.levels
    ):
        yield Hint(
            name,
            "numbers as text",
            f"{name!r} is text that spells numbers: cast it if their order means something.",
        )
    yield from _sentinels(profile)


def _sentinels(profile: Profile) -> Iterator[Hint]:
    """Yield extreme values that come again and again, far from all others."""
    if not profile.is_number or profile.moment is not None:
        return
    q1, _, q3 = profile.quartiles
    for value, rows in profile.levels:
        far = value < q1 - 5 * (q3 - q1) or value > q3 + 5 * (q3 - q1)
        usual = str(abs(value)).removesuffix(".0")
        looks = len(usual) > 1 and (set(usual) == {"9"} or usual in ("1e+20", "1e+30"))
        if far and looks and rows > 1 and q3 > q1:
            yield Hint(
                profile.name,
                "sentinel",
                f"{profile.name!r} is {value:g} in {rows:,} rows, far from all others: if that "
                f"stands for missing, pass missing_values=[{value:g}].",
            )


def _twins(columns: Mapping[str, npt.NDArray[Any]]) -> Iterator[Hint]:
    """Yield columns that hold the same as an earlier one."""
    seen: dict[tuple[str, bytes], str] = {}
    for name, cells in columns.items():
        plain = np.unique(cells, return_inverse=True)[1] if cells.dtype.kind != "f" else cells
        if cells.dtype.kind != "f":
            # Codes are in no order: number levels by where they come first.
            first = np.full(plain.max(initial=0) + 1, len(plain))
            np.minimum.at(first, plain, np.arange(len(plain)))
            plain = first[plain]
        key = (cells.dtype.kind, np.ascontiguousarray(plain).tobytes())
        if key in seen:
            yield Hint(
                name,
                "duplicate",
                f"{name!r} says the same as {seen[key]!r} in every row: one of them will do.",
            )
        seen.setdefault(key, name)


def _of_target(profile: Profile) -> Iterator[Hint]:
    """Yield what is wrong with the target itself."""
    name = profile.name
    if profile.missing:
        yield Hint(
            name,
            "missing target",
            f"The target {name!r} is missing in {profile.missing:,} rows: leave these out.",
        )
    if profile.distinct <= 1:
        yield Hint(name, "constant", f"The target {name!r} has one value: nothing can be learned.")
    rare = [level for level, rows in profile.levels if rows < RARE]
    if profile.kind == "category" and rare:
        names = ", ".join(map(repr, rare[:5]))
        yield Hint(
            name,
            "rare classes",
            f"The classes {names} of {name!r} have fewer than {RARE} rows each: collect more, or "
            "put them together.",
        )


def _leaks(
    profiles: Mapping[str, Profile],
    columns: Mapping[str, npt.NDArray[Any]],
    known: npt.NDArray[Any],
    told: Sequence[Mapping[str, Any]],
) -> Iterator[Hint]:
    """Yield columns that say more about the target than anything measured before it could."""
    entropy = mutual_information(known, known)
    for row in told:
        name = row["column"]
        profile = profiles[name]
        if profile.distinct <= 1 or profile.n_rows < FEW_ROWS:
            continue
        close = max(np.nan_to_num([abs(row["pearson"]), abs(row["spearman"])]))
        rows_each = (profile.n_rows - profile.missing) / profile.distinct
        learned = profile.is_number or rows_each >= ROWS_PER_LEVEL
        is_class = known.dtype.kind != "f"
        share = row["mutual_information"] / entropy if entropy > 0 else 0.0
        eta = np.nan_to_num(row["eta"]) if not is_class and learned else 0.0
        if close >= LEAK or eta >= LEAK or (is_class and learned and share >= LEAK_SHARE):
            yield Hint(
                name,
                "leak",
                f"{name!r} all but gives the target away: is it known before the target is? If "
                "not, leave it out.",
            )
