"""Replacing a file so that it is at every moment either the old one or the new one.

The one idea: the new bytes go to a file of their own in the same directory, reach the disk, and
only then take the name. A full disk, an error or a kill before that moment harms nothing. This file
must not know what the bytes are.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write bytes to a file, all or nothing.

    The file keeps its permissions if it was there before, and a link stays a link.

    Parameters
    ----------
    path : str or path-like
        The file to write; its directory must exist.
    data : bytes
        What it shall hold.

    Raises
    ------
    OSError
        If it cannot be written. No temporary file is left, and an earlier file is unchanged.
    """
    target = Path(path).resolve()
    mode = _check_target(target, path)
    # Short, since the name of the target may already be as long as names can be.
    temporary = target.with_name(f".{target.name[:32]}.{os.getpid()}.{secrets.token_hex(8)}.tmp")
    try:
        try:
            _write(temporary, data, mode)
            os.replace(temporary, target)  # noqa: PTH105
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        reason = f"The file cannot be saved, and nothing was changed: {error.strerror or error}"
        raise OSError(error.errno or errno.EIO, reason, os.fspath(path)) from error
    _sync_directory(target.parent)


def _check_target(target: Path, path: str | os.PathLike[str]) -> int | None:
    """Check that the target can be a file; return its permissions if it is one already."""
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
        # Taking the name of a device or a pipe would break it for everyone else.
        reason = "The file cannot be saved: this is a device or a pipe, not a file"
        raise OSError(errno.EINVAL, reason, name)
    if not os.access(target, os.W_OK):
        # Renaming would not ask, but whoever protected the file meant it.
        reason = "The file cannot be saved: there is one already, and it is protected"
        raise PermissionError(errno.EACCES, reason, name)
    return stat.S_IMODE(status.st_mode)


def _write(path: Path, data: bytes, mode: int | None) -> None:
    """Create a file with these bytes, and see them onto the disk."""
    with path.open("xb") as file:
        if mode is not None:
            path.chmod(mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(directory: Path) -> None:
    """See the new name onto the disk, where the system can.

    The file is whole under either name, so a directory that cannot be synced is no failure.
    """
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
