"""The offsets that a model needs for predictions, to and from the sections of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.row_offset import NO_OFFSET, RowOffset
from stagewise.errors import ModelFormatError
from stagewise.model.file.sections import ROW_OFFSETS

__all__ = ["pack_row_offset", "unpack_row_offset"]

Array = npt.NDArray[Any]

ABSENT, PASSED, COLUMN = range(3)


def pack_row_offset(row_offset: RowOffset) -> dict[str, Array]:
    """Return the sources and the columns of offset and exposure; empty if there are none."""
    if not row_offset:
        return {}
    values = row_offset.offset, row_offset.exposure
    kinds = [COLUMN if isinstance(v, str) else PASSED if v else ABSENT for v in values]
    texts = [v.encode("utf-8", "surrogatepass") if isinstance(v, str) else b"" for v in values]
    return {
        "row_offset_source": np.array(kinds, np.uint8),
        "row_offset_start": np.cumsum([0, *map(len, texts)], dtype=np.uint64),
        "row_offset_names": np.frombuffer(b"".join(texts), dtype=np.uint8),
    }


def unpack_row_offset(arrays: Mapping[str, Array]) -> RowOffset:
    """Return the checked offsets.

    Parameters
    ----------
    arrays : mapping of str to array
        Of the types that ``sections.py`` lists.

    Raises
    ------
    ModelFormatError
        If they are not an offset, an exposure or both.
    """
    given = {name: arrays[name] for name in ROW_OFFSETS if name in arrays}
    if not given:
        return NO_OFFSET
    if given.keys() != ROW_OFFSETS.keys():
        raise ModelFormatError("it has only some of the sections of offsets")
    kinds, start, names = (given[name] for name in ROW_OFFSETS)
    if len(kinds) != 2 or kinds.max() > COLUMN or not kinds.any() or len(start) != 3:
        raise ModelFormatError("it has no valid source of an offset or an exposure")
    bounds, text = [int(place) for place in start], names.tobytes()
    if bounds[0] != 0 or bounds != sorted(bounds) or bounds[-1] != len(text):
        raise ModelFormatError("the names of its offset columns do not fit their text")
    sources: list[bool | str] = []
    for k, kind in enumerate(kinds.tolist()):
        own = text[bounds[k] : bounds[k + 1]]
        if own and kind != COLUMN:
            raise ModelFormatError("it has the name of an offset column that it does not use")
        try:
            sources.append(own.decode("utf-8", "surrogatepass") if kind == COLUMN else bool(kind))
        except UnicodeDecodeError:
            raise ModelFormatError("the name of an offset column is not valid text") from None
    return RowOffset(*sources)
