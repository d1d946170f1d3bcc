"""The error for columns of text: all of them, and the calls that convert them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Protocol

from stagewise.data.categories.categorical_features import ColumnSource
from stagewise.data.reading.column import Array, Mask, is_number
from stagewise.data.reading.frame import Frame
from stagewise.data.reading.text_dates import (
    MISSING_TEXTS,
    are_iso_dates,
    day_order,
    look_like_dates,
)
from stagewise.validation.messages import column_label, short_repr

__all__ = ["refuse_text_columns", "to_datetime_call"]

CELLS_READ = 1000
"""The cells of a column from which it is known whether it has dates."""


class TextSource(ColumnSource, Protocol):
    """A table whose cells can be read."""

    def cells(self, position: int) -> tuple[Array, Mask | None]:
        """Return the cells of one column, and a mask of missing values."""


def refuse_text_columns(
    source: TextSource, categorical: frozenset[int], *, uses_types: bool
) -> None:
    """Raise ValueError for the columns of text that are not categorical.

    Parameters
    ----------
    source : Frame, Records or array
        The data. Columns of a text type without a value are not refused.
    categorical : frozenset of int
        The positions of the categorical columns.
    uses_types : bool
        Whether columns of a category type are categorical.
    """
    first = {
        j: _first_text(source, j)
        for j in range(source.shape[1])
        if j not in categorical and not source.has_category_type(j) and source.is_text(j)
    }
    found = {j: cell for j, cell in first.items() if cell is not None}
    if not found:
        return
    places = list(found)
    texts = {j: _texts(source, j) for j in places}
    iso = [j for j in places if are_iso_dates(texts[j])]
    dates = [j for j in places if j not in iso and look_like_dates(texts[j])]
    numbers = [j for j in places if texts[j] and all(map(is_number, texts[j]))]
    others = [j for j in places if j not in (*iso, *dates, *numbers)]
    parts = {"dates": [*iso, *dates], "numbers": numbers, "other text": others}
    calls = [
        *([_dates_call(source, iso)] if iso else []),
        *(to_datetime_call(source, j, texts[j]) for j in dates),
        *([_numbers_call(source, numbers)] if numbers else []),
        *([_categories_call(source, categorical, others, uses_types=uses_types)] if others else []),
    ]
    if len(places) == 1:
        (row, cell), label = found[places[0]], column_label(source.names, places[0])
        what = f"{label} holds the text {short_repr(cell)} at row {row}"
    else:
        listed = {kind: _listed(source, own, texts) for kind, own in parts.items() if own}
        kinds = [f"{kind} in {columns}" for kind, columns in listed.items()]
        only_others = len(others) == len(places)
        shown = listed["other text"] if only_others else "; ".join(kinds)
        what = f"X has {len(places)} columns of text ({shown})"
    raise ValueError(
        f"{what}; text is not converted to numbers. "
        f"Convert {'it' if len(places) == 1 else 'them'} first: {'; '.join(calls)}."
    )


def _labels(source: ColumnSource, places: Sequence[int]) -> list[Any]:
    """Return the labels of columns in X: those of the frame, names, or positions."""
    every = source.labels if isinstance(source, Frame) else source.names
    return [j if every is None else every[j] for j in places]


def _is_pandas(source: ColumnSource) -> bool:
    return isinstance(source, Frame) and source.frame.implementation.is_pandas()


def _cells(source: TextSource, place: int) -> list[Any]:
    if isinstance(source, Frame):
        return source.frame.get_column(source.labels[place]).to_list()
    return list(source.cells(place)[0].tolist())


def _texts(source: TextSource, place: int) -> list[str]:
    """Return the first cells that are text and not missing."""
    cells = _cells(source, place)
    texts = (cell for cell in cells if isinstance(cell, str) and cell not in MISSING_TEXTS)
    return list(islice(texts, CELLS_READ))


def _first_text(source: TextSource, place: int) -> tuple[int, str] | None:
    cells = enumerate(_cells(source, place))
    return next(((row, cell) for row, cell in cells if isinstance(cell, str)), None)


def _dates_call(source: ColumnSource, places: list[int]) -> str:
    """Return how columns of dates in ISO 8601 become datetimes."""
    labels = _labels(source, places)
    if isinstance(source, Frame):
        return f"X = stagewise.parse_dates(X, {[str(label) for label in labels]!r})"
    if source.names is not None:
        return f"X = stagewise.parse_dates(pandas.DataFrame(X), {labels!r})"
    return f"the columns {labels!r} to datetimes, by stagewise.parse_dates of a data frame"


def to_datetime_call(source: ColumnSource, place: int, texts: list[str]) -> str:
    """Return the call that converts a column of dates in another format than ISO 8601."""
    label = _labels(source, [place])[0]
    if not _is_pandas(source):
        return f"{_column(source, label)} to datetimes by its own format"
    column = f"X[{label!r}]"
    order = {
        "day first": "dayfirst=True",
        "month first": "dayfirst=False",
        "ambiguous": "dayfirst=...",
        None: "format=...",
    }[day_order(texts)]
    choice = " (True or False)" if order.endswith("=...") and "day" in order else ""
    return f"{column} = pandas.to_datetime({column}, {order}){choice}"


def _column(source: ColumnSource, label: Any) -> str:
    return f"column {label}" if source.names is None else repr(label)


def _numbers_call(source: ColumnSource, places: list[int]) -> str:
    """Return how columns of numbers as text become numbers, unless they are codes."""
    labels = _labels(source, places)
    if _is_pandas(source):
        types = ", ".join(f"{label!r}: float" for label in labels)
        return f"X = X.astype({{{types}}}) (codes: 'category')"
    if isinstance(source, Frame):
        return f"{labels!r} to numbers, or to categories if they are codes"
    codes = f"codes: set categorical_features={labels!r}"
    if source.names is None and len(places) == source.shape[1]:
        return f"X = numpy.asarray(X).astype(float) ({codes})"
    return f"the columns {labels!r} by astype(float) ({codes})"


def _categories_call(
    source: ColumnSource, categorical: frozenset[int], places: list[int], *, uses_types: bool
) -> str:
    """Return how columns become categorical features besides those that are."""
    listed = [j for j in sorted(categorical) if not source.has_category_type(j)]
    labels = _labels(source, places)
    if _is_pandas(source) and uses_types and not listed:
        return f"X = X.astype({dict.fromkeys(labels, 'category')!r})"
    return f"set categorical_features={[*_labels(source, listed), *labels]!r}"


def _listed(source: ColumnSource, places: list[int], texts: dict[int, list[str]]) -> str:
    return ", ".join(
        f"{label!r}{f' ({short_repr(texts[j][0])})' if texts[j] else ''}"
        for label, j in zip(_labels(source, places), places, strict=True)
    )
