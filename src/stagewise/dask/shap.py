"""Shapley values of collections, without computing them: each partition is explained by a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt

from stagewise import inspection
from stagewise.dask.partitions import check_rows, is_collection, partitions_of
from stagewise.dask.predictions import delayed_model
from stagewise.errors import InvalidParameterError
from stagewise.inspection import ShapValues
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import short_repr

__all__ = ["LazyShapValues", "shap_values"]


@dataclass(frozen=True, eq=False)
class LazyShapValues:
    """Shapley values of the rows of a collection; the attributes are those of `ShapValues`.

    Parameters
    ----------
    values : dask.array.Array
        Not computed yet; the chunks along the first axis are the partitions of the rows. The
        lengths of the chunks are unknown unless the rows are an array.
    base_values : float64 array of shape (), or (n_outputs,)
        The expected model output without any feature.
    feature_names : tuple of str
        The features.
    output_names : tuple of str or None
        The classes, if there are several outputs.
    data : collection
        The rows, as passed by the caller.
    """

    values: Any
    base_values: npt.NDArray[np.float64]
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None
    data: Any

    def compute(self) -> ShapValues:
        """Return the values and the rows in memory, for plots."""
        import pandas as pd

        values, parts = dask.compute(self.values, partitions_of(self.data))
        is_array = isinstance(self.data, da.Array)
        data = np.concatenate(parts) if is_array else pd.concat(parts)
        return ShapValues(values, self.base_values, self.feature_names, self.output_names, data)


@suggests_arguments
def shap_values(
    estimator: Any,
    X: Any,
    *,
    kind: str = "tree_path_dependent",
    background: Any = None,
    interactions: bool = False,
) -> LazyShapValues:
    """Return the exact Shapley values of the rows of a collection, without computing them.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of `stagewise.dask`, or of one machine.
    X : dask.dataframe.DataFrame, dask.array.Array, or list of Delayed
        The rows, as for `predict`. For a table in memory, call `stagewise.inspection.shap_values`.
    kind : {"tree_path_dependent", "interventional"}, default="tree_path_dependent"
        How the features outside a set are treated; see `stagewise.inspection.shap_values`.
    background : array-like, data frame or sparse matrix or None, default=None
        For kind="interventional": the background rows, in memory.
    interactions : bool, default=False
        Return Shapley interaction values of pairs of features.

    Returns
    -------
    LazyShapValues
        `values` is an array of Dask with the values of `stagewise.inspection.shap_values`.
    """
    if not is_collection(X):
        raise TypeError(
            f"X must be a dask.dataframe.DataFrame, a dask.array.Array or a list of delayed parts; "
            f"got {short_repr(X)}. stagewise.inspection.shap_values explains tables in memory."
        )
    check_rows(X)
    local = estimator.to_local() if hasattr(estimator, "to_local") else estimator
    if local.model_.row_offset:
        raise InvalidParameterError(
            "This model was fitted with an offset or an exposure, which Shapley values of a "
            "collection do not have. Explain tables in memory: stagewise.inspection.shap_values."
        )
    options: dict[str, Any] = {"kind": kind, "background": background, "interactions": interactions}
    none = inspection.shap_values(local, _no_rows(local), **options)
    model = delayed_model(local)
    if background is not None:
        options["background"] = dask.delayed(background, traverse=False)
    explain = dask.delayed(_explain, pure=True)
    lengths = X.chunks[0] if isinstance(X, da.Array) else None
    arrays = [
        da.from_delayed(
            explain(part, model, **options),
            (np.nan if lengths is None else lengths[i], *none.values.shape[1:]),
            meta=none.values,
        )
        for i, part in enumerate(partitions_of(X))
    ]
    values = da.concatenate(arrays, allow_unknown_chunksizes=True)
    return LazyShapValues(values, none.base_values, none.feature_names, none.output_names, X)


def _no_rows(local: Any) -> Any:
    """Return a table without rows that has the features of a model."""
    import pandas as pd

    names = getattr(local, "feature_names_in_", None)
    if names is None:
        return np.empty((0, local.n_features_in_))
    return pd.DataFrame({name: np.empty(0) for name in names})


def _explain(X: Any, local: Any, **options: Any) -> npt.NDArray[np.float64]:
    rows = X if len(X) else _no_rows(local)
    return inspection.shap_values(local, rows, **options).values
