"""Reads one value per row: targets, labels and weights.

Lists, arrays, series and one-column frames become a 1-D array of cells with the right number of
rows, and each cell keeps its value. This module does not interpret the values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_array

from stagewise.data.reading.column import Array, Mask
from stagewise.data.reading.frame import open_frame, open_series, series_cells
from stagewise.data.reading.table import exact_array
from stagewise.validation.messages import warn_caller

__all__ = ["check_length", "read_vector", "refuse_infinite", "refuse_missing", "require_y"]


def read_vector(y: Any, n_rows: int, name: str, *, ravel: bool = True) -> tuple[Array, Mask | None]:
    """Read one cell per row.

    Parameters
    ----------
    y : array-like, series or frame with one column
        The values.
    n_rows : int
        The number of rows of X.
    name : str
        The name of y in messages.
    ravel : bool
        Whether a table of one column is accepted, with a warning.

    Returns
    -------
    cells : array of shape (n_rows,)
        Of any type.
    missing : bool array of shape (n_rows,), or None
        Missing cells whose value in `cells` is not a missing value.
    """
    cells, missing = _cells(y, name)
    if ravel and cells.ndim == 2 and cells.shape[1] == 1:
        warn_caller(
            f"A column-vector {name} was passed when a 1d array was expected. "
            f"Please change the shape of {name} to (n_samples,), for example using ravel().",
            DataConversionWarning,
        )
        cells = cells[:, 0]
        missing = None if missing is None else missing.reshape(-1)
    elif cells.ndim != 1:
        raise ValueError(
            f"{name} should be a 1d array, got an array of shape {cells.shape} instead. "
            f"Pass one value for each of the {n_rows} rows."
        )
    check_length(cells, n_rows, name)
    return cells, missing


def check_length(cells: Any, n_rows: int, name: str) -> None:
    """Raise ValueError unless there is one value for each row of X.

    Parameters
    ----------
    cells : array of shape (n, ...)
        The values.
    n_rows : int
        The number of rows of X.
    name : str
        The argument, for the message.
    """
    if len(cells) != n_rows:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"{[n_rows, len(cells)]}. X has {n_rows} rows, and {name} has {len(cells)} values; "
            "pass one for each row."
        )


def require_y(y: Any, caller: str) -> None:
    """Raise ValueError if y is None."""
    if y is None:
        raise ValueError(
            f"This {caller} estimator requires y to be passed, but the target y is None."
        )


def refuse_missing(missing: Mask | None) -> None:
    """Raise if any target is missing, with the count and the first row."""
    if missing is not None and missing.any():
        raise ValueError(
            f"Input y contains NaN. {int(missing.sum())} of {len(missing)} targets are missing, "
            f"the first at row {int(np.argmax(missing))}. Remove those rows from X and y."
        )


def refuse_infinite(values: Array) -> None:
    """Raise if any target is infinite, with the count and the first row."""
    infinite = np.isinf(values)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise ValueError(
            f"Input y contains infinity or a value too large for {values.dtype!r}. "
            f"{int(infinite.sum())} of {len(values)} targets are infinite, the first "
            f"({values[row]}) at row {row}. Remove those rows from X and y."
        )


def _cells(y: Any, name: str) -> tuple[Array, Mask | None]:
    if scipy.sparse.issparse(y):
        check_array(y, accept_sparse=False, input_name=name)
    series = open_series(y)
    if series is not None:
        return series_cells(series, name)
    frame = open_frame(y, "fit", name)
    if frame is not None and frame.shape[1] == 1:
        cells, missing = series_cells(frame.frame.get_column(frame.labels[0]), name)
        return cells.reshape(-1, 1), missing
    if frame is not None:
        return np.empty(frame.shape), None
    missing = np.ma.getmaskarray(y) if np.ma.is_masked(y) else None
    return exact_array(y), missing
