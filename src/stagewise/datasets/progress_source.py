"""A source that reports the progress of its passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stagewise.datasets.batch import Batch

if TYPE_CHECKING:
    from stagewise.datasets.dataset import Source

__all__ = ["ProgressSource"]


class ProgressSource:
    """The rows of another source; see `Source`.

    Parameters
    ----------
    source : Source
        The rows.
    show : callable
        Called after each batch with the number of the pass, from 1, the number of its rows so far,
        and the number of all rows (None: unknown).
    """

    def __init__(self, source: Source, show: Callable[[int, int, int | None], None]) -> None:
        self._source, self._show, self._passes = source, show, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Batch]:
        """Read some columns of all rows, in row order."""
        self._passes += 1
        number, n = self._passes, 0
        for batch in self._source.batches(columns, batch_rows):
            n += batch.n_rows
            self._show(number, n, self._source.n_rows)
            yield batch
