"""Contenders in turn, each turn in a process of its own, with its peak memory.

A script that uses it starts itself again with the arguments of one turn, prints one line of JSON
and ends. A turn that fails is left out; the others go on.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import machine

POLL_SECONDS = 0.05

Facts = dict[str, Any]


def peak_memory() -> float:
    """Return the peak of the resident memory of this process, in MB.

    `getrusage` would also count the process that started this one.
    """
    return _status("self", "VmHWM")


def _status(process: str, field: str) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), 0.0)


class Growth:
    """The growth of the resident memory of this process to its peak."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self._begin = _status("self", "VmRSS")

    def megabytes(self) -> float:
        """Return the peak so far beyond the begin."""
        return peak_memory() - self._begin


def run_turn(argv: Sequence[str], time_limit: float) -> Facts | None:
    """Run one turn; return what it printed and its peak of anonymous memory; None: it failed.

    The peak of resident memory includes pages of mapped files, which the system can take back.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([sys.executable, *argv], stdout=out, stderr=errors, text=True)
        anonymous, deadline = 0.0, time.monotonic() + time_limit
        while process.poll() is None:
            if time.monotonic() > deadline:
                process.kill()
            # The process may end meanwhile; its status has no such field then, or is gone.
            with suppress(OSError):
                anonymous = max(anonymous, _status(str(process.pid), "RssAnon"))
            time.sleep(POLL_SECONDS)
        out.seek(0)
        errors.seek(0)
        if process.returncode:
            last = (errors.read().strip().splitlines() or ["no message"])[-1]
            print(f"left out: status {process.returncode}, {last}", file=sys.stderr)
            return None
        found: Facts = json.loads(out.read().strip().splitlines()[-1])
        return found | {"anonymous_mb": anonymous}


def take_turns(
    names: Sequence[str],
    repeats: int,
    argv: Callable[[str], Sequence[str]],
    *,
    before: Callable[[], None] = lambda: None,
    time_limit: float = 3600.0,
) -> dict[str, Any]:
    """Run each contender in each round; return the turns, and the share others had of the cores.

    Parameters
    ----------
    names : sequence of str
        The contenders.
    repeats : int
        The rounds; each begins with another contender.
    argv : callable
        Returns the arguments of a turn, from the script on.
    before : callable
        Called before each turn.
    time_limit : float
        The longest turn, in seconds.
    """
    entries: dict[str, list[Facts]] = {name: [] for name in names}
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    with machine.ForeignTime() as foreign:
        for turn in range(repeats):
            first = turn % len(names)
            for name in [*names[first:], *names[:first]]:
                before()
                print(f"round {turn + 1}, {name}: ", end="", file=sys.stderr, flush=True)
                found = run_turn(argv(name), time_limit)
                if found is not None:
                    entries[name].append(found)
                    print(json.dumps(found)[:300], file=sys.stderr, flush=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - own.ru_utime - own.ru_stime
    busy = max(0.0, (foreign.seconds - used) / foreign.capacity)
    return {"foreign": busy, "entries": {name: turns for name, turns in entries.items() if turns}}


def medians(entries: dict[str, list[Facts]]) -> dict[str, dict[str, float]]:
    """Return the median of each number of each contender."""
    return {
        name: {
            key: statistics.median(turn[key] for turn in turns)
            for key, value in turns[0].items()
            if isinstance(value, (int, float))
        }
        for name, turns in entries.items()
    }


def package_versions(*more: str) -> dict[str, str]:
    """Return the versions of the packages of the benchmarks of files, and of more packages."""
    found = {}
    for name in ("stagewise", "pyarrow", "lightgbm", "xgboost", *more):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a build without GPU has another name
            found[name] = version(f"{name}-cpu")
    return found


def quiet_line(foreign: float) -> str:
    """Return a sentence about the use of the cores by others."""
    if foreign > machine.QUIET_FOREIGN:
        return f"The machine was **busy**: others took {foreign:.0%} of it. Measure again."
    return "The machine was quiet."


def machine_line(facts: Facts) -> str:
    """Return the processor and the versions in one line."""
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return f"{facts['processor']}, {facts['cores']} cores, {facts['memory']}; {versions}"
