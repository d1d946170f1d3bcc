"""The target of a ranking: the relevance of a document and its query, as a structured array.

A query is the set of rows that are ranked together. Its rows need not be next to each other, so a
target can be indexed, shuffled and divided as any other array.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _num_samples

from stagewise.data.reading.column import missing_mask
from stagewise.data.reading.vector import read_vector
from stagewise.data.target import read_doubles, read_target

__all__ = ["is_ranking_target", "ranking_target", "read_keys"]

NEEDS_QUERIES_OF_SET = (
    "it needs the query of every row. Pass (X, y, qid), or a mapping with X, y and query_sizes."
)
NEEDS_QUERIES = (
    "{} ranks the rows of each query, and needs the query of every row. Pass qid=..., one value "
    "for each row (such as the search, the page or the person it belongs to), or query_sizes=..., "
    "the numbers of consecutive rows. Functions without these arguments read "
    "y=stagewise.ranking_target(y, qid=...)."
)
POSITION = "position"


def ranking_target(
    relevance: Any, *, qid: Any = None, query_sizes: Any = None, position: Any = None
) -> npt.NDArray[Any]:
    """Return the target of a ranking, which `fit`, `score` and every function of (X, y) read.

    Parameters
    ----------
    relevance : array-like of shape (n_rows,)
        How relevant each row is for its query: numbers; 0 is not relevant. Only the losses
        "pairwise" and "query_squared_error" permit negative ones.
    qid : array-like of shape (n_rows,), or a number
        The query of every row, in any order: numbers or text. A number: all rows are one query.
    query_sizes : array-like of int, or None
        Instead of `qid`: the numbers of rows of the queries, which follow each other.
    position : array-like of shape (n_rows,) or None
        Where each row was shown when its relevance was recorded, such as the place of a click: a
        number.

    Returns
    -------
    structured array of shape (n_rows,)
        With the fields "relevance", "qid" and perhaps "position".

    Examples
    --------
    >>> from stagewise import ranking_target
    >>> y = ranking_target([2, 0, 1, 0], qid=["a", "b", "a", "b"])
    >>> y["qid"].tolist()
    ['a', 'b', 'a', 'b']
    """
    n_rows = 0 if relevance is None else _num_samples(relevance)
    values = read_target(relevance, n_rows, caller="ranking")
    queries = _query_of_rows(qid, query_sizes, n_rows)
    fields = [("relevance", np.float64), ("qid", queries.dtype)]
    shown = None
    if position is not None:
        cells, missing = read_vector(position, n_rows, POSITION)
        shown = read_doubles(cells, missing, POSITION, "Pass the numbers of the places")
        if not np.isfinite(shown).all():
            row = int(np.argmax(~np.isfinite(shown)))
            raise ValueError(
                f"position is {shown[row]} at row {row}. Pass the place of every row, or leave "
                "those rows out."
            )
        fields.append((POSITION, np.float64))
    target = np.empty(n_rows, dtype=fields)
    target["relevance"], target["qid"] = values, queries
    if shown is not None:
        target[POSITION] = shown
    return target


def is_ranking_target(y: Any) -> bool:
    """Return whether y has the fields of `ranking_target`."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    return names is not None and {"relevance", "qid"} <= set(names)


def _query_of_rows(qid: Any, query_sizes: Any, n_rows: int) -> npt.NDArray[Any]:
    if (qid is None) == (query_sizes is None):
        if qid is None:
            raise ValueError(NEEDS_QUERIES.format("A ranking"))
        raise ValueError("Pass qid or query_sizes, not both.")
    if isinstance(qid, numbers.Number):
        if qid != qid:  # NaN
            raise ValueError("qid is missing (nan). Pass the query of every row.")
        return np.full(n_rows, qid)
    if qid is not None:
        return read_keys(qid, n_rows, "qid")
    sizes = np.asarray(query_sizes)
    is_list = sizes.ndim == 1 and sizes.dtype.kind in "iuf" and np.isfinite(sizes).all()
    if not is_list or (sizes != np.floor(sizes)).any():
        raise ValueError("query_sizes must be a list of whole numbers, the rows of each query.")
    if (sizes < 1).any():
        place = int(np.argmax(sizes < 1))
        raise ValueError(
            f"query_sizes must be at least 1, but entry {place} is {sizes[place]}. Leave queries "
            "without rows out."
        )
    if int(sizes.sum()) != n_rows:
        raise ValueError(
            f"query_sizes add up to {int(sizes.sum())} rows, but there are {n_rows}. Pass the "
            "number of rows of every query, in their order, or pass qid."
        )
    return np.repeat(np.arange(len(sizes)), sizes.astype(np.intp))


def read_keys(keys: Any, n_rows: int, name: str) -> npt.NDArray[Any]:
    """Return one value for each row, which can be sorted; raise ValueError otherwise.

    Parameters
    ----------
    keys : array-like of shape (n_rows,)
        Groups or queries: numbers or text.
    n_rows : int
        The number of rows.
    name : str
        The argument, for messages.
    """
    own = np.asarray(keys)
    if isinstance(keys, str):
        raise ValueError(
            f"{name} is the text {keys!r}, and must have one entry for each of {n_rows} rows. Pass "
            "the column itself, and leave it out of X, where it would be a feature: "
            f"fit(X.drop(columns={keys!r}), y, {name}=X[{keys!r}])."
        )
    if own.shape != (n_rows,):
        raise ValueError(
            f"{name} has shape {own.shape}; expected one entry for each of {n_rows} rows."
        )
    missing = missing_mask(own.tolist()) if own.dtype.kind in "OfM" else np.zeros(1, dtype=bool)
    if missing.any():
        what = "query" if name == "qid" else "group"
        raise ValueError(
            f"{name} contains missing values: {int(missing.sum())} of {n_rows}, the first at row "
            f"{int(np.argmax(missing))}. Pass a {what} for every row, such as a number of its own."
        )
    try:
        np.unique(own if own.dtype.kind == "O" else own[:1])
    except TypeError:
        kinds = ", ".join(sorted({type(value).__name__ for value in own.tolist()}))
        raise ValueError(
            f"{name} must have values of one type, such as text or numbers; it has {kinds}. "
            "Convert them to one type."
        ) from None
    return own
