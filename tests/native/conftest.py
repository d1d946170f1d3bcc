"""Fixtures of the tests of the native core."""

from __future__ import annotations

import faulthandler
import os
import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from stagewise._native import Workers


@pytest.fixture(scope="session")
def workers() -> Workers:
    return Workers(2)


def run_in_child(work: Callable[[], Any]) -> Any:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if child == 0:
        faulthandler.disable()  # a crash is an expected result, and needs no report
        try:
            result = work()
        except BaseException as error:
            result = type(error).__name__
        os.write(writing, pickle.dumps(result))
        os._exit(0)
    os.close(writing)
    watch = threading.Timer(30, os.kill, (child, 9))
    watch.start()
    with os.fdopen(reading, "rb") as pipe:
        received = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    watch.cancel()
    watch.join()
    return pickle.loads(received) if status == 0 else f"killed by signal {-status}"


@pytest.fixture
def in_child() -> Callable[[Callable[[], Any]], Any]:
    """Run a function in a forked child: its result, the name of its exception, or the signal."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    if "libtsan" in os.environ.get("LD_PRELOAD", ""):
        # It ends a child that starts a thread with the id of one of its parent's.
        pytest.skip("TSan: a child reuses ids of threads")
    return run_in_child
