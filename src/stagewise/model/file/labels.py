"""Class labels, to and from a model file.

Labels keep their value and their type, so a loaded classifier predicts labels that are equal to
those of the fitted one. Arrays of numbers and of fixed-width text are stored as arrays; labels that
are Python objects are stored in the header. A label that cannot be restored exactly is an error
when the model is saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import ModelFormatError
from stagewise.model.file.header import is_storable_integer

__all__ = [
    "LABEL_ARRAYS",
    "pack_label_lists",
    "pack_labels",
    "unpack_label_lists",
    "unpack_labels",
]

Array = npt.NDArray[Any]

# The label types that are stored as arrays, with the type and number of dimensions of the array.
LABEL_ARRAYS: dict[str, tuple[str, int]] = {
    "bool": ("uint8", 1),
    **{f"int{bits}": (f"int{bits}", 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (f"uint{bits}", 1) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (f"float{bits}", 1) for bits in (16, 32, 64)},
    "str": ("uint32", 2),
}
_LAST_CODE_POINT = 0x10FFFF
# The longest fixed-width text of NumPy.
_LONGEST_TEXT = 2**29 - 1


def pack_labels(classes: Array) -> tuple[dict[str, Any], Array | None]:
    """Return the entry of the header, and the array if the labels are stored as one.

    Raises
    ------
    ValueError
        If the labels are of a type that cannot be restored.
    """
    if classes.ndim != 1:
        raise ValueError(f"the class labels have {classes.ndim} dimensions instead of one")
    if classes.dtype.kind == "O":
        return {"dtype": "object", "labels": [_object_label(label) for label in classes]}, None
    if classes.dtype.kind == "U":
        return {"dtype": "str"}, _code_points(classes)
    name = classes.dtype.name
    if name not in LABEL_ARRAYS:
        raise ValueError(
            f"class labels of type {classes.dtype} cannot be stored; use bool, integer (up to 64 "
            "bits), float (up to 64 bits) or str labels instead"
        )
    return {"dtype": name}, classes.astype(LABEL_ARRAYS[name][0])


def _object_label(label: object) -> bool | int | str:
    if isinstance(label, np.bool | np.integer | np.str_):
        label = label.item()
    if isinstance(label, bool | str) and type(label) in (bool, str):
        return label
    if type(label) is int and is_storable_integer(label):
        return label
    raise ValueError(
        f"the class label {label!r} of type {type(label).__name__} cannot be stored; labels that "
        "are Python objects must be str, bool or integers of at most 64 bits"
    )


def _code_points(classes: Array) -> Array:
    """Return fixed-width text as a matrix of code points, one row per label, padded with zeros."""
    width = max(classes.dtype.itemsize // 4, 1)
    native = np.ascontiguousarray(classes, dtype=f"=U{width}")
    return native.view(np.uint32).reshape(len(classes), width)


def unpack_labels(fact: object, array: Array | None) -> Array:
    """Return the checked labels.

    Raises
    ------
    ModelFormatError
        If the header and the array do not match, or the labels are not distinct.
    """
    name = fact.get("dtype") if isinstance(fact, dict) else None
    if name == "object":
        assert isinstance(fact, dict)
        if array is not None:
            raise ModelFormatError("it holds its class labels twice")
        classes = _objects(fact.get("labels"))
    elif isinstance(name, str) and name in LABEL_ARRAYS:
        classes = _from_array(name, array)
    else:
        raise ModelFormatError("the type of its class labels is missing or unknown")
    if len(classes) == 0:
        raise ModelFormatError("it is a classifier without classes")
    if len(set(classes.tolist())) != len(classes):
        raise ModelFormatError("it holds a class label twice")
    return classes


def pack_label_lists(targets: Sequence[Array]) -> dict[str, Any]:
    """Return the entry of the header for the labels of several targets."""
    each = []
    for classes in targets:
        fact, array = pack_labels(classes)
        each.append(fact if array is None else {**fact, "labels": classes.tolist()})
    return {"targets": each}


def unpack_label_lists(fact: dict[str, Any]) -> tuple[Array, ...]:
    """Return the checked labels of several targets.

    Raises
    ------
    ModelFormatError
        If there are fewer than two targets, or labels are not of their type or not distinct.
    """
    each = fact["targets"]
    if not isinstance(each, list) or len(each) < 2:
        raise ModelFormatError("it has class labels of several targets, but not of two or more")
    return tuple(_from_list(own) for own in each)


def _from_list(fact: object) -> Array:
    name = fact.get("dtype") if isinstance(fact, dict) else None
    if name == "object":
        return unpack_labels(fact, None)
    labels = fact.get("labels") if isinstance(fact, dict) else None
    kinds = {"bool": (bool,), "str": (str,)}
    allowed = kinds.get(str(name), (float,) if str(name).startswith("float") else (int,))
    if name not in LABEL_ARRAYS or not isinstance(labels, list) or not labels:
        raise ModelFormatError("the type of its class labels is missing or unknown")
    if not all(type(label) in allowed for label in labels):
        raise ModelFormatError(f"its class labels are not all of the type {name}")
    try:
        classes = np.array(labels, dtype=None if name == "str" else name)
    except OverflowError:
        raise ModelFormatError(f"its class labels are beyond the range of {name}") from None
    if len(set(classes.tolist())) != len(labels):
        raise ModelFormatError("it holds a class label twice")
    return classes


def _objects(labels: object) -> Array:
    if not isinstance(labels, list) or not all(type(x) in (bool, int, str) for x in labels):
        raise ModelFormatError("its class labels are not all text, integers or booleans")
    classes = np.empty(len(labels), dtype=object)
    classes[:] = labels
    return classes


def _from_array(name: str, array: Array | None) -> Array:
    dtype, ndim = LABEL_ARRAYS[name]
    if array is None or array.dtype != dtype or array.ndim != ndim:
        raise ModelFormatError(f"its class labels are not an array of {name}")
    if name == "str":
        if array.size == 0 or array.shape[1] > _LONGEST_TEXT or array.max() > _LAST_CODE_POINT:
            raise ModelFormatError("its class labels are not text")
        return np.array(array, order="C").view(f"U{array.shape[1]}").ravel()
    if name == "bool" and array.max(initial=0) > 1:
        raise ModelFormatError("its class labels are not booleans")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ModelFormatError("its class labels are not all finite")
    # A copy: unlike the arrays of trees, labels are returned to callers, who may change them.
    return array.astype(name)
