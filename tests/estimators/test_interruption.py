"""Ctrl-C ends long work of every kind soon, and the process can go on."""

from __future__ import annotations

import sys

import pytest

from estimators.processes import play

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

# Threads look at the interrupt ten times a second; the rest is for a busy machine.
SECONDS = 3.0


@pytest.mark.parametrize("scene", ["fits", "members", "asking"])
def test_ctrl_c_stops_long_work_within_a_second(scene):
    found = play(scene, module="estimators.interruptions")
    late = {name: s for name, s in found["seconds"].items() if not 0.0 <= s < SECONDS}
    assert not late  # -1: it was done before, so the work is too small to be interrupted
    assert found["threads left"] == 0
    assert found["fits again"]


def test_a_process_ends_while_daemon_threads_fit():
    assert play("daemons", module="estimators.interruptions") == "ended"
