"""The cells of a categorical column as its distinct values and a code for each row.

The one idea: whatever the cells are, only the distinct values are ever looked at one by one; rows
are counted and sorted by numpy, or looked up in a dictionary. What is no text is the number that
it would be in a column of numbers. This file must not know which values a model has seen.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.categories import Categories, Category, normalize_category
from stagewise.data.reading.cell import cell_number, family, is_missing
from stagewise.data.reading.column import Array, Mask, read_column, refuse_mixed
from stagewise.data.reading.missing_values import MissingValues
from stagewise.validation.messages import short_repr

__all__ = ["Factor", "factorise"]

Codes = npt.NDArray[np.int32]

AS_TEXT = "Turn the column into text or numbers first, for instance with astype(str)"


class Factor(NamedTuple):
    """A categorical column.

    Parameters
    ----------
    values : list of int, float and str
        The distinct values, in no order that means anything.
    codes : int32 array of shape (n_rows,)
        The place of each row's value among them; -1 where the cell is missing.
    """

    values: list[Category]
    codes: Codes

    def count_rows(self, rows: npt.NDArray[np.uint32] | None = None) -> npt.NDArray[np.intp]:
        """Count the rows that hold each value, among some rows or all."""
        codes = self.codes if rows is None else self.codes[rows]
        return np.bincount(codes + 1, minlength=len(self.values) + 1)[1:]

    def categories(self, rows: npt.NDArray[np.uint32] | None, weight: Array | None) -> Categories:
        """Give the levels that some rows hold; a row of weight zero is absent.

        Parameters
        ----------
        rows : uint32 array, or None
            The rows to learn from; None: all.
        weight : float64 array, or None
            How often each of these rows counts.
        """
        codes = self.codes if rows is None else self.codes[rows]
        if weight is not None:
            codes = codes[weight > 0]
        held = np.flatnonzero(Factor(self.values, codes).count_rows())
        return Categories.from_distinct([self.values[code] for code in held.tolist()])

    def mask_values(self, missing_values: MissingValues) -> tuple[Factor, int]:
        """Take cells that hold one of these numbers as missing; also say how many there were."""
        known = set(missing_values.values)
        gone = np.array([not isinstance(v, str) and v in known for v in self.values], dtype=bool)
        if not gone.any():
            return self, 0
        kept = [value for value, its in zip(self.values, gone, strict=True) if not its]
        # The code -1 picks the last entry, and so stays itself.
        after = np.append(np.where(gone, -1, np.cumsum(~gone) - 1), -1).astype(np.int32)
        codes = after[self.codes]
        return Factor(kept, codes), int((codes < 0).sum() - (self.codes < 0).sum())


def factorise(cells: Array, missing: Mask | None, label: str, *, comparable: bool = True) -> Factor:
    """Tell the values of a column apart.

    Parameters
    ----------
    cells : array of shape (n_rows,)
        Of any type that `read_column` reads, or text, or objects of both kinds.
    missing : bool array of shape (n_rows,), or None
        Cells to treat as missing, besides those that say so themselves (NaN, NaT, None, NA).
    label : str
        What to call the column in messages.
    comparable : bool
        Whether numbers beside moments, and moments of different kinds, are refused. New rows are
        looked up one by one: what one of them holds must not matter to the others.

    Returns
    -------
    Factor
    """
    if cells.dtype.kind in "biufmM":
        return _from_numbers(cells, missing, label)
    objects: Array = cells.astype(object)
    if missing is not None:
        objects[missing] = None
    return _from_objects(objects.tolist(), label, comparable)


def _from_numbers(cells: Array, missing: Mask | None, label: str) -> Factor:
    column = read_column(cells, missing, label, AS_TEXT)
    values, gone = column.values, column.missing
    if values.dtype.kind == "f":
        gone = np.isnan(values)
    codes = np.full(len(values), -1, dtype=np.int32)
    present = np.ones(len(values), dtype=bool) if gone is None else ~gone
    distinct, place = np.unique(values[present], return_inverse=True)
    codes[present] = place
    if distinct.dtype.kind != "f":
        return Factor(distinct.tolist(), codes)
    exact = map(_written, distinct) if distinct.dtype == np.float32 else distinct.tolist()
    return Factor([normalize_category(value) for value in exact], codes)


def _written(value: np.float32) -> float:
    """Give a float32 as the number it is written as: 0.1, of which it is a rounded copy."""
    exact = float(value)
    return exact if exact.is_integer() else float(str(value))


def _from_objects(items: list[Any], label: str, comparable: bool) -> Factor:
    types = _check_types(items, label, comparable)
    if np.float32 in types:
        # Before equal values become one: which of them is the first must not matter.
        items = [_written(item) if type(item) is np.float32 else item for item in items]
    codes: dict[Category, int] = {}
    place: dict[Any, int] = {}
    for item in dict.fromkeys(items):
        if type(item) is str:  # almost all of them; two texts are never one level
            place[item] = codes[item] = len(codes)
        elif is_missing(item):
            place[item] = -1
        else:
            place[item] = codes.setdefault(_category(item, items, label), len(codes))
    found = np.fromiter(map(place.__getitem__, items), dtype=np.int32, count=len(items))
    return Factor(list(codes), found)


def _category(item: Any, items: list[Any], label: str) -> Category:
    if isinstance(item, str):
        return str(item)
    try:
        number = cell_number(item)
    except OverflowError:
        number = 2**64
    if isinstance(number, int) and not -(2**63) <= number < 2**64:
        raise ValueError(
            f"{label} holds the level {short_repr(item)} at row {items.index(item)}, which 64 bits "
            f"do not hold. {AS_TEXT}."
        )
    return normalize_category(number)


def _check_types(items: list[Any], label: str, comparable: bool) -> Collection[type]:
    """Give the types of the cells; raise if one is neither text nor a number, or kinds mix."""
    families = {kind: family(kind) for kind in set(map(type, items))}
    if "other" in families.values():
        row = next(row for row, item in enumerate(items) if families[type(item)] == "other")
        raise TypeError(
            f"{label} holds a {type(items[row]).__name__}, {short_repr(items[row])} at row {row}, "
            f"and a level must be text or a number. {AS_TEXT}."
        )
    if comparable:
        refuse_mixed(items, families, label)
    return families.keys()
