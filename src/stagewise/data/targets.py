"""Reads several targets: one numeric column per target, and their names.

Every column is read as a single target, so the same checks apply; errors name the target. This
module must not import losses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.labels import Labels, read_labels
from stagewise.data.reading.column import Array, Mask
from stagewise.data.reading.frame import Frame, open_frame
from stagewise.data.reading.table import exact_array
from stagewise.data.reading.vector import check_length, refuse_missing, require_y
from stagewise.data.target import read_numbers, read_target
from stagewise.validation.messages import short_repr

__all__ = ["match_targets", "read_label_columns", "read_targets", "target_names"]

Values = npt.NDArray[np.float64]


def read_targets(y: Any, n_rows: int, *, caller: str = "regressor") -> Values:
    """Read one target or several.

    Parameters
    ----------
    y : array-like or frame of shape (n_rows,) or (n_rows, n_targets)
        Numbers, all finite.
    n_rows : int
        The number of rows of X.
    caller : str
        The estimator's name, for messages.

    Returns
    -------
    float64 array of shape (n_rows,) or, with more than one column, (n_rows, n_targets)

    Raises
    ------
    ValueError, TypeError
        As `read_target`; the message names the target.
    """
    require_y(y, caller)
    columns = _columns(y)
    if columns is None:
        return read_target(y, n_rows, caller=caller)
    check_length(columns[0][1], n_rows, "y")
    values = np.empty((n_rows, len(columns)))
    for k, (label, cells, missing) in enumerate(columns):
        try:
            values[:, k] = read_numbers(cells, missing, caller=caller)
        except (TypeError, ValueError) as error:
            raise type(error)(f"In {label} of y: {error}") from None
    return values


def read_label_columns(y: Any, n_rows: int, *, caller: str = "classifier") -> list[Labels] | None:
    """Read several targets of classes; None if y has one column.

    Parameters
    ----------
    y : array-like or frame of shape (n_rows, n_targets)
        Labels.
    n_rows : int
        The number of rows of X.
    caller : str
        The estimator's name, for messages.

    Raises
    ------
    ValueError, TypeError
        As `read_labels`; the message names the target.
    """
    require_y(y, caller)
    columns = _columns(y)
    if columns is None:
        return None
    check_length(columns[0][1], n_rows, "y")
    found = []
    for label, cells, missing in columns:
        try:
            refuse_missing(missing)
            found.append(read_labels(cells, n_rows, caller=caller))
        except (TypeError, ValueError) as error:
            raise type(error)(f"In {label} of y: {error}") from None
    return found


def target_names(y: Any) -> tuple[str, ...] | None:
    """Return the names of several targets; None for one target, or if they have no names."""
    frame = _frame(y)
    return None if frame is None or frame.names is None else tuple(frame.names)


def match_targets(y: Any, names: tuple[str, ...] | None) -> Any:
    """Return the targets of other rows in the order of `names`, if both have names.

    Raises
    ------
    ValueError
        If the names are not the same.
    """
    own = target_names(y)
    if names is None or own is None or own == names:
        return y
    odd = [name for name in names if name not in own] or [name for name in own if name not in names]
    if odd:
        raise ValueError(
            f"y_val has the targets {', '.join(map(repr, own))}, but y has "
            f"{', '.join(map(repr, names))}: {short_repr(odd[0])} is in one of them only."
        )
    frame = _frame(y)
    assert frame is not None
    return frame.frame[:, [own.index(name) for name in names]].to_native()


def _frame(y: Any) -> Frame | None:
    if isinstance(y, (np.ndarray, list, tuple)):
        return None
    frame = open_frame(y, "fit", "y")
    return frame if frame is not None and frame.shape[1] > 1 else None


def _columns(y: Any) -> list[tuple[str, Array, Mask | None]] | None:
    """Return the label, the cells and the missing mask of each target; None for one target."""
    frame = _frame(y)
    if frame is not None:
        names = frame.names or [str(k) for k in range(frame.shape[1])]
        return [(f"target {name!r}", *frame.cells(k)) for k, name in enumerate(names)]
    if not isinstance(y, (np.ndarray, list, tuple)):
        return None
    array = exact_array(y)
    masked = np.ma.getmaskarray(y) if isinstance(y, np.ma.MaskedArray) else None
    if array.ndim != 2 or array.shape[1] < 2:
        return None
    return [
        (f"target {k}", array[:, k], None if masked is None else masked[:, k])
        for k in range(array.shape[1])
    ]
