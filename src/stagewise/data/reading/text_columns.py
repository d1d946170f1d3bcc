"""The error for several columns of text: all of them, and the calls that convert them."""

from __future__ import annotations

from itertools import islice
from typing import Any

from stagewise.data.reading.column import is_number
from stagewise.data.reading.frame import Frame
from stagewise.data.reading.text_dates import (
    MISSING_TEXTS,
    are_iso_dates,
    day_order,
    look_like_dates,
)
from stagewise.validation.messages import short_repr

__all__ = ["refuse_text_columns", "to_datetime_call"]

CELLS_READ = 1000
"""The cells of a column from which it is known whether it has dates."""


def refuse_text_columns(frame: Frame, categorical: frozenset[int]) -> None:
    """Raise ValueError if a frame has several columns of text that are not categorical.

    Parameters
    ----------
    frame : Frame
        The data.
    categorical : frozenset of int
        The positions of the categorical columns.
    """
    places = [
        j
        for j in range(frame.shape[1])
        if j not in categorical and not frame.has_category_type(j) and frame.is_text(j)
    ]
    if len(places) < 2:
        return
    cells = {frame.labels[j]: _first_texts(frame, j) for j in places}
    iso = [label for label, texts in cells.items() if are_iso_dates(texts)]
    dates = [label for label, texts in cells.items() if label not in iso and look_like_dates(texts)]
    numbers = [label for label, texts in cells.items() if texts and all(map(is_number, texts))]
    others = [label for label in cells if label not in (*iso, *dates, *numbers)]
    calls = [
        *([f"X = stagewise.parse_dates(X, {iso!r})"] if iso else []),
        *(to_datetime_call(frame, label, cells[label]) for label in dates),
        *([_numbers_call(frame, numbers)] if numbers else []),
        *([_categories_call(frame, categorical, others)] if others else []),
    ]
    parts = {"dates": [*iso, *dates], "numbers": numbers, "other text": others}
    listed = "; ".join(f"{what} in {_listed(own, cells)}" for what, own in parts.items() if own)
    raise ValueError(
        f"X has {len(places)} columns of text ({listed}); text is not converted to numbers. "
        f"Convert them first: {'; '.join(calls)}."
    )


def to_datetime_call(frame: Frame, label: Any, texts: list[str]) -> str:
    """Return the call that converts a column of dates in another format than ISO 8601."""
    if not frame.frame.implementation.is_pandas():
        return f"{label!r} to datetimes by its own format"
    column = f"X[{label!r}]"
    order = {
        "day first": "dayfirst=True",
        "month first": "dayfirst=False",
        "ambiguous": "dayfirst=...",
        None: "format=...",
    }[day_order(texts)]
    choice = " (True or False)" if order.endswith("=...") and "day" in order else ""
    return f"{column} = pandas.to_datetime({column}, {order}){choice}"


def _first_texts(frame: Frame, position: int) -> list[str]:
    """Return the first cells that are text and not missing."""
    every = frame.frame.get_column(frame.labels[position]).to_list()
    texts = (cell for cell in every if isinstance(cell, str) and cell not in MISSING_TEXTS)
    return list(islice(texts, CELLS_READ))


def _numbers_call(frame: Frame, labels: list[Any]) -> str:
    """Return how columns of numbers as text become numbers, unless they are codes."""
    if not frame.frame.implementation.is_pandas():
        return f"{labels!r} to numbers, or to categories if they are codes"
    types = ", ".join(f"{label!r}: float" for label in labels)
    return f"X = X.astype({{{types}}}) (codes: 'category')"


def _categories_call(frame: Frame, categorical: frozenset[int], labels: list[Any]) -> str:
    """Return how columns become categorical features besides those that are."""
    listed = [frame.labels[j] for j in sorted(categorical) if not frame.has_category_type(j)]
    if frame.frame.implementation.is_pandas() and not listed:
        return f"X = X.astype({dict.fromkeys(labels, 'category')!r})"
    return f"set categorical_features={[*listed, *labels]!r}"


def _listed(labels: list[Any], cells: dict[Any, list[str]]) -> str:
    return ", ".join(
        f"{label!r}{f' ({short_repr(cells[label][0])})' if cells[label] else ''}"
        for label in labels
    )
