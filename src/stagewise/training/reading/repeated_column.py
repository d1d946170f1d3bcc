"""The warning for an offset or an exposure that is also a feature of the model.

An exposure is usually a column of the table. Passed as an array while X still has the column, it is
a feature, too, which is rarely meant. A few rows exclude almost every column, so the search is
fast. This module must not read cells that are no numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.reading.frame import open_frame
from stagewise.data.reading.records import open_records
from stagewise.errors import ColumnWarning
from stagewise.training.reading.training_data import FitArguments
from stagewise.validation.messages import column_label, warn_caller

__all__ = ["warn_of_repeated_columns"]

PROBES = 16
"""The number of rows that are compared before all are."""

Vector = npt.NDArray[np.float64]


def warn_of_repeated_columns(arguments: FitArguments) -> None:
    """Warn if an offset or an exposure was passed as an array that is also a column of X."""
    for name in ("exposure", "offset"):
        values = _vector(getattr(arguments, name))
        if values is None or bool((values == values[0]).all()):
            continue
        # The offset log(e) of an exposure e is the habit where there is no exposure.
        with np.errstate(over="ignore"):
            forms = {name: values} | ({"exposure": np.exp(values)} if name == "offset" else {})
        for form, wanted in forms.items():
            for position, names, column in _columns(arguments.X):
                if not _equal(column, wanted):
                    continue
                label = column_label(names, position)
                logarithm = "the logarithm of " if form != name else ""
                remedy = (
                    "Leave the column out of X"
                    if names is None
                    else f"Pass {form}={names[position]!r}: the column is then no feature, and "
                    "predictions read it from X. Or leave it out of X"
                )
                warn_caller(
                    f"{name} is {logarithm}{label}, which is also a feature of the model. "
                    f"{remedy}.",
                    ColumnWarning,
                )
                break


def _vector(values: Any) -> Vector | None:
    """Return the numbers of an argument; None: there is no number for each row."""
    if values is None or isinstance(values, str) or np.ndim(values) != 1 or len(values) == 0:
        return None
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):  # cells that are no numbers, which have passed other checks
        return None


def _columns(X: Any) -> Iterator[tuple[int, list[str] | None, npt.NDArray[Any]]]:
    """Yield the columns of numbers: the position, the names of all, and the cells."""
    if isinstance(X, np.ndarray):
        if X.ndim == 2 and X.dtype.kind in "iuf":
            for position in range(X.shape[1]):
                yield position, None, X[:, position]
        return
    records = open_records(X) if isinstance(X, (dict, list)) else None
    if records is not None:
        for position, cells in enumerate(records.columns):
            yield position, records.names, cells
        return
    frame = None if isinstance(X, list) else open_frame(X, "fit")
    for position, label in enumerate(() if frame is None else frame.labels):
        assert frame is not None
        if frame.frame.schema[label].is_numeric():
            cells, missing = frame.cells(position)
            if missing is None or not missing.any():
                yield position, frame.names, cells


def _equal(column: npt.NDArray[Any], values: Vector) -> bool:
    """Return whether a column has these values, up to the rounding of a logarithm."""
    if len(column) != len(values):
        return False
    probes = np.linspace(0, len(values) - 1, min(PROBES, len(values))).astype(np.intp)
    try:
        for rows in (probes, slice(None)):
            cells = np.asarray(column[rows], dtype=np.float64)
            if not np.allclose(cells, values[rows], rtol=1e-12, atol=0.0):
                return False
    except (TypeError, ValueError):
        return False
    return True
