"""Fits of datasets by methods that read tables in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from stagewise.cluster.peers import ALONE
from stagewise.datasets.dataset import Dataset
from stagewise.training.reading.training_data import FitArguments
from stagewise.training.stored.needs_memory import NeedsRowsInMemoryError, rows_in_memory
from stagewise.training.stored.read_dataset import check_dataset_arguments

__all__ = ["fits_datasets"]

Method = TypeVar("Method", bound=Callable[..., Any])


def fits_datasets(method: Method) -> Method:
    """Return a method `fit` that reads a `Dataset` into memory first, if it fits.

    Parameters
    ----------
    method : function
        The method of an estimator: fit(self, X, y, sample_weight=None, …).
    """

    @wraps(method)
    def fit_any_rows(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        if not isinstance(X, Dataset):
            return method(self, X, *arguments, **options)
        groups = {name: options.pop(name) for name in ("groups",) if name in options}
        named = dict(zip(("y", "sample_weight"), arguments, strict=False))
        given = FitArguments(X, **({"y": None} | named | options))
        check_dataset_arguments(given)
        needs = NeedsRowsInMemoryError(type(self).__name__, "use gradient boosting")
        read = rows_in_memory(given, needs, ALONE)
        assert read is not None
        return method(self, read.X, read.y, read.sample_weight, **groups)

    return cast(Method, fit_any_rows)
