"""The header of a model file: a strict subset of JSON.

The header is the only text in the file, so it is the only part in which deep nesting, duplicate
keys or numbers that are not finite could occur. It is therefore ASCII, nested at most eight deep,
without duplicate keys, and all numbers are finite. This module converts values to text and back; it
must not import models.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from stagewise.errors import ModelFormatError

__all__ = [
    "MAX_DEPTH",
    "MAX_HEADER",
    "dump_header",
    "from_json",
    "is_storable_integer",
    "parse_header",
    "to_json",
]

MAX_DEPTH = 8
# Parsed JSON takes up to thirty times the memory of its text; this bounds it.
MAX_HEADER = 4 * 2**20

# A mapping whose keys are not all text is written as {"$pairs": [[key, value], ...]}.
PAIRS = "$pairs"

_LONGEST_INTEGER = len(str(-(2**64)))


def is_storable_integer(value: int) -> bool:
    """Return whether a signed or unsigned 64-bit integer can hold the value."""
    return -(2**63) <= value < 2**64


def dump_header(header: Mapping[str, Any]) -> bytes:
    """Return a header as canonical text, padded with spaces to a multiple of eight bytes.

    Raises
    ------
    ValueError
        If the text is longer than `MAX_HEADER`.
    """
    text = json.dumps(
        header, ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":")
    ).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise ValueError(
            f"the parameters and labels take {len(text)} bytes as text, "
            f"but a model file holds at most {MAX_HEADER}"
        )
    return text


def parse_header(text: bytes) -> dict[str, Any]:
    """Parse the text of a header strictly.

    Raises
    ------
    ModelFormatError
        If the text is not a JSON object of the strict subset of this module.
    """
    if not text.isascii():
        raise ModelFormatError("its header holds bytes that are not ASCII")
    if _depth(text) > MAX_DEPTH:
        raise ModelFormatError(f"its header is nested more than {MAX_DEPTH} levels deep")
    try:
        # Decoded here, since json.loads would guess UTF-16 for bytes that contain zeros.
        header = json.loads(
            text.decode("ascii"),
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        raise ModelFormatError(
            f"its header is not valid JSON ({error.msg}, at byte {error.pos})"
        ) from None
    if not isinstance(header, dict):
        raise ModelFormatError("its header is not a JSON object")
    return header


def _depth(text: bytes) -> int:
    """Return the nesting depth of brackets outside of strings, without recursion."""
    unescaped = text.replace(rb"\\", b"").replace(rb"\"", b"")
    structure = np.frombuffer(b"".join(unescaped.split(b'"')[::2]), dtype=np.uint8)
    opened = (structure == ord("[")) | (structure == ord("{"))
    closed = (structure == ord("]")) | (structure == ord("}"))
    steps = opened.astype(np.int32) - closed
    return int(np.cumsum(steps).max(initial=0))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ModelFormatError("its header has a key twice")
    return result


def _refuse_constant(text: str) -> NoReturn:
    raise ModelFormatError(f"its header holds {text}, which is not a finite number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ModelFormatError("its header holds a number too large for a double")
    return value


def _integer(text: str) -> int:
    # The length is checked first: converting a million digits takes quadratic time.
    if len(text) <= _LONGEST_INTEGER and is_storable_integer(value := int(text)):
        return value
    raise ModelFormatError("its header holds an integer of more than 64 bits")


def to_json(value: object, what: str, depth: int) -> Any:
    """Return a value as JSON values of the header.

    Parameters
    ----------
    value : object
        None, a bool, int, finite float or str; or a list, tuple or dict of these. NumPy scalars
        become their Python counterparts, tuples become lists.
    what : str
        The description of the value, with which error messages begin.
    depth : int
        The nesting depth of the value in the header.

    Raises
    ------
    ValueError
        If the value cannot be stored; the message begins with `what`.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        if not is_storable_integer(value):
            raise ValueError(f"{what} holds an integer of more than 64 bits")
        return value
    if type(value) is float:
        if not math.isfinite(value):
            raise ValueError(f"{what} holds {value}, but only finite numbers can be stored")
        return value
    if type(value) not in (list, tuple, dict):
        raise ValueError(
            f"{what} holds a value of type {type(value).__name__}, but only None, bool, int, "
            "float, str, and lists and dicts of these can be stored"
        )
    if depth >= MAX_DEPTH:
        raise ValueError(f"{what} is nested too deeply to be stored")
    if isinstance(value, dict):
        return _dict_to_json(value, what, depth + 1)
    assert isinstance(value, list | tuple)
    return [to_json(item, what, depth + 1) for item in value]


def _dict_to_json(value: dict[Any, Any], what: str, depth: int) -> dict[str, Any]:
    if any(isinstance(key, tuple) for key in value):
        raise ValueError(f"{what} holds a dict with a tuple for a key, which cannot be stored")
    keys = [to_json(key, what, depth) for key in value]
    if all(isinstance(key, str) and key != PAIRS for key in keys):
        items = [to_json(item, what, depth) for item in value.values()]
        return dict(zip(keys, items, strict=True))
    return {PAIRS: to_json(list(zip(keys, value.values(), strict=True)), what, depth)}


def from_json(value: Any) -> Any:
    """Return the inverse of `to_json`; values of `parse_header` have a bounded depth.

    Raises
    ------
    ModelFormatError
        If the pairs of a dict are not pairs, or have a key twice.
    """
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if PAIRS not in value:
        return {key: from_json(item) for key, item in value.items()}
    pairs = value[PAIRS]
    if len(value) != 1 or not isinstance(pairs, list) or not all(map(_is_pair, pairs)):
        raise ModelFormatError("its header has an invalid list of pairs")
    result = {key: from_json(item) for key, item in pairs}
    if len(result) != len(pairs):
        raise ModelFormatError("its header has a key twice")
    return result


def _is_pair(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and not isinstance(item[0], list | dict)
