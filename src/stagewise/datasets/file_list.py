"""The files of a dataset: files, folders and patterns become a sorted list of files.

The size and the time of the last change of each file are recorded, so that a file that changes
between two passes is an error. Folders such as ``year=2024`` are values of columns. This module
must not read the contents of files.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

__all__ = ["DataFile", "find_files"]

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The folder value of a missing value."""


@dataclass(frozen=True)
class DataFile:
    """One file of a dataset.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Its path below the folder, or below the fixed part of the pattern, that was passed.
    size, changed_at : int
        The number of bytes, and the time of the last change in nanoseconds, when it was opened.
    partition : tuple of (str, str or None)
        The names and values of the folders ``name=value`` directly above the file.
    """

    path: Path
    name: str
    size: int
    changed_at: int
    partition: tuple[tuple[str, str | None], ...] = ()

    @classmethod
    def record(cls, path: Path, root: Path) -> DataFile:
        """Return the description of a file below a folder."""
        status = path.stat()
        name = path.relative_to(root).as_posix()
        return cls(path, name, status.st_size, status.st_mtime_ns, _partition(path))

    def check(self) -> None:
        """Raise if the file has changed, or is gone, since it was recorded."""
        try:
            status = self.path.stat()
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{str(self.path)!r} has disappeared since the dataset was opened; restore the "
                "file, or open the dataset again."
            ) from error
        if (status.st_size, status.st_mtime_ns) != (self.size, self.changed_at):
            raise ValueError(
                f"{str(self.path)!r} has changed since the dataset was opened; open the dataset "
                "again, and do not write to its files while it is used."
            )


def find_files(source: Any, endings: Sequence[str]) -> tuple[DataFile, ...]:
    """Return the files of a source, sorted by path, each once.

    Parameters
    ----------
    source : str, path, or list of these
        Files, folders, which are searched recursively, or patterns with ``*``, ``?``, ``[…]`` and
        ``**``.
    endings : sequence of str
        The endings of the files of a folder that are read, in lower case.

    Raises
    ------
    FileNotFoundError
        If a file does not exist, a pattern matches nothing, or a folder has no such file.
    """
    one = isinstance(source, (str, os.PathLike))
    sources: Iterable[Any] = [source] if one else source
    roots: dict[Path, Path] = {}
    for each in sources:
        if not isinstance(each, (str, os.PathLike)):
            raise TypeError(
                f"A source of files must be a path, a pattern or a list of these; got a "
                f"{type(each).__name__}. Pass other data to read_batches."
            )
        for path, root in _expand(Path(each), endings):
            roots.setdefault(path, root)
    if not roots:
        raise FileNotFoundError("The list of files is empty; pass at least one file or folder.")
    return tuple(DataFile.record(path, roots[path]) for path in sorted(roots))


def _expand(path: Path, endings: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Yield the files of a file, a folder or a pattern, and the folder that they are below."""
    if path.is_dir():
        found = [each for each in path.rglob("*") if _is_part(each, path, endings)]
        if not found:
            raise FileNotFoundError(
                f"The folder {str(path)!r} has no file that ends in {' or '.join(endings)}; "
                "check the path."
            )
        yield from ((each, path) for each in found)
    elif path.exists():
        yield path, path.parent
    elif glob.has_magic(str(path)):
        root = _fixed_part(path)
        found = [Path(each) for each in glob.glob(str(path), recursive=True)]  # noqa: PTH207
        if not found:
            raise FileNotFoundError(
                f"No file matches {str(path)!r}; check the folder and the pattern."
            )
        for each in found:
            if each.is_dir():
                yield from (
                    (part, root) for part in each.rglob("*") if _is_part(part, each, endings)
                )
            else:
                yield each, root
    else:
        raise FileNotFoundError(f"There is no file {str(path)!r}; check the path.")


def _is_part(path: Path, folder: Path, endings: Sequence[str]) -> bool:
    """Return whether a file in a folder is data: it has an ending, and no part is hidden."""
    hidden = any(
        part.startswith(".") or (part.startswith("_") and "=" not in part)
        for part in path.relative_to(folder).parts
    )
    return not hidden and path.name.lower().endswith(tuple(endings)) and path.is_file()


def _fixed_part(pattern: Path) -> Path:
    """Return the folder of a pattern above its first part with a wildcard."""
    fixed = [part.parent for part in (pattern, *pattern.parents) if glob.has_magic(part.name)]
    return fixed[-1]


def _partition(path: Path) -> tuple[tuple[str, str | None], ...]:
    """Return names and values of the folders ``name=value`` directly above a file."""
    found: list[tuple[str, str | None]] = []
    for folder in path.parents:
        name, sign, value = folder.name.partition("=")
        if not sign or not name:
            break
        found.append((unquote(name), None if value == NULL_PARTITION else unquote(value)))
    return tuple(reversed(found))
