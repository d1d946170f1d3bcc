"""The number of threads, and the native object that owns them.

The number is what this process may use, not what the machine has: its CPU affinity and the quota of
its cgroup. There is no global state: every fit and every predict creates its own workers.
"""

from __future__ import annotations

import math
import numbers
import os
from pathlib import Path
from typing import Any

from stagewise._native import Workers, supported_isas
from stagewise.errors import InvalidParameterError

__all__ = ["available_threads", "make_workers", "thread_count"]

_CGROUP = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")


def _quota_v2() -> float:
    """Return the number of CPUs that cgroup v2 allows, over all groups up to the root."""
    limit = math.inf
    own = _OWN_CGROUP.read_text(encoding="utf-8", errors="replace")
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers:
            continue
        group = _CGROUP / path.lstrip("/")
        for folder in (group, *group.parents):
            if not folder.is_relative_to(_CGROUP):
                break
            file = folder / "cpu.max"
            if file.exists():
                quota, period = file.read_text(encoding="ascii").split()
                if quota != "max":
                    limit = min(limit, int(quota) / int(period))
    return limit


def _quota_v1() -> float:
    """Return the number of CPUs that cgroup v1 allows."""
    folder = _CGROUP / "cpu"
    quota = int((folder / "cpu.cfs_quota_us").read_text(encoding="ascii"))
    period = int((folder / "cpu.cfs_period_us").read_text(encoding="ascii"))
    return quota / period if quota > 0 else math.inf


def _quota() -> float:
    for read in (_quota_v2, _quota_v1):
        try:
            limit = read()
        except (OSError, ValueError, ZeroDivisionError):
            continue
        if limit < math.inf:
            return limit
    return math.inf


def available_threads() -> int:
    """Return the number of threads by CPU affinity and cgroup quota, at least 1."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cpus = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    quota = _quota()
    return cpus if quota == math.inf else max(1, min(cpus, math.ceil(quota)))


def thread_count(n_jobs: Any) -> int:
    """Return the number of threads for a value of `n_jobs`.

    Parameters
    ----------
    n_jobs : int or None
        None: all available threads, or ``OMP_NUM_THREADS`` if that is fewer. Positive: that many,
        at most 1024. Negative: -1 is all available threads, -2 all but one, and so on.
    """
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
        available = available_threads()
        return min(int(limit), available) if limit.isdecimal() and int(limit) > 0 else available
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise InvalidParameterError(
            f"n_jobs must be None, a positive number of threads or a negative one "
            f"(-1 means all); got {n_jobs!r}."
        )
    wanted = int(n_jobs)
    return min(wanted, 1024) if wanted > 0 else max(1, available_threads() + 1 + wanted)


def make_workers(n_jobs: Any) -> Workers:
    """Return the workers of one fit or one call; their threads end with the object."""
    isa = os.environ.get("STAGEWISE_ISA", "")
    if isa and isa not in supported_isas():
        supported = ", ".join(supported_isas())
        raise InvalidParameterError(
            f"STAGEWISE_ISA is {isa!r}, which this build or processor does not support. "
            f"Unset it or use one of: {supported}."
        )
    return Workers(thread_count(n_jobs), isa)
