"""The memory that a fit may use: what a caller writes, such as "4GB", and what is available."""

from __future__ import annotations

import math
import numbers
import re
from pathlib import Path
from typing import Any

from stagewise.validation.messages import short_repr

__all__ = ["LEAST_MEMORY", "available_memory", "format_bytes", "read_bytes"]

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
MOST = 2**60
LEAST_MEMORY = 128 * 2**20
"""Reading batches and the native core need this much."""


def read_bytes(value: Any, argument: str) -> int | None:
    """Return a number of bytes: of an integer, or of a text such as "4GB"; None stays None.

    Raises
    ------
    ValueError
        If the value is something else, or too small for a fit.
    """
    if value is None:
        return None
    found: float | None = None
    if not isinstance(value, bool) and isinstance(value, numbers.Real):
        found = float(value)
    elif isinstance(value, str):
        parts = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([A-Za-z]*)", value.strip())
        if parts is not None and parts[2].upper() in UNITS:
            found = float(parts[1]) * UNITS[parts[2].upper()]
    if found is None or not 0 <= found < math.inf:
        raise ValueError(
            f"{argument} must be a number of bytes, or a text such as '4GB' or '512MiB'; got "
            f"{short_repr(value)}."
        )
    if found < LEAST_MEMORY:
        raise ValueError(
            f"{argument} must be at least {LEAST_MEMORY // 2**20}MiB, which reading files needs; "
            f"got {short_repr(value)}."
        )
    return int(min(found, MOST))


def format_bytes(n: float) -> str:
    """Return a number of bytes as a text, such as "1.5GB"."""
    unit = next((u for u in ("TB", "GB", "MB", "KB") if n >= UNITS[u]), "B")
    return f"{n / UNITS[unit]:.3g}{unit}"


def available_memory() -> int:
    """Return the bytes that this process can still use: of the machine, and of its cgroup."""
    free = [_machine_memory()]
    for folder in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory")):
        for limit, used in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            try:
                most = int((folder / limit).read_text(encoding="ascii"))
                free.append(most - int((folder / used).read_text(encoding="ascii")))
            except (OSError, ValueError):
                continue
    return max(LEAST_MEMORY, min(free))


def _machine_memory() -> int:
    text = Path("/proc/meminfo").read_text(encoding="ascii")
    found = re.search(r"MemAvailable: *([0-9]+) kB", text)
    return int(found[1]) * 1024 if found else 2**32
