"""Fits of datasets that need all rows in memory: the rows are read, if they fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stagewise.cluster.peers import Peers
from stagewise.datasets.dataset import Dataset
from stagewise.datasets.memory import format_bytes
from stagewise.errors import InvalidParameterError
from stagewise.training.reading.training_data import FitArguments

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NeedsRowsInMemoryError", "plain_column", "rows_in_memory"]

ROW_BYTES = 64
"""The bytes of a row besides its values and their codes: scores, gradients, lists of rows."""
CODE_BYTES = 2
"""The bytes of a code, at most."""


class NeedsRowsInMemoryError(Exception):
    """A fit needs the rows of a dataset in memory.

    Parameters
    ----------
    what : str
        The parameter, or the estimator, that needs them.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def rows_in_memory(
    arguments: FitArguments, needs: NeedsRowsInMemoryError, peers: Peers
) -> FitArguments | None:
    """Return the arguments of a fit with the rows of the datasets in memory.

    Parameters
    ----------
    arguments : FitArguments
        X is a dataset, and X_val a dataset or None.
    needs : NeedsRowsInMemoryError
        Why the rows are read.
    peers : Peers
        The ranks of the fit. Only rank 0 gets the rows of all; the others get None.

    Raises
    ------
    InvalidParameterError
        If the rows do not fit into the memory limit.
    """
    datasets = [X for X in (arguments.X, arguments.X_val) if X is not None]
    n_rows = [sum(peers.gather(dataset.n_rows)) for dataset in datasets]
    needed = sum(n * _row_bytes(X) for n, X in zip(n_rows, datasets, strict=True))
    limit = min(peers.gather(arguments.X.limit()))
    if needed > limit:
        where = "a worker" if peers.size > 1 else "memory"
        raise InvalidParameterError(
            f"{needs.what} needs all rows in memory: about {format_bytes(needed)} for "
            f"{sum(n_rows):,} rows, and the limit of {where} is {format_bytes(limit)}. Change the "
            "parameter, or raise memory_limit; docs/larger-than-memory.md lists what is trained "
            "from rows that do not fit."
        )
    tables = [_gather(dataset, peers) for dataset in datasets]
    if tables[0] is None:
        return None
    X, y, weight = _columns(arguments.X, tables[0])
    read = replace(arguments, X=X, y=y, sample_weight=weight)
    if arguments.X_val is None:
        return read
    X, y, weight = _columns(arguments.X_val, tables[1])
    return replace(read, X_val=X, y_val=y, sample_weight_val=weight)


def _row_bytes(dataset: Dataset) -> int:
    """Return the bytes of a row in a fit in memory, about."""
    return dataset.row_bytes() + CODE_BYTES * len(dataset.features) + ROW_BYTES


def _gather(dataset: Dataset, peers: Peers) -> pa.Table | None:
    """Return the rows of all ranks, in order, on rank 0; None on the others."""
    import pyarrow as pa

    own = [(batch.partition or 0, batch.table) for batch in dataset.batches()]
    received = peers.swap([own, *[[]] * (peers.size - 1)])
    if peers.rank:
        return None
    parts = sorted((part for parts in received for part in parts), key=lambda part: part[0])
    return pa.concat_tables([table for _, table in parts])


def plain_column(cells: Any) -> Any:
    """Return an Arrow column as an array, or as a pandas series if NumPy has no such type."""
    import pyarrow as pa

    return cells.to_pandas() if pa.types.is_dictionary(cells.type) else cells.to_numpy()


def _columns(dataset: Dataset, table: Any) -> tuple[Any, Any, Any]:
    """Return the features, the targets and the weights of a table."""
    weight = None if dataset.weight is None else table.column(dataset.weight).to_numpy()
    return dataset.features_of_table(table), plain_column(table.column(dataset.target)), weight
