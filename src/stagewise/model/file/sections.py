"""The sections of a model file: names, types and positions of its arrays.

Sections tile the data part of the file: each begins where the one before it ends. So sections
cannot overlap, leave gaps, or be larger than the file. The meaning of the numbers is checked in
``checks.py``. Names of sections never change, so some use earlier words: ``level`` for category,
``moment`` for temporal type, ``statistic`` for target encoding, ``line`` for linear leaf.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import ModelFormatError
from stagewise.trees.linear_leaves import LINEAR_LEAF_ARRAYS
from stagewise.trees.tree import NODE_ARRAYS

__all__ = [
    "CATEGORIES",
    "CATEGORY_SETS",
    "CROSSES",
    "FOLD_ENSEMBLES",
    "FOLD_TREES",
    "LABELS",
    "LEARNED",
    "LEAST_SQUARES",
    "LINEAR_LEAVES",
    "MISSING_VALUES",
    "NAMES",
    "OPTIONAL",
    "ROW_OFFSETS",
    "SECTIONS",
    "TARGETS",
    "TARGET_ENCODINGS",
    "TEMPORAL_TYPES",
    "VECTORS",
    "UnknownSectionError",
    "pack_sections",
    "unpack_sections",
]

Array = npt.NDArray[Any]

# Sections that only some models have.
NAMES = {"name_start": "uint64", "names": "uint8"}
MISSING_VALUES = {
    "missing_int64": "int64",
    "missing_uint64": "uint64",
    "missing_float64": "float64",
}
TEMPORAL_TYPES = {"feature_moment": "uint8"}
CATEGORIES = {
    "level_start": "uint64",
    "level_type": "uint8",
    "level_bits": "uint64",
    "level_text": "uint8",
}
CATEGORY_SETS = {"set_start": "int64", "level_sets": "uint64"}
LINEAR_LEAVES = {f"line_{name}": dtype.name for name, dtype in LINEAR_LEAF_ARRAYS.items()}
CROSSES = {"cross_operation": "uint8", "cross_sources": "uint32"}
TARGET_ENCODINGS = {
    "statistic_start": "uint64",
    "statistic_sources": "uint32",
    "statistic_key_start": "uint64",
    "statistic_keys": "uint64",
    "statistic_values": "float32",
}
LEAST_SQUARES = {
    "linear_column": "uint32",
    "linear_slope": "float64",
    "linear_centre": "float64",
    "linear_size": "float64",
    "linear_covariance": "float64",
    "linear_sums": "float64",
    "linear_facts": "uint64",
}
VECTORS = {"vector_value": "float64"}
TARGETS = {"target_start": "uint64", "target_names": "uint8"}
ROW_OFFSETS = {
    "row_offset_source": "uint8",
    "row_offset_start": "uint64",
    "row_offset_names": "uint8",
}
LEARNED = {
    "learned_name_start": "uint64",
    "learned_names": "uint8",
    "learned_start": "uint64",
    "learned_values": "float64",
}
FOLD_TREES = {
    f"fold_{name}": dtype
    for name, dtype in {
        "tree_start": "uint64",
        **{name: dtype.name for name, dtype in NODE_ARRAYS.items()},
        **CATEGORY_SETS,
        **LINEAR_LEAVES,
        **VECTORS,
    }.items()
}
FOLD_ENSEMBLES = {"fold_first": "uint64", "fold_base": "float64", **FOLD_TREES}
OPTIONAL = {
    **FOLD_ENSEMBLES,
    **NAMES,
    **MISSING_VALUES,
    **TEMPORAL_TYPES,
    **CATEGORIES,
    **CATEGORY_SETS,
    **LINEAR_LEAVES,
    **CROSSES,
    **TARGET_ENCODINGS,
    **VECTORS,
    **TARGETS,
    **LEAST_SQUARES,
    **ROW_OFFSETS,
    **LEARNED,
}
# The sections of format 1 and their types. All have one dimension.
SECTIONS: dict[str, str] = {
    "base": "float64",
    "offset": "float64",
    "scale": "float64",
    "train_loss": "float64",
    "valid_loss": "float64",
    "tree_start": "uint64",
    **{name: dtype.name for name, dtype in NODE_ARRAYS.items()},
    "feature_kind": "uint8",
    "cut_start": "uint64",
    "cuts": "uint64",
    **OPTIONAL,
}
# The only section of any type, and of one or two dimensions: class labels.
LABELS = "class_labels"

# Bounded, since messages contain the name.
LONGEST_NAME = 64

_TYPES = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
_TYPES += [f"float{bits}" for bits in (16, 32, 64)]
_DTYPES = {name: np.dtype(name).newbyteorder("<") for name in _TYPES}
_ENTRY = {"name", "dtype", "shape", "offset", "size", "optional"}


class UnknownSectionError(ModelFormatError):
    """The file has a required section that this version does not know."""


def pack_sections(arrays: Mapping[str, Array]) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Return the table of sections and their contents.

    Returns
    -------
    table : list of dict
        One entry per section: its name, type, shape, offset, size, and whether a reader that does
        not know it may skip it.
    contents : list of bytes
        The sections, in the order of the table.
    """
    # Largest items first: then every section is aligned without gaps.
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    table: list[dict[str, Any]] = []
    contents: list[bytes] = []
    offset = 0
    for name in names:
        array = arrays[name]
        content = array.astype(_DTYPES[array.dtype.name], order="C", copy=False).tobytes()
        table.append(
            {
                "name": name,
                "dtype": array.dtype.name,
                "shape": list(array.shape),
                "offset": offset,
                "size": len(content),
                # A section that is only displayed may be skipped by a reader.
                "optional": name in TEMPORAL_TYPES,
            }
        )
        contents.append(content)
        offset += len(content)
    return table, contents


def unpack_sections(table: object, data: memoryview) -> dict[str, Array]:
    """Return the sections of a table as read-only views of the data.

    Parameters
    ----------
    table : object
        The table of the header, not yet checked.
    data : memoryview of bytes
        The data part of the file.

    Raises
    ------
    ModelFormatError
        If the table does not describe the data exactly.
    """
    if not isinstance(table, list):
        raise ModelFormatError("its header has no table of sections")
    arrays: dict[str, Array] = {}
    seen: set[str] = set()
    end = 0
    for entry in table:
        _check_entry(entry)
        name = entry["name"]
        if name in seen:
            raise ModelFormatError(f"it has two sections called {name!r}")
        seen.add(name)
        begin, end = end, end + entry["size"]
        if entry["offset"] != begin or end > len(data):
            raise ModelFormatError(f"its section {name!r} is not at the expected position")
        if name in SECTIONS or name == LABELS:
            arrays[name] = _array(entry, data[begin:end])
        elif not entry["optional"]:
            raise UnknownSectionError(f"it has a section {name!r} that this version cannot read")
    if end != len(data):
        raise ModelFormatError("its sections do not cover its data")
    return arrays


def _check_entry(entry: object) -> None:
    """Check the types of the fields of an entry."""
    if not isinstance(entry, dict) or not entry.keys() >= _ENTRY:
        raise ModelFormatError("its table of sections has an incomplete entry")
    shape = entry["shape"]
    if not (
        isinstance(entry["name"], str)
        and len(entry["name"]) <= LONGEST_NAME
        and isinstance(entry["dtype"], str)
        and isinstance(entry["optional"], bool)
        and isinstance(shape, list)
        and all(_is_count(number) for number in (*shape, entry["offset"], entry["size"]))
    ):
        raise ModelFormatError("its table of sections has an invalid entry")


def _is_count(number: object) -> bool:
    return type(number) is int and number >= 0


def _array(entry: dict[str, Any], content: memoryview) -> Array:
    """Return one section as an array in the byte order of this machine."""
    name, shape = entry["name"], entry["shape"]
    dtype = _DTYPES.get(entry["dtype"])
    if dtype is None or len(shape) not in (1, 2):
        raise ModelFormatError(f"its section {name!r} has the wrong type or shape")
    # Python integers do not overflow, so a huge shape cannot wrap around to the right size.
    if math.prod(shape) * dtype.itemsize != len(content) or max(shape) > len(content):
        raise ModelFormatError(f"its section {name!r} has the wrong size")
    flat = np.frombuffer(content, dtype=dtype)
    # No copy on most machines; other writers may leave sections unaligned.
    return np.require(flat.astype(dtype.newbyteorder("="), copy=False), requirements="A").reshape(
        shape
    )
