"""Worker threads: they end with their owner, and work with Python threads, forks and errors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference.core import Growth, bin_table, same_trees
from reference.tree import Rules
from stagewise._native import Columns, Forest, Workers, learn_cuts, supported_isas
from stagewise.trees.tree import Tree

pytestmark = pytest.mark.native

InChild = Callable[[Callable[[], Any]], Any]

N = 40_000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 6))
GRADIENT = X[:, 0] + RNG.normal(size=N)

ASAN = "libasan" in os.environ.get("LD_PRELOAD", "")
TSAN = "libtsan" in os.environ.get("LD_PRELOAD", "")


def forks(test: Any) -> Any:
    """Mark a test whose child starts threads beside those that its parent had."""
    # ThreadSanitizer keeps the threads of the parent in its list; it ends a child that starts a
    # thread at the address of one of them ("dup thread with used id").
    tsan = pytest.mark.skipif(TSAN, reason="TSan: a child reuses ids of threads")
    return tsan(pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")(test))


def grow_with(workers: Workers) -> Tree:
    """Grow a tree, which runs many parallel regions."""
    growth = Growth(workers, bin_table(workers, X)[0], None, Rules(max_leaves=15))
    return growth.grow(GRADIENT, np.ones(N))


@pytest.fixture(scope="module")
def expected() -> Tree:
    return grow_with(Workers(1))


def test_zero_threads_mean_one() -> None:
    assert [Workers(t).threads for t in (-3, 0, 1, 4)] == [1, 1, 1, 4]


def test_the_best_instruction_set_is_the_default() -> None:
    assert Workers(1).isa == supported_isas()[-1]
    assert [Workers(1, isa).isa for isa in supported_isas()] == supported_isas()
    with pytest.raises(ValueError, match="sse17"):
        Workers(1, "sse17")


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_any_number_of_threads_gives_the_same_tree(threads: int, expected: Tree) -> None:
    assert same_trees(grow_with(Workers(threads)), expected)


def test_many_fits_in_many_python_threads(expected: Tree) -> None:
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(lambda i: grow_with(Workers(1 + i % 4)), range(16)))
    assert all(same_trees(tree, expected) for tree in trees)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_threads_end_with_their_owner() -> None:
    def threads() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    time.sleep(0.1)  # threads of other tests may be about to end
    before = threads()
    for _ in range(20):
        grow_with(Workers(5))
    for _ in range(200):
        if threads() <= before:
            break
        time.sleep(0.01)  # a thread that has ended is listed for a short time
    assert threads() <= before


@forks
@pytest.mark.parametrize("round_number", range(3))
def test_a_forked_child_may_use_and_drop_its_parents_workers(
    round_number: int, expected: Tree, in_child: InChild
) -> None:
    workers = Workers(2 + round_number)
    grow_with(workers)

    def use_both() -> bool:
        nonlocal workers
        old = same_trees(grow_with(workers), expected)
        del workers
        return old and same_trees(grow_with(Workers(3)), expected)

    assert in_child(use_both) is True
    assert same_trees(grow_with(workers), expected)


@forks
@pytest.mark.skipif(
    ASAN, reason="a thread may hold the lock of its allocator when the child starts"
)
def test_a_child_forked_in_the_middle_of_a_fit_can_fit(expected: Tree, in_child: InChild) -> None:
    stop = threading.Event()

    def keep_fitting() -> None:
        while not stop.is_set():
            grow_with(Workers(2))

    busy = threading.Thread(target=keep_fitting)
    busy.start()
    try:
        results = [in_child(lambda: same_trees(grow_with(Workers(2)), expected)) for _ in range(3)]
    finally:
        stop.set()
        busy.join()
    assert results == [True, True, True]


FAILING = """
import resource, threading
import numpy as np
from stagewise._native import Columns, Forest, Workers

features = 1 << 21       # 64 rows of them are a gigabyte,
wide = np.broadcast_to(np.float64(1.0), (64 * 16 * 20, features))
one = Forest(np.array([0, 1], np.uint64), np.array([-1], np.int32), np.zeros(1),
             np.zeros(1, np.uint8), np.array([-1], np.int32), np.array([-1], np.int32),
             np.ones(1), features, 1)
small = Forest(np.array([0, 1], np.uint64), np.array([-1], np.int32), np.zeros(1),
               np.zeros(1, np.uint8), np.array([-1], np.int32), np.array([-1], np.int32),
               np.ones(1), 2, 1)
workers, table, leaves = Workers(4), Columns(wide), np.zeros(len(wide), np.int32)
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (256 << 20)  # and there is room for a quarter of it
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for _ in range(8):
    try:
        one.leaves(workers, table, leaves)
    except MemoryError:
        print("MemoryError")
    after = np.zeros(5000)
    small.add_scores(workers, Columns(np.zeros((5000, 2))), 0, 1, after)
    assert (after == 1.0).all()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on memory")
@pytest.mark.skipif(ASAN, reason="reserves all addresses")
@pytest.mark.skipif(TSAN, reason="reserves all addresses")
def test_an_error_in_a_region_is_raised_once_and_leaves_the_threads_usable() -> None:
    completed = subprocess.run(
        [sys.executable, "-c", FAILING],
        # One heap for all threads: separate heaps would reserve the rest of the memory.
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.split() == ["MemoryError"] * 8


def test_an_error_before_a_region_leaves_the_threads_usable(expected: Tree) -> None:
    workers = Workers(2)
    for _ in range(50):
        with pytest.raises(ValueError, match="weight"):
            learn_cuts(workers, Columns(X), np.ones(3), 255, 100, 0)
    assert same_trees(grow_with(workers), expected)


def test_predicting_with_one_forest_from_many_python_threads() -> None:
    rng = np.random.default_rng(3)
    n_trees = 20
    start = np.arange(0, 3 * n_trees + 1, 3, dtype=np.uint64)
    feature = np.tile([0, -1, -1], n_trees).astype(np.int32)
    forest = Forest(
        start,
        feature,
        np.where(feature == 0, rng.normal(size=3 * n_trees), 0.0),
        np.zeros(3 * n_trees, dtype=np.uint8),
        np.tile([1, -1, -1], n_trees).astype(np.int32),
        np.tile([2, -1, -1], n_trees).astype(np.int32),
        rng.normal(size=3 * n_trees),
        6,
        1,
    )

    def scores(threads: int) -> bytes:
        out = np.zeros(N)
        forest.add_scores(Workers(threads), Columns(X), 0, n_trees, out)
        return out.tobytes()

    with ThreadPoolExecutor(6) as pool:
        results = set(pool.map(scores, [1, 2, 3, 4] * 6))
    assert len(results) == 1
