"""Ctrl-C stops long computations of every kind, and the process stays usable."""

from __future__ import annotations

import sys

import pytest

from estimators.processes import run_in_process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

# Threads check for an interrupt ten times a second; the rest is for a busy machine.
SECONDS = 3.0


@pytest.mark.parametrize("function", ["fits", "bagging_fits", "predicting"])
def test_ctrl_c_stops_long_work_within_a_second(function):
    found = run_in_process(function, module="estimators.interruptions")
    late = {name: s for name, s in found["seconds"].items() if not 0.0 <= s < SECONDS}
    assert not late  # -1: it was done before, so the work is too small to be interrupted
    assert found["threads left"] == 0
    assert found["fits again"]


def test_a_process_ends_while_daemon_threads_fit():
    assert run_in_process("daemons", module="estimators.interruptions") == "ended"
