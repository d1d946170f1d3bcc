"""Predictions of collections, without computing them: each partition is predicted by a task."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np

__all__ = ["delayed_model", "predict_collection"]


def predict_collection(local: Any, method: str, X: Any) -> Any:
    """Return the predictions of a collection as a collection with the same partitions.

    Parameters
    ----------
    local : estimator
        The fitted estimator of one machine.
    method : str
        Its method, which returns one value, or one row of values, per row.
    X : dask.dataframe.DataFrame, dask.array.Array, or list of Delayed
        The rows.

    Returns
    -------
    Series or DataFrame of dask.dataframe, dask.array.Array, or list of Delayed
        Of a data frame, a series with its index, or a data frame with a column per class.
    """
    model = delayed_model(local)
    like = _empty(local, method)
    if isinstance(X, da.Array):
        rows = X.rechunk({1: -1})
        chunks: Any = (X.chunks[0],) if like.ndim == 1 else (X.chunks[0], (like.shape[1],))
        dropped = 1 if like.ndim == 1 else None
        return rows.map_blocks(
            _predict_array, local=model, method=method, drop_axis=dropped, chunks=chunks, meta=like
        )
    if isinstance(X, dd.DataFrame):
        meta = _framed(local, method, X._meta.iloc[:0], like)  # noqa: SLF001 (no public name)
        return X.map_partitions(_predict_frame, model, method, meta=meta)
    predict = dask.delayed(_predict_array, pure=True)
    return [predict(part, model, method) for part in X]


def delayed_model(local: Any) -> Any:
    """Return a fitted estimator as an argument of tasks; equal models are sent once."""
    return dask.delayed(local, name=f"stagewise-model-{local.fingerprint()}", traverse=False)


def _empty(local: Any, method: str) -> Any:
    """Return the predictions of no rows."""
    if method == "predict":
        classes = getattr(local, "classes_", None)
        return np.empty(0) if classes is None else classes[:0]
    n = len(local.classes_)
    flat = method == "decision_function" and n == 2
    return np.empty(0) if flat else np.empty((0, n))


def _predict_array(X: Any, local: Any, method: str) -> Any:
    return getattr(local, method)(X) if len(X) else _empty(local, method)


def _predict_frame(X: Any, local: Any, method: str) -> Any:
    return _framed(local, method, X, _predict_array(X, local, method))


def _framed(local: Any, method: str, X: Any, values: Any) -> Any:
    """Return predictions with the index of X."""
    import pandas as pd

    if values.ndim == 1:
        return pd.Series(values, index=X.index)
    return pd.DataFrame(values, index=X.index, columns=list(local.classes_))
