"""Arrow: its late import, and the types of columns that come from several files.

Importing this package does not import pyarrow. This module must not read files.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["arrow_types", "common_type", "reason_of", "release_memory", "require_pyarrow"]


def require_pyarrow() -> None:
    """Raise ImportError, with the remedy, if pyarrow is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ImportError(
            "Datasets need pyarrow; install it with: pip install 'stagewise[datasets]'"
        )


def arrow_types(types: Mapping[str, Any] | None) -> dict[str, pa.DataType]:
    """Return the types that a caller has passed as Arrow types or by their names."""
    import pyarrow as pa

    found = {}
    for name, kind in (types or {}).items():
        try:
            found[name] = kind if isinstance(kind, pa.DataType) else pa.type_for_alias(kind)
        except (TypeError, ValueError, KeyError) as error:
            raise ValueError(
                f"types[{name!r}] is {kind!r}, which is not an Arrow type; pass a type such as "
                "pyarrow.float64(), or its name, such as 'double' or 'string'."
            ) from error
    return found


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the type that columns of two files share; None if the types differ.

    A column without values has a type of its own, which agrees with all others. Texts agree,
    whatever the width of their offsets, and so do dictionaries of the same values.
    """
    import pyarrow as pa
    from pyarrow import types

    if one == other or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    if _is_text(one) and _is_text(other):
        return pa.large_string()
    if types.is_dictionary(one) and types.is_dictionary(other):
        values = common_type(one.value_type, other.value_type)
        return None if values is None else pa.dictionary(pa.int32(), values)
    return None


def _is_text(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def reason_of(error: BaseException) -> str:
    """Return the first line of an error of Arrow, without a full stop."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def release_memory() -> None:
    """Return the memory that Arrow keeps for later to the system."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
