"""The columns of several files as one schema, and their tables with that schema.

Every file must have every column, with one type. Values of folders such as ``year=2024`` are
columns, too. This module must not read files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stagewise.datasets.arrow import common_type, reason_of
from stagewise.datasets.file_list import DataFile

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ColumnMismatchError", "Layout"]


class ColumnMismatchError(ValueError):
    """A column differs between files.

    Parameters
    ----------
    column : str
        Its name.
    problem : str
        The difference.
    remedy : str
        The remedy for callers in Python.
    """

    def __init__(self, column: str, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}.")
        self.column, self.problem = column, problem


@dataclass(frozen=True)
class Layout:
    """The columns that all files of a dataset share.

    Parameters
    ----------
    schema : pyarrow.Schema
        Names and types of all columns; those of folders come last.
    in_folders : tuple of str
        The columns whose values are in the names of folders.
    left_out : tuple of str
        Unused columns that differ between files.
    """

    schema: pa.Schema
    in_folders: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @classmethod
    def merge(
        cls,
        schemas: Mapping[DataFile, pa.Schema],
        types: Mapping[str, pa.DataType],
        is_used: Callable[[str], bool],
    ) -> Layout:
        """Return the layout of files with these schemas.

        Parameters
        ----------
        schemas : mapping of DataFile to pyarrow.Schema
            The columns of each file.
        types : mapping of str to pyarrow.DataType
            Types that the caller has chosen.
        is_used : callable
            Whether a column is used; others may differ between files.

        Raises
        ------
        ValueError
            If a column is missing in a file, is there twice, or has different types.
        """
        import pyarrow as pa

        # Files usually have one schema: each is compared once, at its first file.
        kinds = {file: _types_of(schema) for file, schema in _distinct(schemas).items()}
        fields, left_out = {}, []
        for name in dict.fromkeys(name for own in kinds.values() for name in own):
            try:
                fields[name] = pa.field(name, _shared_type(name, kinds, types))
            except ValueError:
                if is_used(name):
                    raise
                left_out.append(name)
        stored = set(fields)
        for name, kind in _folder_types(list(schemas)).items():
            fields.setdefault(name, pa.field(name, types.get(name, kind)))
        in_folders = tuple(name for name in fields if name not in stored)
        return cls(pa.schema(fields.values()), in_folders, tuple(left_out))

    def stored(self, columns: Sequence[str]) -> list[str]:
        """Return the columns that must be read from the files."""
        found = [name for name in columns if name not in self.in_folders]
        # A table without columns has no rows, so there is at least one.
        return found or [name for name in self.schema.names if name not in self.in_folders][:1]

    def complete(self, table: pa.Table, columns: Sequence[str], file: DataFile) -> pa.Table:
        """Return the columns of a table of one file, in this order and with the common types."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in columns])
        if table.schema.equals(schema):
            return table
        values = dict(file.partition)
        arrays = []
        for field in schema:
            if field.name in self.in_folders:
                scalar = pa.scalar(values[field.name], pa.string()).cast(field.type)
                arrays.append(pa.repeat(scalar, table.num_rows))
                continue
            column = table.column(field.name)
            try:
                arrays.append(column if column.type == field.type else column.cast(field.type))
            except pa.ArrowException as error:
                raise ValueError(
                    f"Column {field.name!r} of {str(file.path)!r} cannot be read as {field.type}: "
                    f"{reason_of(error)}. Pass another type in types."
                ) from error
        return pa.table(arrays, schema=schema)


def _distinct(schemas: Mapping[DataFile, pa.Schema]) -> dict[DataFile, pa.Schema]:
    """Return the first file of each schema."""
    first = {schema.remove_metadata(): file for file, schema in reversed(list(schemas.items()))}
    return {file: schema for schema, file in reversed(list(first.items()))}


def _types_of(schema: pa.Schema) -> dict[str, list[pa.DataType]]:
    """Return the types of the columns of each name; more than one if a name is repeated."""
    kinds: dict[str, list[pa.DataType]] = {}
    for field in schema:
        kinds.setdefault(field.name, []).append(field.type)
    return kinds


def _shared_type(
    name: str,
    kinds: Mapping[DataFile, Mapping[str, list[pa.DataType]]],
    types: Mapping[str, pa.DataType],
) -> pa.DataType:
    """Return the type of a column that all files must have."""
    shared: pa.DataType = None
    first = next(file for file, own in kinds.items() if name in own)
    for file, own in kinds.items():
        if name not in own:
            raise ColumnMismatchError(
                name,
                f"{str(file.path)!r} has no column {name!r}, which {str(first.path)!r} has",
                "add the column, or leave it out with columns",
            )
        if len(own[name]) > 1:
            raise ValueError(
                f"{str(file.path)!r} has more than one column named {name!r}; rename them."
            )
        before, kind = shared, own[name][0]
        shared = kind if before is None else common_type(before, kind)
        if name in types:
            shared = types[name]
        elif shared is None:
            raise ColumnMismatchError(
                name,
                f"Column {name!r} is {kind} in {str(file.path)!r}, but {before} in "
                f"{str(first.path)!r}",
                f"write the files with one type, or choose it with types={{{name!r}: …}}",
            )
    return shared


def _folder_types(files: Sequence[DataFile]) -> dict[str, pa.DataType]:
    """Return the types of the columns in the names of folders: int64, or text."""
    import pyarrow as pa

    names = [name for name, _ in files[0].partition]
    for file in files:
        own = [name for name, _ in file.partition]
        if own != names or len(set(own)) < len(own):
            raise ValueError(
                f"{str(file.path)!r} has the folders {own}, and {str(files[0].path)!r} has "
                f"{names}; use the same folders name=value for all files, each name once."
            )
    values = {name: {dict(file.partition)[name] for file in files} - {None} for name in names}
    return {
        name: pa.int64() if own and all(map(_is_int64, own)) else pa.string()
        for name, own in values.items()
    }


def _is_int64(text: str | None) -> bool:
    return text is not None and re.fullmatch("-?[0-9]{1,18}", text) is not None
