"""Reads class labels: the sorted classes, and the code of each row.

Labels are only compared, and the classes keep the caller's type. This module must not import losses
or weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from stagewise.data.reading.column import Array, missing_mask
from stagewise.data.reading.vector import read_vector, refuse_infinite, refuse_missing, require_y
from stagewise.validation.messages import short_repr

__all__ = ["Labels", "read_labels"]

Codes = npt.NDArray[np.int32]

COUNTED_SPAN = 1 << 20
"""Integer labels with a smaller range are found by counting instead of sorting."""


class Labels(NamedTuple):
    """Classes and codes, as `read_labels` returns them.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        The distinct labels, sorted.
    codes : int32 array of shape (n_rows,)
        ``classes[codes]`` are the labels.
    """

    classes: Array
    codes: Codes


def read_labels(
    y: Any, n_rows: int, *, caller: str = "classifier", may_be_many: bool = False
) -> Labels:
    """Read class labels.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Booleans, integers, whole floats or text; of a categorical series, its categories.
    n_rows : int
        The number of rows of X.
    caller : str
        The estimator's name, for messages.
    may_be_many : bool
        Whether nearly as many labels as rows are no reason for a warning.

    Returns
    -------
    Labels
        The sorted classes, and the position of each row's class.

    Raises
    ------
    ValueError
        If a label is missing, y looks like the target of a regression, or y mixes types.
    """
    require_y(y, caller)
    cells, missing = read_vector(y, n_rows, "y")
    refuse_missing(missing)
    kind = cells.dtype.kind
    if kind == "O":
        cells = _plain(cells)
        kind = cells.dtype.kind
    if not cells.dtype.isnative:
        cells = cells.astype(cells.dtype.newbyteorder("="))
    if kind in "biu":
        labels = _from_integers(cells)
    elif kind == "f":
        labels = _from_floats(cells)
    elif kind in "UTO":
        labels = _from_text(cells)
    elif kind == "c":
        raise ValueError(f"Complex data not supported: y holds {short_repr(cells[0])} at row 0.")
    else:
        raise ValueError(
            f"Unknown label type: y has dtype {cells.dtype}. Labels may be text, integers, "
            "booleans or whole floats; convert them first."
        )
    if not may_be_many and n_rows > 20 and len(labels.classes) > n_rows / 2:
        if kind == "f" and float(np.abs(labels.classes).max()) >= 2.0**63:
            _refuse_continuous(cells, 0, "nearly all different floats of this size")
        # Most likely the target of a regression; scikit-learn raises or warns.
        check_classification_targets(labels.classes[labels.codes])
    return labels


def _plain(cells: Array) -> Array:
    """Return objects as an array of one type: booleans, numbers, or text (as objects)."""
    items: list[Any] = cells.tolist()
    refuse_missing(missing_mask(items))
    family = {kind: _family(kind) for kind in set(map(type, items))}
    found = set(family.values())
    if found <= {"text"}:
        return cells
    if found == {"boolean"}:
        return cells.astype(bool)
    if found == {"number"}:
        numbers = np.array(items)
        if numbers.dtype.kind in "iuf":
            return numbers
    first = family[type(items[0])]
    odd = next((row for row, item in enumerate(items) if family[type(item)] != first), 0)
    raise ValueError(
        f"Unknown label type: y holds {short_repr(items[0])} at row 0 and {short_repr(items[odd])} "
        f"at row {odd}. Labels must be all text, all numbers or all booleans; convert them to one "
        "type."
    )


def _family(kind: type) -> str:
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, (bool, np.bool_)):
        return "boolean"
    return "number" if issubclass(kind, (int, float, np.integer, np.floating)) else "other"


def _from_integers(cells: Array) -> Labels:
    low, high = int(cells.min()), int(cells.max())
    if high - low >= COUNTED_SPAN:
        classes, codes = np.unique(cells, return_inverse=True)
        return Labels(classes, codes.astype(np.int32))
    if cells.dtype == np.uint64:
        distance = (cells - np.uint64(low)).astype(np.int64)
    else:
        distance = cells.astype(np.int64) - low
    present = np.bincount(distance) > 0
    classes = np.array([low + step for step in np.flatnonzero(present).tolist()], cells.dtype)
    if cells.dtype == np.int32 and low == 0 and present.all() and cells.flags.c_contiguous:
        return Labels(classes, cells)  # the labels are the codes, no copy is needed
    return Labels(classes, (np.cumsum(present, dtype=np.int32) - np.int32(1))[distance])


def _from_floats(cells: Array) -> Labels:
    refuse_missing(np.isnan(cells))
    refuse_infinite(cells)
    if (cells == np.rint(cells)).all() and float(np.abs(cells).max()) < COUNTED_SPAN:
        classes, codes = _from_integers(cells.astype(np.int64))
        return Labels(classes.astype(cells.dtype), codes)
    classes, place = np.unique(cells, return_inverse=True)
    fractions = cells != np.rint(cells)
    if fractions.any():
        _refuse_continuous(cells, int(np.argmax(fractions)), "floats with a fraction")
    return Labels(classes, place.astype(np.int32))


def _refuse_continuous(cells: Array, row: int, what: str) -> NoReturn:
    raise ValueError(
        f"Unknown label type: continuous. y holds {short_repr(cells[row])} at row {row}, and "
        f"{what} are targets of a regression, not labels. Labels may be text, integers, booleans "
        "or whole floats. Use a regressor; or, if these are labels, pass y.astype(str), or integer "
        "codes."
    )


def _from_text(cells: Array) -> Labels:
    # Sorting only the distinct texts is much faster than sorting one per row.
    items: list[str] = cells.tolist()
    distinct = sorted(set(items))
    code = {text: number for number, text in enumerate(distinct)}
    codes = np.fromiter(map(code.__getitem__, items), dtype=np.int32, count=len(items))
    return Labels(np.array(distinct, dtype=cells.dtype), codes)
