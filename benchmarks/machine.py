"""Describe the machine, and check that no other process uses its cores.

A measured time is valid only if no other process used the cores meanwhile. CPU seconds that were
used on our cores but not by the measured process are counted around every fit; a short busy loop on
all cores checks before a case begins. No host name, user name or path is recorded.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SPIN_SECONDS = 0.3
# A spinning process that got less than this share of its core was not alone.
QUIET_SPIN = 0.95
# Share of all cores that others may use during the timed fits of a case.
QUIET_FOREIGN = 0.03
QUIET_LOAD = 0.6

_SPIN = """
import sys, time
seconds = float(sys.argv[1])
wall, cpu = time.perf_counter(), time.process_time()
while time.perf_counter() - wall < seconds:
    pass
print((time.process_time() - cpu) / (time.perf_counter() - wall))
"""


def usable_cpus() -> list[int]:
    """Return the cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def describe(versions: dict[str, str]) -> dict[str, Any]:
    """Return the properties of the machine that a reader needs to interpret the figures."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(),
        "cores": len(usable_cpus()),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {
            "python": platform.python_version(),
            **dict(sorted(versions.items())),
        },
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    facts: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    flags = facts.get("flags", "").split()
    wide = [name for name in ("avx2", "avx512f") if name in flags]
    name = facts.get("model name", "unknown")
    cache = facts.get("cache size", "")
    return ", ".join(part for part in (name, " ".join(wide), cache and f"L2 {cache}") if part)


def spin_shares() -> list[float]:
    """Spin on every usable core at once; return the share of its core each process got."""
    spinners = [start_spinner(cpu, SPIN_SECONDS) for cpu in usable_cpus()]
    return [float(spinner.communicate()[0]) for spinner in spinners]


def start_spinner(cpu: int, seconds: float) -> subprocess.Popen[str]:
    """Keep one core busy for a while."""
    command = [sys.executable, "-c", _SPIN, str(seconds)]
    spinner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(spinner.pid, {cpu})
    return spinner


def check_quiet(*, load_too: bool = False) -> list[str]:
    """Return the reasons why timings would be unreliable now; an empty list on a quiet machine."""
    doubts = []
    if load_too and os.getloadavg()[0] > QUIET_LOAD:
        doubts.append(f"load average {os.getloadavg()[0]:.2f}")
    shares = spin_shares()
    if min(shares) < QUIET_SPIN:
        doubts.append("a spinning process got " + ", ".join(f"{s:.0%}" for s in shares))
    return doubts


class ForeignTime:
    """CPU seconds that other processes used on our cores while a block ran (0 where unknown)."""

    def __enter__(self) -> ForeignTime:
        self._wall = time.perf_counter()
        self._before = _busy_seconds()
        self._own = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        own = time.process_time() - self._own
        after = _busy_seconds()
        self.wall = time.perf_counter() - self._wall
        known = after is not None and self._before is not None
        # The kernel counts in ticks of 10 ms, so one short block may come out a little negative;
        # only the sum over a case is meaningful.
        self.seconds = after - self._before - own if known else 0.0  # type: ignore[operator]
        self.capacity = self.wall * len(usable_cpus())


def _busy_seconds() -> float | None:
    """Seconds in which our cores were not idle since the start, stolen time included."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return None
    wanted = {f"cpu{cpu}" for cpu in usable_cpus()}
    ticks = 0
    for line in lines:
        name, *fields = line.split()
        if name in wanted:
            user, nice, system, _idle, _wait, irq, soft, steal = map(int, fields[:8])
            ticks += user + nice + system + irq + soft + steal
    return ticks / os.sysconf("SC_CLK_TCK")
