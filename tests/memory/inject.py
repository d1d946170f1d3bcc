"""Run work of the native core repeatedly, each time with another memory request failing.

For n = 1, 2, 3, ... the n-th request fails (see failing.cpp) until the work needs fewer than n. The
result must be MemoryError or the right value. A crash ends the child process that does the work;
its parent records where, and continues behind it. Thread starts fail too: one by one like memory,
and once all of them.

    LD_PRELOAD=failing.so python -m memory.inject [--every K] [--persistent] [--short] [name ...]
"""

from __future__ import annotations

import argparse
import ctypes
import mmap
import os
import struct
import sys
import warnings
from dataclasses import dataclass, field
from typing import Any

from memory.scenarios import SCENARIOS, SHORT

__all__ = ["Outcome", "inject"]

CHECKED = 50
"""After how many failures the work is done once without one."""
FOR_EVER = 1 << 40
ENOUGH_CRASHES = 20


@dataclass
class Outcome:
    """The result of one scenario."""

    name: str
    failures: int = 0
    faults: list[str] = field(default_factory=list)


def _work(scenario: Any, expected: Any, first: int, every: int, times: int, note: Any) -> None:
    """Fail request first, first + every, ...; note(n, fault) before each and after each fault."""
    library = ctypes.CDLL(None)
    library.oom_arm.argtypes = [ctypes.c_long, ctypes.c_long]
    library.oom_disarm.restype = ctypes.c_long
    library.oom_refuse_threads(1)
    if scenario() != expected:
        note(first, "another result without threads")
    library.oom_refuse_threads(0)
    number, done = first, 0
    while True:
        note(number, "")
        fault, result = "", None
        library.oom_arm(number, times)
        try:
            result = scenario()
        except MemoryError:
            requests = library.oom_disarm()
        except BaseException as error:
            requests = library.oom_disarm()
            fault = f"{type(error).__name__}: {error}"
        else:
            requests = library.oom_disarm()
            fault = "" if result == expected else "another result"
        if requests < number:
            if fault:
                note(number, fault)
            break
        done += 1
        if not fault and done % CHECKED == 0 and scenario() != expected:
            fault = "another result afterwards"
        if fault:
            note(number, fault)
        number += every
    if scenario() != expected:
        note(number, "another result at the end")


def inject(name: str, every: int = 1, times: int = 1) -> Outcome:
    """Return the result of all failures in one scenario."""
    scenario, outcome = SCENARIOS[name], Outcome(name)
    expected = scenario()
    shared = mmap.mmap(-1, 8)
    first, crashes = 1, 0
    while True:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)

            def note(number: int, fault: str, pipe: int = writing) -> None:
                shared[:8] = struct.pack("q", number)
                if fault:
                    os.write(pipe, f"request {number}: {fault[:200]}\n".encode())

            status = 1
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # messages of libraries that abort
                _work(scenario, expected, first, every, times, note)
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            outcome.faults += pipe.read().splitlines()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        (last,) = struct.unpack("q", shared[:8])
        if status == 0:
            outcome.failures = (last - 1) // every
            return outcome
        outcome.faults.append(f"request {last}: the process ended with {status}")
        first, crashes = last + every, crashes + 1
        if crashes == ENOUGH_CRASHES:
            return outcome


def main() -> int:
    """Inject failures into all scenarios, or into those named; return the number of faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="fail only every K-th request")
    parser.add_argument("--persistent", action="store_true", help="all later ones fail too")
    parser.add_argument("--short", action="store_true", help="only a few kinds of work")
    parser.add_argument("scenarios", nargs="*", default=list(SCENARIOS))
    args = parser.parse_args()
    names = SHORT if args.short else args.scenarios
    warnings.simplefilter("ignore")
    faults = failures = 0
    for name in names:
        outcome = inject(name, args.every, FOR_EVER if args.persistent else 1)
        sys.stdout.write(f"{name:40s} {outcome.failures:6d} failures\n")
        for fault in outcome.faults:
            sys.stdout.write(f"    {fault}\n")
        sys.stdout.flush()
        faults += len(outcome.faults)
        failures += outcome.failures
    sys.stdout.write(f"{failures} failures in {len(names)} kinds of work, {faults} faults\n")
    return min(faults, 1)


if __name__ == "__main__":
    sys.exit(main())
