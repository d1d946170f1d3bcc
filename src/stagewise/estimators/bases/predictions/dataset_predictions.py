"""Predictions of datasets: a method that predicts tables is called for each batch.

The rows of a table are predicted independently of each other, so the results of the batches, in row
order, are the result of the whole table. Memory holds the result and a few batches.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from stagewise.datasets.dataset import Dataset
from stagewise.validation.arguments import routing_is_enabled, unknown_arguments
from stagewise.validation.messages import merge_warnings

__all__ = ["predicts_datasets"]

Array = npt.NDArray[Any]
Method = TypeVar("Method", bound=Callable[..., Array])

OFFSETS = ("offset", "exposure")
"""The arguments that have a value for each row."""


def predicts_datasets(method: Method) -> Method:
    """Return a method that also predicts a `Dataset`, batch by batch.

    The error for an unknown argument suggests the right one.

    Parameters
    ----------
    method : function
        A method of an estimator that returns one value, or one row of values, per row of its first
        argument X.
    """
    parameters = inspect.signature(method).parameters
    known = tuple(parameters)
    routes = any(p.kind is p.VAR_KEYWORD for p in parameters.values())

    @wraps(method)
    def of_any_rows(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        unknown = {name: value for name, value in options.items() if name not in known}
        if unknown and not (routes and routing_is_enabled()):
            raise unknown_arguments(unknown, method.__name__, known, type(self))
        if not isinstance(X, Dataset):
            return method(self, X, *arguments, **options)

        offsets = {name: options.pop(name) for name in OFFSETS if name in options}

        def predict(table: Any, rows: slice) -> Array:
            own = {name: _offset_of(value, rows) for name, value in offsets.items()}
            return method(self, table, *arguments, **options, **own)

        names = getattr(self, "feature_names_in_", None)
        if names is not None and hasattr(self, "model_"):
            names = [*names, *self.model_.row_offset.columns]
        predicted = predict_dataset(predict, X, names)
        for name, value in offsets.items():
            if (n := _n_rows(value)) not in (None, len(predicted)):
                raise ValueError(f"{name} has {n} rows, and X has {len(predicted)}.")
        return predicted

    return cast(Method, of_any_rows)


def _n_rows(value: Any) -> int | None:
    """Return the number of rows of an offset; None: it is a number, a column or absent."""
    has_rows = hasattr(value, "__len__") and not isinstance(value, str) and np.ndim(value) > 0
    return len(value) if has_rows else None


def _offset_of(value: Any, rows: slice) -> Any:
    """Return the offset of some rows."""
    return value if _n_rows(value) is None else np.asarray(value)[rows]


def predict_dataset(
    predict: Callable[[Any, slice], Array], dataset: Dataset, names: Sequence[str] | None
) -> Array:
    """Return the predictions of all rows of a dataset, in row order.

    Parameters
    ----------
    predict : function
        Returns the predictions of a table and the place of its rows in the dataset.
    dataset : Dataset
        The rows.
    names : sequence of str or None
        The features of the model, if they have names: only these columns are read. None: all
        features of the dataset.
    """
    known = dataset.source.schema
    if names is not None and not set(names) <= set(known.names):
        predict(
            known.empty_table(), slice(0, 0)
        )  # raises the error of a table without these columns
    columns = dataset.features if names is None else tuple(map(str, names))
    out = np.empty(0)
    n_rows = 0
    with merge_warnings(), closing(dataset.batches(columns=columns)) as batches:
        for batch in batches:
            with batch.locate_errors():
                values = predict(
                    batch.table, slice(batch.first_row, batch.first_row + batch.n_rows)
                )
            if n_rows == 0:
                length = dataset.source.n_rows or batch.n_rows
                out = np.empty((length, *values.shape[1:]), dtype=values.dtype)
            n_rows = batch.first_row + batch.n_rows
            if n_rows > len(out):  # the number of rows of a stream is unknown
                out.resize((max(n_rows, 2 * len(out)), *out.shape[1:]), refcheck=False)
            out[batch.first_row : n_rows] = values
    if n_rows < len(out):
        out.resize((n_rows, *out.shape[1:]), refcheck=False)
    return out
