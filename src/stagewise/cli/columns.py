"""Which column plays which part: target, weight, features, or none.

The one idea: every column that is left out is left out because the user said so. Text is learned
from as categories; what is neither numbers nor text is refused by name, never dropped in silence.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.cli.errors import Complaint, listing
from stagewise.cli.files import pick
from stagewise.cli.screen import amount

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Roles",
    "feature_table",
    "labelled",
    "labels",
    "numbers",
    "refuse_columns",
    "strange_columns",
    "text_columns",
]


@dataclass(frozen=True)
class Roles:
    """The parts the user gave to columns by name."""

    target: str
    weight: str | None = None
    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    def check(self, table: pa.Table, path: Path) -> None:
        """Complain if a column is not there, or has two parts."""
        pick(table, self.target, option="--target", path=path)
        if self.weight is not None:
            pick(table, self.weight, option="--weight", path=path)
        for name in self.ignore:
            pick(table, name, option="--ignore", path=path)
        for name in self.categorical:
            pick(table, name, option="--categorical", path=path)
            if name in (self.target, self.weight, *self.ignore):
                raise Complaint(f"--categorical: {name!r} is no feature; it has another part.")
        if self.weight == self.target:
            raise Complaint(f"{self.target!r} cannot be target and weight; name two columns.")
        if self.target in self.ignore:
            raise Complaint(f"{self.target!r} is the target and cannot be ignored as well.")

    def features(self, table: pa.Table) -> pa.Table:
        """Return the table without target, weight and ignored columns."""
        left_out = {self.target, self.weight, *self.ignore}
        return table.select([name for name in table.column_names if name not in left_out])


def text_columns(table: pa.Table) -> list[str]:
    """Return the names of columns that hold text, or categories of whatever type."""
    return [field.name for field in table.schema if _is_text(field.type)]


def strange_columns(table: pa.Table) -> list[str]:
    """Return the names of columns that hold neither text nor numbers, truth values or times."""
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


def feature_table(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return columns in a form every reader of frames understands.

    A column without any value has no type in a file and becomes missing numbers; a date becomes
    the moment it begins. Neither changes what a model could learn.
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
    """Return a column as floating-point numbers without gaps, for a target or a weight."""
    import pyarrow as pa
    from pyarrow import types

    column = _whole(table, name, part)
    kind = column.type
    if not (types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)):
        raise Complaint(
            f"The {part} {name!r} must be numbers, and holds {_plain(kind)}; "
            "name another column, or convert it."
        )
    if types.is_boolean(kind):
        column = column.cast(pa.uint8())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def labels(table: pa.Table, name: str) -> npt.NDArray[Any]:
    """Return a column of class labels without gaps: truth values, whole numbers, floats or text."""
    from pyarrow import types

    column = _whole(table, name, "target")
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if _is_text(kind):
        return np.asarray(column.to_pylist(), dtype=np.str_)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return np.asarray(column.to_numpy())
    raise Complaint(
        f"The target {name!r} holds {_plain(kind)}, which cannot be class labels; "
        "convert it to text or whole numbers."
    )


def labelled(table: pa.Table, name: str) -> pa.Table:
    """Return the rows whose target is known."""
    from pyarrow import compute

    rows = table.filter(compute.invert(_gaps(table.column(name))))
    if rows.num_rows == 0:
        raise Complaint(f"The target {name!r} is missing in every row; name another column.")
    return rows


def _gaps(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return which values are missing: a NaN in a file means that as well."""
    from pyarrow import types

    return column.is_null(nan_is_null=types.is_floating(column.type))


def _whole(table: pa.Table, name: str, part: str) -> pa.ChunkedArray:
    column = table.column(name)
    gaps = np.asarray(_gaps(column).to_numpy())
    if gaps.any():
        remedy = "leave these rows out with --drop-unlabelled" if part == "target" else "fill it in"
        raise Complaint(
            f"The {part} {name!r} is missing in {gaps.sum()} of {amount(len(gaps), 'row')} "
            f"(first in row {gaps.argmax() + 1}); {remedy}."
        )
    return column


def _plain(kind: pa.DataType) -> str:
    """Return a type's name in words."""
    from pyarrow import types

    if _is_text(kind):
        return "text"
    return "times" if types.is_temporal(kind) else str(kind)


def refuse_columns(table: pa.Table, names: Sequence[str]) -> Complaint:
    """Return the complaint about columns that nobody can learn from or said to leave out."""
    kinds = sorted({_plain(table.schema.field(name).type) for name in names})
    several = len(names) > 1
    return Complaint(
        f"Column{'s' * several} {listing(names)} {'hold' if several else 'holds'} "
        f"{' and '.join(kinds)}, and only numbers and text can be learned from; leave "
        f"{'them' if several else 'it'} out with --ignore {shlex.join(names)} "
        "(or all columns without numbers with --drop-text), or give each part a column of its own."
    )
