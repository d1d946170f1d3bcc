"""The roles of columns: target, weight, features, or ignored.

Text columns become categorical features. A column that is neither numbers nor text is an error that
names it; no column is dropped silently.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.cli.errors import InputError, listing, row_name
from stagewise.cli.files import pick
from stagewise.cli.screen import amount
from stagewise.data.categories.identifiers import looks_like_identifier

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Roles",
    "date_columns",
    "drop_unlabelled",
    "feature_table",
    "labels",
    "numbers",
    "ranking",
    "text_columns",
    "time_name",
    "unsupported_columns",
    "unsupported_columns_error",
    "whole_numbers_without_repetition",
]


@dataclass(frozen=True)
class Roles:
    """The roles of columns, as named by the user."""

    target: str
    weight: str | None = None
    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    offset: str | None = None
    exposure: str | None = None
    query: str | None = None
    event: str | None = None
    upper: str | None = None
    entry: str | None = None
    stratum: str | None = None

    @property
    def times(self) -> dict[str, str]:
        """The columns of times until an event, besides the target: the time, or lower."""
        given = {"event": self.event, "upper": self.upper}
        given |= {"entry": self.entry, "stratum": self.stratum}
        return {name: column for name, column in given.items() if column is not None}

    @property
    def offsets(self) -> dict[str, str]:
        """The columns that are offsets, as arguments of `fit`."""
        given = {"offset": self.offset, "exposure": self.exposure}
        return {name: column for name, column in given.items() if column is not None}

    def check(self, table: pa.Table, path: Path) -> None:
        """Raise if a column does not exist or has two roles."""
        option = f"--{time_name(self.times)}" if self.times else "--target"
        pick(table, self.target, option=option, path=path)
        for option, name in self.times.items():
            pick(table, name, option=f"--{option}", path=path)
            if name in (self.target, self.weight, *self.ignore, *self.categorical):
                raise InputError(f"--{option}: {name!r} has another role; name another column.")
        if self.weight is not None:
            pick(table, self.weight, option="--weight", path=path)
        if self.query is not None:
            pick(table, self.query, option="--qid", path=path)
            others = (self.target, self.weight, self.offset, *self.ignore, *self.categorical)
            if self.query in others:
                raise InputError(f"--qid: {self.query!r} has another role; name another column.")
        for name in self.ignore:
            pick(table, name, option="--ignore", path=path)
        for name in self.categorical:
            pick(table, name, option="--categorical", path=path)
            if name in (self.target, self.weight, *self.ignore):
                raise InputError(
                    f"--categorical: {name!r} is not a feature: it is the target, the weight or "
                    "ignored."
                )
        for option, name in self.offsets.items():
            pick(table, name, option=f"--{option}", path=path)
            if name in (self.target, self.weight, *self.ignore, *self.categorical):
                raise InputError(f"--{option}: {name!r} has another role; name another column.")
            if name in text_columns(table):
                raise InputError(f"--{option}: {name!r} has text, and must have numbers.")
        if len(set(self.offsets.values())) < len(self.offsets):
            raise InputError(f"{self.offset!r} cannot be both offset and exposure.")
        if self.weight == self.target:
            raise InputError(f"{self.target!r} cannot be both target and weight; name two columns.")
        if self.target in self.ignore:
            raise InputError(f"{self.target!r} is the target and cannot be ignored.")

    def features(self, table: pa.Table) -> pa.Table:
        """Return the table without target, weight, query, times and ignored columns."""
        left_out = {self.target, self.weight, self.query, *self.ignore, *self.times.values()}
        return table.select([name for name in table.column_names if name not in left_out])


def time_name(times: Mapping[str, str]) -> str:
    """Return what the target is, by the other columns of times: time or lower."""
    return "lower" if "upper" in times else "time"


def text_columns(table: pa.Table) -> list[str]:
    """Return the names of columns with text or a dictionary (category) type."""
    return [field.name for field in table.schema if _is_text(field.type)]


def date_columns(table: pa.Table) -> list[str]:
    """Return the names of columns of dates and datetimes."""
    from pyarrow import types

    return [
        field.name
        for field in table.schema
        if types.is_date(field.type) or types.is_timestamp(field.type)
    ]


def unsupported_columns(table: pa.Table) -> list[str]:
    """Return the names of columns that have neither text, numbers, booleans nor times."""
    return [
        field.name
        for field in table.schema
        if not _is_text(field.type) and not _is_number(field.type)
    ]


def _is_text(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_dictionary(kind)
    )


def _is_number(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_temporal(kind)
        or types.is_null(kind)
    )


def whole_numbers_without_repetition(table: pa.Table) -> list[str]:
    """Return the names of integer columns with a different value in every row."""
    from pyarrow import compute, types

    n = table.num_rows
    return [
        field.name
        for field in table.schema
        if types.is_integer(field.type)
        and looks_like_identifier(
            compute.count_distinct(table.column(field.name), mode="all").as_py(),
            n,
            is_category=False,
        )
    ]


def feature_table(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return columns with types that all data frame readers support.

    A column without any value has no type in a file and becomes NaN; a date becomes a timestamp.
    """
    import pyarrow as pa
    from pyarrow import types

    columns = {}
    for name in names:
        column = table.column(name)
        if types.is_null(column.type):
            column = column.cast(pa.float64())
        elif types.is_date(column.type):
            column = column.cast(pa.timestamp("s"))
        columns[name] = column
    return pa.table(columns)


def numbers(table: pa.Table, name: str, part: str) -> npt.NDArray[np.float64]:
    """Return a column without missing values as floats, for a target or a weight."""
    import pyarrow as pa
    from pyarrow import types

    column = _complete(table, name, part)
    kind = column.type
    if not (types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)):
        raise InputError(
            f"The {part} {name!r} must be numbers, but has {_plain(kind)}; "
            "name another column, or convert it."
        )
    if types.is_boolean(kind):
        column = column.cast(pa.uint8())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def labels(table: pa.Table, name: str) -> npt.NDArray[Any]:
    """Return class labels without missing values: booleans, integers, floats or text."""
    from pyarrow import types

    column = _complete(table, name, "target")
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if _is_text(kind):
        return np.asarray(column.to_pylist(), dtype=np.str_)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return np.asarray(column.to_numpy())
    raise InputError(
        f"The target {name!r} has {_plain(kind)}, which cannot be class labels; "
        "convert it to text or whole numbers."
    )


def ranking(table: pa.Table, target: str, query: str) -> npt.NDArray[Any]:
    """Return the relevance of rows with their queries, without missing values."""
    from pyarrow import types

    from stagewise.data import ranking_target

    column = _complete(table, query, "query")
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if not (_is_text(kind) or types.is_integer(kind) or types.is_floating(kind)):
        raise InputError(
            f"The query {query!r} must be numbers or text, but has {_plain(kind)}; name another "
            "column, or convert it."
        )
    names = np.asarray(column.to_pylist(), np.str_) if _is_text(kind) else column.to_numpy()
    return ranking_target(numbers(table, target, "target"), qid=names)


def drop_unlabelled(table: pa.Table, name: str) -> pa.Table:
    """Return the rows with a target."""
    from pyarrow import compute

    rows = table.filter(compute.invert(_missing(table.column(name))))
    if rows.num_rows == 0:
        raise InputError(f"The target {name!r} is missing in every row; name another column.")
    return rows


def _missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a mask of missing values; NaN is missing too."""
    from pyarrow import types

    return column.is_null(nan_is_null=types.is_floating(column.type))


def _complete(table: pa.Table, name: str, part: str) -> pa.ChunkedArray:
    column = table.column(name)
    missing = np.asarray(_missing(column).to_numpy())
    if missing.any():
        remedy = (
            "leave these rows out with --drop-unlabelled"
            if part == "target"
            else "fill in the values"
        )
        raise InputError(
            f"The {part} {name!r} is missing in {missing.sum()} of {amount(len(missing), 'row')} "
            f"(first in {row_name(int(missing.argmax()))}); {remedy}."
        )
    return column


def _plain(kind: pa.DataType) -> str:
    """Return the name of a type."""
    from pyarrow import types

    if _is_text(kind):
        return "text"
    return "times" if types.is_temporal(kind) else str(kind)


def unsupported_columns_error(table: pa.Table, names: Sequence[str]) -> InputError:
    """Return the error for columns of unsupported types."""
    kinds = sorted({_plain(table.schema.field(name).type) for name in names})
    several = len(names) > 1
    return InputError(
        f"Column{'s' * several} {listing(names)} {'have' if several else 'has'} "
        f"{' and '.join(kinds)}, and only numbers and text are supported; leave "
        f"{'them' if several else 'it'} out with --ignore {shlex.join(names)} "
        "(or all columns without numbers with --drop-text), or split nested values into columns."
    )
