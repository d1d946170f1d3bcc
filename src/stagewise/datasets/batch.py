"""A piece of a dataset, with its place for messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from stagewise.datasets.file_list import DataFile

__all__ = ["Batch", "Part", "refuse_no_rows"]


@dataclass(frozen=True)
class Part:
    """Rows that follow each other in one file: a row group of Parquet, or a CSV file.

    Parameters
    ----------
    file : DataFile
        The file.
    row_group : int or None
        The number of the row group in the file; None for CSV.
    first_row : int
        The number of the first row in the dataset.
    n_rows : int
        The number of rows.
    """

    file: DataFile
    row_group: int | None
    first_row: int
    n_rows: int

    @property
    def place(self) -> str:
        """The file and the row group, for messages."""
        group = "" if self.row_group is None else f", row group {self.row_group}"
        return f"{str(self.file.path)!r}{group}"


def refuse_no_rows(parts: Sequence[Part]) -> None:
    """Raise if no file has a row."""
    if any(part.n_rows for part in parts):
        return
    others = len({part.file for part in parts}) - 1
    more = f" (and {others} other file{'s' * (others > 1)})" if others else ""
    raise ValueError(f"{str(parts[0].file.path)!r}{more} has columns but no rows; add rows.")


@dataclass(frozen=True)
class Batch:
    """Rows that follow each other in a dataset, in memory.

    Parameters
    ----------
    table : pyarrow.Table or array
        The columns; an array has all features of a partition of arrays.
    first_row : int
        The number of the first row in the dataset.
    part : Part or None
        The rows of the file that the batch belongs to; None if it does not come from a file.
    partition : int or None
        The number of the partition of a cluster that the batch belongs to; the rows are counted
        from its first one.
    """

    table: Any
    first_row: int
    part: Part | None = None
    partition: int | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.table)

    @property
    def place(self) -> str:
        """The rows, the file and the row group, for messages."""
        whole = "the dataset" if self.partition is None else f"partition {self.partition}"
        rows = f"rows {self.first_row:,} to {self.first_row + self.n_rows - 1:,} of {whole}"
        return rows if self.part is None else f"{rows}, in {self.part.place}"

    @contextmanager
    def locate_errors(self) -> Iterator[None]:
        """Append the place of the batch to errors about its values.

        Rows in such messages are counted from the first row of the batch.
        """
        try:
            yield
        except (ValueError, TypeError) as error:
            if type(error) not in (ValueError, TypeError):
                raise
            message = f"{str(error).rstrip()} (Row 0 is the first of {self.place}.)"
            raise type(error)(message) from error
