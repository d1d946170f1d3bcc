"""Model files: encodes a model as bytes, and decodes and checks them.

Everything in a file is checked before it is used: first the frame (magic, version, length,
SHA-256), then the header, the table of sections, and every array. docs/file-format.md is the
specification. This module must never unpickle, follow a reference out of the file, or try another
format.
"""

from __future__ import annotations

import errno
import hashlib
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stagewise.errors import ModelFormatError
from stagewise.model.file.atomic import replace_file
from stagewise.model.file.contents import pack, unpack
from stagewise.model.file.header import MAX_HEADER, dump_header, parse_header
from stagewise.model.file.sections import UnknownSectionError, pack_sections, unpack_sections
from stagewise.model.model import Model
from stagewise.validation.parameters import nearest_name

__all__ = ["decode", "encode", "read_model", "write_model"]

# Not text, and with both kinds of line ends, so that a transfer in text mode is detected.
MAGIC = b"\x93STGW\r\n\x1a"
MAJOR, MINOR = 1, 7

# Magic, major version, minor version, length of the header.
_PREFIX = struct.Struct("<8sIIQ")
# Length of the file, SHA-256 of all bytes before it.
_FOOTER = struct.Struct("<Q32s")

_DAMAGED = "the file is damaged or was not written by Stagewise, so get a fresh copy of it"
_UPGRADE = "upgrade Stagewise to load it"


def encode(model: Model, estimator: Mapping[str, Any] | None = None) -> bytes:
    """Return a model as the bytes of a model file.

    Equal models and estimators give equal bytes, on every machine.

    Parameters
    ----------
    model : Model
        The model.
    estimator : mapping, optional
        The data that restore an estimator: ``class`` (a str), ``params`` (a dict), and other
        entries of the estimator. Values are None, bool, int, finite float, str, and lists and dicts
        of these; NumPy scalars are converted, and tuples become lists.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        If something cannot be stored; the message names it.
    """
    try:
        facts, arrays = pack(model, estimator or {})
        unpack(facts, arrays)
        table, contents = pack_sections(arrays)
        header = dump_header({**facts, "sections": table})
    except ValueError as fault:
        # Also errors of `unpack`: a file that could not be read again is not written.
        raise ValueError(f"The model cannot be saved: {fault}.") from fault
    parts = [_PREFIX.pack(MAGIC, MAJOR, MINOR, len(header)), header, *contents]
    length = sum(map(len, parts)) + _FOOTER.size
    parts.append(length.to_bytes(8, "little"))
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join([*parts, digest.digest()])


def decode(data: bytes | bytearray | memoryview) -> tuple[Model, dict[str, Any]]:
    """Read a model from the bytes of a model file.

    Time and memory are proportional to the number of bytes, whatever they contain.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        The whole file. A mutable buffer is copied first.

    Returns
    -------
    model : Model
        Its tree arrays are read-only, and share the memory of `data`.
    estimator : dict
        As passed to `encode`; empty if none was passed.

    Raises
    ------
    ModelFormatError
        If the bytes are not a complete and valid model that this version can read.
    """
    data = bytes(data)
    header_length = _check_prefix(data)
    try:
        _check_frame(data, header_length)
        view = memoryview(data)
        begin = _PREFIX.size + header_length
        header = parse_header(bytes(view[_PREFIX.size : begin]))
        arrays = unpack_sections(header.get("sections"), view[begin : -_FOOTER.size])
        return unpack(header, arrays)
    except UnknownSectionError as fault:
        raise ModelFormatError(f"The model cannot be loaded: {fault}; {_UPGRADE}.") from None
    except ModelFormatError as fault:
        raise ModelFormatError(f"The model cannot be loaded: {fault}; {_DAMAGED}.") from None


def _check_prefix(data: bytes) -> int:
    """Check the magic and the version of a model file.

    Returns
    -------
    int
        The length of the header.
    """
    if not data:
        raise ModelFormatError("The file is empty, so it is not a Stagewise model.")
    if data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise ModelFormatError(
            "The file is not a Stagewise model: its first bytes are different. "
            "Load a file that was written by save()."
        )
    if len(data) < _PREFIX.size:
        raise ModelFormatError(f"The model cannot be loaded: it is cut short; {_DAMAGED}.")
    _, major, minor, header_length = _PREFIX.unpack_from(data)
    if major != MAJOR:
        raise ModelFormatError(
            f"The model has file format {major}.{minor}, but this version of Stagewise reads "
            f"format {MAJOR}; {_UPGRADE if major > MAJOR else _DAMAGED}."
        )
    assert isinstance(header_length, int)
    return header_length


def _check_frame(data: bytes, header_length: int) -> None:
    """Check the length and the checksum of the file."""
    if len(data) < _PREFIX.size + _FOOTER.size:
        raise ModelFormatError("it is cut short")
    length, digest = _FOOTER.unpack_from(data, len(data) - _FOOTER.size)
    if length != len(data):
        raise ModelFormatError("it is cut short, or something was added to it")
    if hashlib.sha256(memoryview(data)[: -len(digest)]).digest() != digest:
        raise ModelFormatError("its checksum does not match its contents")
    if header_length > min(MAX_HEADER, len(data) - _PREFIX.size - _FOOTER.size):
        raise ModelFormatError("its header is longer than it can be")


def write_model(
    path: str | os.PathLike[str], model: Model, estimator: Mapping[str, Any] | None = None
) -> None:
    """Save a model to a file atomically.

    Parameters
    ----------
    path : str or path-like
        The file; by convention its name ends in ``.stgw``. The directory must exist.
    model : Model
        The model.
    estimator : mapping, optional
        The data that restore an estimator; see `encode`.

    Raises
    ------
    ValueError
        If something cannot be stored; the message names it.
    OSError
        If the file cannot be written; a file that was there before is unchanged.
    """
    replace_file(path, encode(model, estimator))


def _no_file(path: Path) -> str:
    """Return the reason why a model file was not found, with its folder."""
    folder = path.absolute().parent
    if not folder.is_dir():
        return f"The model cannot be loaded: there is no folder {str(folder)!r}"
    near = nearest_name(path.name, (own.name for own in folder.glob("*.stgw")))
    hint = f" ({near.strip()})" if near else ""
    return f"The model cannot be loaded: the folder {str(folder)!r} has no such file{hint}"


def read_model(path: str | os.PathLike[str]) -> tuple[Model, dict[str, Any]]:
    """Load a model from a file.

    Parameters
    ----------
    path : str or path-like
        A file that `write_model` wrote.

    Returns
    -------
    model : Model
    estimator : dict

    Raises
    ------
    ModelFormatError
        If the file is not a complete and valid model that this version can read.
    OSError
        If there is no such file, or it cannot be read.
    """
    path = Path(path)
    if path.is_dir():
        reason = "The model cannot be loaded: this is a directory, not a file"
        raise IsADirectoryError(errno.EISDIR, reason, str(path))
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, _no_file(path), str(path))
    try:
        with path.open("rb") as file:
            # Checked before the rest is read: another file may be of any length.
            _check_prefix(file.read(_PREFIX.size))
            file.seek(0)
            data = file.read()
        return decode(data)
    except ModelFormatError as fault:
        raise ModelFormatError(f"{path}: {fault}") from None
