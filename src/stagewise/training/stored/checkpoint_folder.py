"""Checkpoints in a folder: a fit that was killed resumes from its last rounds, with the same bytes.

Each stage of a fit has one file, to which new rounds are appended in records with a checksum. A
record that is incomplete or damaged ends the file: the fit resumes from the rounds before it. The
key of the fit (its parameters and its rows) is in a file of its own; another fit is refused.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from stagewise.model.file.atomic import replace_file
from stagewise.training.stored.checkpoint import STAGES, Rounds
from stagewise.training.stored.round_records import (
    Record,
    decode_record,
    encode_record,
    join_records,
)

__all__ = ["CheckpointFolder"]

KEY_FILE, LOCK_FILE, ENDING = "checkpoint.json", "checkpoint.lock", ".rounds"
SECONDS = 5.0
"""The default time between two writes."""
SHOWN = 3
"""The most differences in the message about another key."""


class CheckpointFolder:
    """Keeps the rounds of a fit in a folder; see `Checkpoints`.

    Parameters
    ----------
    folder : Path
        The folder, which is created if it does not exist. One process can use it at a time.
    key : mapping of str to str
        What the model depends on: the parameters, the rows, the version.
    seconds : float
        The least time between two writes; 0: every round is written.

    Attributes
    ----------
    resumed : dict of str to int
        The number of rounds that each stage has resumed from.

    Raises
    ------
    ValueError
        If the folder has the checkpoint of a fit with another key.
    OSError
        If the folder cannot be used, or another process uses it.
    """

    def __init__(self, folder: Path, key: Mapping[str, str], seconds: float = SECONDS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.resumed: dict[str, int] = {}
        self._lock = _lock(folder)
        try:
            known = _read_key(folder / KEY_FILE)
            if known is not None and known != key:
                raise ValueError(_differences(folder, known, key))
            if known is None:
                # Files without a key may be those of another fit.
                for stage in STAGES:
                    (folder / f"{stage}{ENDING}").unlink(missing_ok=True)
                replace_file(folder / KEY_FILE, json.dumps(dict(key), indent=1).encode())
            self._files = {s: _RoundFile(folder / f"{s}{ENDING}", seconds) for s in STAGES}
        except BaseException:
            self._unlock()
            raise

    def load(self, stage: str) -> Rounds | None:
        """Return the rounds of a stage to resume from; None: there are none."""
        rounds = self._files[stage].resume()
        self.resumed[stage] = 0 if rounds is None else rounds.n
        return rounds

    def save(self, stage: str, rounds: Rounds) -> None:
        """Keep the rounds of a stage so far; they are written a few seconds later at most."""
        for name, file in self._files.items():
            if name != stage:
                file.write()
        self._files[stage].add(rounds)

    @property
    def n_rounds(self) -> int:
        """The number of rounds of all stages that were loaded or saved."""
        return sum(file.n_rounds for file in self._files.values())

    def rows_are_stored(self) -> None:
        """Do nothing: the rows are read again when a fit resumes."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Write the rounds that are not written yet; let other processes use the folder."""
        if self._lock < 0:
            return
        try:
            for file in self._files.values():
                file.write()
        finally:
            self._unlock()

    def remove(self) -> None:
        """Remove the files after a complete fit, and the folder if it is then empty."""
        for file in self._files.values():
            file.path.unlink(missing_ok=True)
        (self.folder / KEY_FILE).unlink(missing_ok=True)
        for temporary in self.folder.glob(f".{KEY_FILE}.*.tmp"):  # of a process that was killed
            temporary.unlink(missing_ok=True)
        (self.folder / LOCK_FILE).unlink(missing_ok=True)
        self._unlock()
        with suppress(OSError):
            self.folder.rmdir()

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1


class _RoundFile:
    """The rounds of one stage: those in the file, and those that follow and are not written yet.

    Parameters
    ----------
    path : Path
        The file.
    seconds : float
        The least time between two writes.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self.path, self._seconds = path, seconds
        self.n_rounds = 0  # in the file and pending
        self._pending: list[Record] = []
        self._written_at = time.monotonic()

    def resume(self) -> Rounds | None:
        """Return the rounds of the file; what follows the last complete record is removed."""
        if not self.path.exists():
            return None
        data, end = memoryview(self.path.read_bytes()), 0
        records: list[Record] = []
        n = 0
        while (found := decode_record(data[end:], n)) is not None:
            records.append(found[0])
            end, n = end + found[1], n + found[0].n_rounds
        if end < len(data):
            os.truncate(self.path, end)
        self.n_rounds = n
        return join_records(records) if records else None

    def add(self, rounds: Rounds) -> None:
        """Add the rounds that are new; write them if the last write is long ago."""
        if rounds.n > self.n_rounds:
            self._pending.append(Record.following(self.n_rounds, rounds))
            self.n_rounds = rounds.n
        if time.monotonic() - self._written_at >= self._seconds:
            self.write()

    def write(self) -> None:
        """Append the rounds that are not written yet to the file."""
        if not self._pending:
            return
        record = encode_record(self._pending[0].first, join_records(self._pending))
        end = self.path.stat().st_size if self.path.exists() else 0
        try:
            with self.path.open("ab") as file:
                file.write(record)
                file.flush()
                os.fsync(file.fileno())
        except BaseException as error:
            # Records after an incomplete one could not be read.
            with suppress(OSError):
                os.truncate(self.path, end)
            if isinstance(error, OSError):
                reason = f"The checkpoint cannot be written: {error.strerror or error}"
                raise OSError(error.errno or errno.EIO, reason, str(self.path)) from error
            raise
        self._pending.clear()
        self._written_at = time.monotonic()


def _lock(folder: Path) -> int:
    """Return the descriptor of a file that this process has locked; the end of it unlocks it."""
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise OSError(
            f"Another process uses the checkpoint folder {str(folder)!r}; wait until it ends, or "
            "name another folder."
        ) from error
    except OSError:  # the file system has no locks
        pass
    return descriptor


def _read_key(path: Path) -> dict[str, str] | None:
    """Return the key of the fit whose rounds are in the folder; None: there is none."""
    try:
        key = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        key = None
    if not isinstance(key, dict):
        raise ValueError(
            f"The checkpoint {str(path)!r} is damaged; delete it to train from the first round."
        )
    return key


def _differences(folder: Path, known: Mapping[str, str], key: Mapping[str, str]) -> str:
    """Return the message about the checkpoint of another fit."""
    names = [n for n in dict.fromkeys([*key, *known]) if known.get(n) != key.get(n)]
    shown = [
        f"{name} is {known.get(name, 'absent')} there and {key.get(name, 'absent')} now"
        for name in names[:SHOWN]
    ]
    more = f", and {len(names) - SHOWN} more differences" if len(names) > SHOWN else ""
    return (
        f"The folder {str(folder)!r} has a checkpoint of another fit: {'; '.join(shown)}{more}. "
        "Resume with the same files and parameters, name another folder, or delete this one."
    )
