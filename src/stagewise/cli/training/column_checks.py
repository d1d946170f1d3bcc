"""Feature columns that are probably mistakes: text with dates, and identifiers of the rows.

Columns of dates in ISO 8601 are read as datetimes by Arrow, so a text column of dates has another
format (`stagewise.data.reading.text_dates`), or a cell that is no date. Remedies are options and
commands.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stagewise.cli.columns import text_columns, whole_numbers_without_repetition
from stagewise.cli.errors import InputError, listing, row_name
from stagewise.cli.models import n_categories_of
from stagewise.cli.screen import Screen, amount
from stagewise.cli.training.rows import TrainingRows
from stagewise.data.categories.identifiers import looks_like_identifier
from stagewise.data.date_columns import are_mostly_dates
from stagewise.data.reading.text_dates import (
    BASIC,
    are_day_numbers,
    are_iso_dates,
    day_order,
    look_like_dates,
    parse_iso_date,
)
from stagewise.datasets.parquet_source import ENDINGS as PARQUET
from stagewise.validation.messages import short_repr

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_dates", "warn_of_columns"]

PADDED = re.compile(r"\d\d([-/.])\d\d\1\d{4}", re.ASCII)
"""A day, a month and a year of two, two and four digits, in one of two orders."""


ISO_OF_BASIC = (
    "s#([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})"
    r"#\1-\2-\3 \4:\5:\6#g"
)
"""The change of text that writes the basic format as the extended one."""


def check_dates(table: pa.Table, path: Path, categorical: Collection[str]) -> None:
    """Raise for a text column in which all but a few cells are dates in ISO 8601.

    Parameters
    ----------
    table : pyarrow.Table
        The features.
    path : Path
        The file, for messages.
    categorical : collection of str
        The columns that are categorical by an option.
    """
    for name in text_columns(table):
        wrong = {} if name in categorical else _mistyped_dates(table.column(name))
        if not wrong:
            continue
        n_wrong = sum(wrong.values())
        values = table.column(name).to_pylist()
        row = next(place for place, cell in enumerate(values) if cell in wrong)
        others = f" and {n_wrong - 1} more" if n_wrong > 1 else ""
        raise InputError(
            f"{str(path)!r}: column {name!r} has dates, but {short_repr(values[row])} in "
            f"{row_name(row)}{others} {'are' if n_wrong > 1 else 'is'} none. Correct the "
            f"{'cells' if n_wrong > 1 else 'cell'} or leave {'them' if n_wrong > 1 else 'it'} "
            f"empty; or set --categorical {shlex.quote(name)} to use the texts as categories, or "
            f"--ignore {shlex.quote(name)}."
        )


def _mistyped_dates(column: pa.ChunkedArray) -> dict[str, int]:
    """Return the texts that are no dates, and their numbers of cells; empty: they are not few."""
    from pyarrow import compute

    counted = compute.value_counts(column.drop_null()).to_pylist()
    n_cells, n_wrong, wrong = sum(each["counts"] for each in counted), 0, {}
    for each in counted:
        value = each["values"]  # that of a dictionary may be a number
        if not isinstance(value, str) or parse_iso_date(value) is None:
            wrong[value] = each["counts"]
            n_wrong += each["counts"]
            if not are_mostly_dates(n_cells - n_wrong, n_wrong):
                return {}
    return wrong


def warn_of_columns(
    estimator: Any,
    rows: TrainingRows,
    names: list[str],
    args: argparse.Namespace,
    screen: Screen,
) -> None:
    """Warn about dates that were used as text, and columns that look like identifiers of rows."""
    n_rows, categories = rows.n_rows, n_categories_of(estimator)
    dates = [name for name in categories if name not in args.categorical]
    dates = [name for name in dates if _warns_of_dates(estimator, name, args.data, screen)]
    many = [
        name
        for name, n in categories.items()
        if name not in dates and looks_like_identifier(n, n_rows)
    ]
    if many:
        screen.warn(
            f"{listing(many)} {'have' if len(many) > 1 else 'has'} a different category in most of "
            f"the {amount(n_rows, 'row')}; if these are identifiers, leave them out with "
            f"--ignore {shlex.join(many)}."
        )
    others = rows.columns.select([name for name in names if name not in categories])
    for name in _day_numbers(others):
        screen.warn(
            f"{name!r} has days as numbers such as 20240301, whose differences are not those of "
            "the days. Write them as 2024-03-01 and train again."
        )
    unique = whole_numbers_without_repetition(others)
    if unique:
        screen.warn(
            f"{listing(unique)} {'have' if len(unique) > 1 else 'has'} a different whole number in "
            f"every row; if these are identifiers, leave them out with --ignore "
            f"{shlex.join(unique)}."
        )


def _day_numbers(table: pa.Table) -> list[str]:
    """Return the integer columns of numbers such as 20240301."""
    from pyarrow import compute, types

    return [
        field.name
        for field in table.schema
        if types.is_integer(field.type)
        and are_day_numbers(
            compute.drop_null(compute.unique(table.column(field.name))).to_numpy(False)
        )
    ]


def _warns_of_dates(estimator: Any, name: str, data: Sequence[str], screen: Screen) -> bool:
    """Warn, and return True, if the categories of a feature are dates in another format."""
    values = next(f.categories.values for f in estimator.model_.features if f.name == name)
    if not look_like_dates(values):
        return False
    texts = [str(value) for value in values]
    screen.warn(
        f"{name!r} has dates such as {short_repr(texts[0])}, and was used as text with "
        f"{len(texts):,} categories, which have no order: {_conversion(name, texts, data)}"
    )
    return True


def _conversion(name: str, texts: Sequence[str], data: Sequence[str]) -> str:
    """Return which dates are read, and a command that converts figures such as 31/12/2024."""
    if are_iso_dates(texts) and any(Path(file).suffix.lower() in PARQUET for file in data):
        return f"text of Parquet files is not read as dates. Store {name!r} with a date type."
    read = "only dates such as 2024-03-01 are read as dates."
    if len(data) == 1 and all(BASIC.fullmatch(text.strip()) for text in texts):
        command = _rewriting(data[0], ISO_OF_BASIC)
        return f"{read} This command writes a file to train on: {command}"
    order, signs = day_order(texts), {text.strip()[2:3] for text in texts}
    padded = all(PADDED.fullmatch(text.strip()) for text in texts)
    of_text = len(data) == 1 and data[0].lower().endswith(".csv")
    if order is None or not padded or len(signs) > 1 or not of_text:
        return f"{read} Write the dates of {name!r} in this format and train again."
    parts = r"\3-\1-\2" if order == "month first" else r"\3-\2-\1"
    sign = signs.pop().replace(".", r"\.")
    change = f"s#([0-9]{{2}}){sign}([0-9]{{2}}){sign}([0-9]{{4}})#{parts}#g"
    known = ", if the day comes first," if order == "ambiguous" else ""
    command = _rewriting(data[0], change)
    return f"{read} This command{known} writes a file to train on: {command}"


def _rewriting(file: str, change: str) -> str:
    """Return the command that changes text of a CSV file and writes another file."""
    path = Path(file)
    new = shlex.quote(str(path.with_name(f"iso_{path.name}")))
    return f"{shlex.join(['sed', '-E', change, str(path)])} > {new}"
