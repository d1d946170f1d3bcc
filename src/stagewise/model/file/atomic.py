"""Atomic replacement of a file: at every moment it is either the old file or the new one.

The bytes are written to a temporary file in the same directory, flushed to the disk, and only then
renamed. A full disk, an error or a kill before the renaming leaves the old file unchanged.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["open_replacement", "replace_file"]


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes to a file atomically; see `open_replacement`."""
    with open_replacement(path) as file:
        file.write(data)


@contextmanager
def open_replacement(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces a file when the block ends without an error.

    An existing file keeps its permissions, and a symbolic link stays a link.

    Parameters
    ----------
    path : str or path-like
        The file to write; its directory must exist.

    Yields
    ------
    binary file
        Open for writing.

    Raises
    ------
    OSError
        If it cannot be written. The temporary file is removed, and an earlier file is unchanged.
    """
    target = Path(path).resolve()
    mode = _check_target(target, path)
    # Shortened, since the name of the target may already have the maximal length.
    temporary = target.with_name(f".{target.name[:32]}.{os.getpid()}.{secrets.token_hex(8)}.tmp")
    try:
        try:
            with temporary.open("xb") as file:
                if mode is not None:
                    temporary.chmod(mode)
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)  # noqa: PTH105
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        if not _is_of(error, temporary):
            raise
        reason = f"The file cannot be saved, and nothing was changed: {error.strerror or error}"
        raise OSError(error.errno or errno.EIO, reason, os.fspath(path)) from error
    _sync_directory(target.parent)


def _is_of(error: OSError, temporary: Path) -> bool:
    """Return whether an error is about the temporary file: a failed write names no file."""
    return error.errno is not None and error.filename in (None, str(temporary))


def _check_target(target: Path, path: str | os.PathLike[str]) -> int | None:
    """Check that the target can be written; return its permissions if it exists, else None."""
    name = os.fspath(path)
    if not target.parent.is_dir():
        reason = "The file cannot be saved: its directory does not exist, so create it first"
        raise FileNotFoundError(errno.ENOENT, reason, name)
    try:
        status = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        reason = "The file cannot be saved: there is a directory of that name"
        raise IsADirectoryError(errno.EISDIR, reason, name)
    if not stat.S_ISREG(status.st_mode):
        # Renaming over a device or a pipe would break it for other processes.
        reason = "The file cannot be saved: this is a device or a pipe, not a file"
        raise OSError(errno.EINVAL, reason, name)
    if not os.access(target, os.W_OK):
        # Renaming would succeed, but a write-protected file must not be replaced.
        reason = "The file cannot be saved: it exists already and is write-protected"
        raise PermissionError(errno.EACCES, reason, name)
    return stat.S_IMODE(status.st_mode)


def _sync_directory(directory: Path) -> None:
    """Flush a directory to the disk, if the system can.

    The file is complete under either name, so an error here is ignored.
    """
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
