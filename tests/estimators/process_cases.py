"""Functions that need their own process; see `processes.run_in_process`. Results are JSON."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from estimators.every import PUBLIC, has, labelled, predictions, small
from estimators.tables import fit_case, make_table
from stagewise import GradientBoostingRegressor
from stagewise.workers import thread_count

MIB = 2**20


def big_fit(**params: Any) -> Any:
    """Return a fit that is large enough to use all its threads."""
    return fit_case("squared error", make_table(60_000), n_jobs=2, **params)


def own_fingerprint() -> str:
    """Fit and predict; return the fingerprint."""
    model = big_fit()
    model.predict(make_table(60_000).X)
    return str(model.fingerprint())


def forked_after_fit() -> list[bool]:
    """Fork twice, one child after the other; each child fits and predicts."""
    model = big_fit()
    table = make_table(60_000)
    expected, predicted = model.fingerprint(), model.predict(table.X)
    results = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            same = own_fingerprint() == expected
            same = same and np.array_equal(model.predict(table.X), predicted)
            os._exit(0 if same else 1)
        results.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0)
    return results


def forked_during_fit() -> list[bool]:
    """Fork in the middle of a fit, whose threads the child does not have; both finish it."""
    children: list[int] = []

    def fork_once(progress: Any) -> None:
        if progress.round == 3:
            children.append(os.fork())

    expected = own_fingerprint()
    same = big_fit(callbacks=fork_once).fingerprint() == expected
    if children == [0]:
        os._exit(0 if same and own_fingerprint() == expected else 1)
    return [same, os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0]


def pool_of_forks() -> bool:
    """Fit here, then in the processes of a pool that was forked from here."""
    expected = own_fingerprint()
    with multiprocessing.get_context("fork").Pool(3) as pool:
        jobs = [pool.apply_async(own_fingerprint) for _ in range(6)]
        return {job.get(60) for job in jobs} == {expected}


def interrupted() -> dict[str, Any]:
    """Send Ctrl-C to this process in the middle of a fit that would take minutes."""
    table = make_table(50_000)
    model = GradientBoostingRegressor(n_estimators=5).fit(table.X, table.number)
    before, state = model.fingerprint(), set(vars(model))
    sent = 0.0

    def send() -> None:
        nonlocal sent
        time.sleep(0.5)
        sent = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send, daemon=True).start()
    try:
        model.set_params(n_estimators=1_000_000).fit(table.X, table.number)
        stopped = False
    except KeyboardInterrupt:
        stopped = True
    return {
        "stopped": stopped,
        "seconds": time.monotonic() - sent,
        "unchanged": model.fingerprint() == before and set(vars(model)) == state,
        "fits again": model.set_params(n_estimators=5).fit(table.X, table.number).fingerprint()
        == before,
    }


def memory() -> tuple[int, int]:
    """Return the bytes of address space and of memory that this process uses."""
    space, resident, *_ = Path("/proc/self/statm").read_text().split()
    return int(space) * resource.getpagesize(), int(resident) * resource.getpagesize()


def hundred_fits() -> float:
    """Return by how many MiB the process grows over a hundred fits, after some to warm up."""
    table = make_table(2000)

    def fits(number: int) -> None:
        for _ in range(number):
            for case in ("squared error", "five classes", "early stopping"):
                fit_case(case, table, n_jobs=2).predict(table.X)

    fits(10)
    before = memory()[1]
    fits(34)
    return (memory()[1] - before) / MIB


def little_memory() -> dict[str, list[str]]:
    """Fit under ever larger limits of address space and record the result of each."""
    table = make_table(200_000)
    held = memory()[0]
    outcomes = []
    for spare in (0, 2, 8, 16, 24, 32, 48, 64, 512):
        resource.setrlimit(resource.RLIMIT_AS, (held + spare * MIB, resource.RLIM_INFINITY))
        try:
            fit_case("squared error", table, n_jobs=4, n_estimators=2)
            outcomes.append("fitted")
        except MemoryError:
            outcomes.append("MemoryError")
        except BaseException as error:
            outcomes.append(repr(error))
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return {"outcomes": outcomes, "after": [fit_case("squared error", table).fingerprint()]}


def threads_on_one_cpu() -> list[int]:
    """Restrict this process to one CPU and return how many threads it would use."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    report = big_fit(n_estimators=1).set_params(n_jobs=None)
    table = make_table(1000)
    chosen = report.fit(table.X, table.number).fit_report_["threads"]
    return [thread_count(None), thread_count(-1), chosen, thread_count(3)]


def fit_beside_a_busy_process() -> list[float]:
    """Time fits with one thread and with four, all on one CPU that another process keeps busy."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    neighbour = os.fork()
    if neighbour == 0:
        while os.getppid() > 1:
            pass
        os._exit(0)
    table = make_table(20_000)
    seconds = []
    try:
        for threads in (1, 4):
            times = []
            for _ in range(3):
                begin = time.perf_counter()
                fit_case("squared error", table, n_jobs=threads, n_estimators=30)
                times.append(time.perf_counter() - begin)
            seconds.append(min(times))
    finally:
        os.kill(neighbour, signal.SIGKILL)
        os.waitpid(neighbour, 0)
    return seconds


def every_estimator_forked() -> dict[str, bool]:
    """Fit every public estimator in two threads, then again in a child, which also predicts."""
    table = make_table(2000, missing=False)
    found = {}
    for kind in PUBLIC:
        y = labelled(kind, table)
        threads = {"n_jobs": 2} if has(kind, "n_jobs") else {}
        model = small(kind, **threads).fit(table.X, y)
        expected = predictions(model, table.X)
        child = os.fork()
        if child == 0:
            again = small(kind, **threads).fit(table.X, y)
            same = all(np.array_equal(predictions(m, table.X), expected) for m in (model, again))
            os._exit(0 if same else 1)
        found[kind.__name__] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return found


def fits_of_every_estimator() -> float:
    """Return by how many MiB a process grows that fits every public estimator again and again."""
    table = make_table(400, missing=False)

    def fit_all(times: int) -> None:
        for _ in range(times):
            for kind in PUBLIC:
                small(kind).fit(table.X, labelled(kind, table)).predict(table.X)

    fit_all(4)
    before = memory()[1]
    fit_all(8)
    return (memory()[1] - before) / MIB
