"""A categorical column as its distinct values and a code for each row.

Python code runs only once per distinct value; rows are sorted by numpy or looked up in a
dictionary. A cell that is not text becomes the number that it would be in a numeric column. This
module must not import models.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
        The distinct values, in arbitrary order.
    codes : int32 array of shape (n_rows,)
        The position of each row's value in `values`; -1 where the cell is missing.
    """

    values: list[Category]
    codes: Codes

    @classmethod
    def from_codes(cls, values: Sequence[Category], codes: Array) -> Factor:
        """Return a column from distinct values and codes; values without a row are left out."""
        held = np.flatnonzero(np.bincount(codes + np.intp(1), minlength=len(values) + 1)[1:])
        place = np.full(len(values) + 1, -1, dtype=np.int32)  # the code -1 selects the last entry
        place[held] = np.arange(len(held))
        return cls([values[code] for code in held.tolist()], place[codes])

    def count_rows(self, rows: npt.NDArray[np.uint32] | None = None) -> npt.NDArray[np.intp]:
        """Return the number of rows that hold each value, among `rows` or, with None, all."""
        codes = self.codes if rows is None else self.codes[rows]
        return np.bincount(codes + 1, minlength=len(self.values) + 1)[1:]

    def categories(self, rows: npt.NDArray[np.uint32] | None, weight: Array | None) -> Categories:
        """Return the categories that some rows hold; rows of weight 0 are ignored.

        Parameters
        ----------
        rows : uint32 array, or None
            The rows to learn from; None: all.
        weight : float64 array, or None
            The weight of each of these rows.
        """
        codes = self.codes if rows is None else self.codes[rows]
        if weight is not None:
            codes = codes[weight > 0]
        held = np.flatnonzero(Factor(self.values, codes).count_rows())
        return Categories.from_distinct([self.values[code] for code in held.tolist()])

    def mask_values(self, missing_values: MissingValues) -> tuple[Factor, int]:
        """Return the column with these numbers taken as missing, and the number of such cells."""
        sentinels = set(missing_values.values)
        masked = np.array(
            [not isinstance(v, str) and v in sentinels for v in self.values], dtype=bool
        )
        if not masked.any():
            return self, 0
        kept = [
            value for value, is_masked in zip(self.values, masked, strict=True) if not is_masked
        ]
        # The code -1 selects the last entry, so it stays -1.
        new_codes = np.append(np.where(masked, -1, np.cumsum(~masked) - 1), -1).astype(np.int32)
        codes = new_codes[self.codes]
        return Factor(kept, codes), int((codes < 0).sum() - (self.codes < 0).sum())


def factorise(cells: Array, missing: Mask | None, label: str, *, comparable: bool = True) -> Factor:
    """Return the distinct values of a column and the code of each row.

    Parameters
    ----------
    cells : array of shape (n_rows,)
        Of any type that `read_column` reads, or text, or objects of both kinds.
    missing : bool array of shape (n_rows,), or None
        Cells to treat as missing, besides NaN, NaT, None and NA.
    label : str
        The name of the column in messages.
    comparable : bool
        Whether to raise if numbers and datetimes, or different temporal types, are mixed. False
        for new rows: the cell of one row must not affect the other rows.

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
    """Return the shortest decimal number that rounds to a float32, such as 0.1."""
    exact = float(value)
    return exact if exact.is_integer() else float(str(value))


def _from_objects(items: list[Any], label: str, comparable: bool) -> Factor:
    types = _check_types(items, label, comparable)
    if np.float32 in types:
        # Before equal values are merged, so that the result does not depend on their order.
        items = [_written(item) if type(item) is np.float32 else item for item in items]
    codes: dict[Category, int] = {}
    place: dict[Any, int] = {}
    for item in dict.fromkeys(items):
        if type(item) is str:  # the common case; different texts are different categories
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
            f"{label} holds the category {short_repr(item)} at row {items.index(item)}, which does "
            f"not fit in 64 bits. {AS_TEXT}."
        )
    return normalize_category(number)


def _check_types(items: list[Any], label: str, comparable: bool) -> Collection[type]:
    """Return the types of the cells; raise if one is neither text nor a number, or kinds mix."""
    families = {kind: family(kind) for kind in set(map(type, items))}
    if "other" in families.values():
        row = next(row for row, item in enumerate(items) if families[type(item)] == "other")
        raise TypeError(
            f"{label} holds a {type(items[row]).__name__}, {short_repr(items[row])} at row {row}, "
            f"but a category must be text or a number. {AS_TEXT}."
        )
    if comparable:
        refuse_mixed(items, families, label)
    return families.keys()
