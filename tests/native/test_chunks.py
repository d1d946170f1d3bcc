"""Trees that are grown on rows in chunks, in memory, in a file or in several processes.

The law: they are the trees that `Grower` grows on one table, to the bit, with the same scores.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stagewise._native import (
    BinLayout,
    Bins,
    ChunkGrower,
    Columns,
    Gradients,
    Grower,
    RowStore,
    TreeRules,
    Workers,
    draw_rows,
    learn_category_bins,
    learn_cuts,
    round_exact_sums,
)

pytestmark = pytest.mark.native

ROWS = 9_500
NO_LIMIT = 2**60

WIDTHS = [8, 8, 0, 8, 0, 8, 4, 0, 0]
"""The bytes of the fields of a row: a store without weights and samples."""


@dataclass
class Table:
    """A seeded table with normal values, few values, missing values and categories."""

    rows: int = ROWS
    classes: bool = False
    weight: str = "none"
    max_bins: int = 64
    rules: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng, n = np.random.default_rng(3), self.rows
        X = rng.normal(size=(n, 7))
        X[:, 3] = rng.integers(0, 3, n)
        X[:, 4] = rng.integers(0, 2, n)
        X[rng.random(n) < 0.2, 1] = np.nan
        X[:, 5] = rng.integers(0, 30, n)
        signal = X[:, 0] + np.nan_to_num(X[:, 1]) * X[:, 2] + np.sin(X[:, 5]) + X[:, 4]
        self.X = X
        noisy = signal + rng.normal(size=n)
        self.y = (noisy > 1).astype(np.int32) if self.classes else noisy
        self.w = {
            "none": None,
            "whole": rng.integers(0, 4, n).astype(np.float64),
            "real": rng.random(n) + 0.1,
        }[self.weight]
        workers = Workers(1)
        columns = self.columns(0, n)
        self.codings: list[Any] = [*learn_cuts(workers, columns, self.w, self.max_bins, 65536, 0)]
        self.codings[5] = learn_category_bins(columns, 5, 30, self.w, self.max_bins - 1)
        self.missing = [int(np.isnan(X[:, j]).any()) for j in range(X.shape[1])]
        bounds = {"hessian_bound": 0.25} if self.classes else {"hessian_bound": 1.0}
        self.tree_rules = TreeRules(
            {"max_leaves": 12, **bounds, "hessian_is_weight": not self.classes} | self.rules
        )
        self.loss = "logistic" if self.classes else "squared"
        self.total = float(n if self.w is None else self.w.sum())

    def columns(self, first: int, last: int) -> Columns:
        return Columns(np.asfortranarray(self.X[first:last]))


def trees_of_one_table(table: Table, rounds: int, share: float) -> tuple[list[Any], np.ndarray]:
    """Return the loss, the arrays and the category sets of each tree, and the scores."""
    workers = Workers(2)
    bins = Bins(workers, table.columns(0, table.rows), table.codings)
    grower = Grower(workers, bins, table.w, table.tree_rules)
    gradients, score, found = Gradients(table.rows), np.zeros(table.rows), []
    for m in range(rounds):
        loss = getattr(gradients, table.loss)(workers, table.y, score, table.w)
        bag = draw_rows(workers, table.rows, table.w, share, 5, m) if share < 1 else None
        tree = grower.grow(gradients, bag, 5, m)
        grower.add_scores(tree, 0.3 * tree.arrays()[5], score)
        found.append((loss, *map(bytes, (*tree.arrays(), *tree.category_sets()))))
    return found, score


class Barrier:
    """Sums of the numbers of several threads, each of which stands for a process."""

    def __init__(self, n: int) -> None:
        self.barrier, self.values = threading.Barrier(n, timeout=60), [np.empty(0)] * n

    def combine(self, rank: int, values: np.ndarray, how: Any) -> None:
        self.values[rank] = values.copy()
        self.barrier.wait()
        result = how(self.values, axis=0)
        self.barrier.wait()
        values[:] = result


@dataclass
class Peers:
    """The exchange of one thread."""

    barrier: Barrier
    rank: int

    def sum(self, values: np.ndarray) -> None:
        self.barrier.combine(self.rank, values, np.sum)

    def max(self, values: np.ndarray) -> None:
        self.barrier.combine(self.rank, values, np.max)


@dataclass(frozen=True)
class Chunks:
    """How the rows are stored."""

    chunk_rows: int = 2048
    leaves_per_pass: int = 4
    threads: int = 2
    memory: int = NO_LIMIT
    folder: Path | None = None


def trees_of_chunks(
    table: Table,
    rounds: int,
    share: float,
    how: Chunks,
    shard: tuple[int, int] | None = None,
    peers: Peers | Sums | None = None,
) -> tuple[list[Any], np.ndarray]:
    """Return the same of the rows of a shard, in chunks."""
    workers = Workers(how.threads)
    first, last = shard or (0, table.rows)
    layout = BinLayout(table.codings, table.missing)
    widths = [layout.row_bytes, table.y.itemsize, 0 if table.w is None else 8, 8, 0, 8, 4, 0, 0]
    folder = None if how.folder is None else str(how.folder)
    blocks = np.arange(first, last, 1024, dtype=np.uint64)
    store = RowStore(
        last - first, table.rows, how.chunk_rows, widths, how.memory, folder, how.threads, blocks
    )
    for begin in range(first, last, 3000):
        end = min(last, begin + 3000)
        store.write_codes(workers, layout, table.columns(begin, end), begin - first)
        store.write_target(begin - first, table.y[begin:end])
        if table.w is not None:
            store.write_weight(begin - first, table.w[begin:end])
    store.set_scores(workers, np.zeros(1))
    whole = table.w is None or bool((table.w == np.rint(table.w)).all())
    absent = table.w is not None and not table.w.all()
    grower = ChunkGrower(
        workers,
        store,
        layout,
        table.tree_rules,
        whole,
        table.total,
        how.leaves_per_pass,
        absent,
        peers,
    )
    found = []
    for m in range(rounds):
        integers = store.loss(workers, table.loss)
        if peers is not None:
            peers.sum(integers)
        loss, gradient, hessian = round_exact_sums(integers.reshape(3, -1)).tolist()
        tree = grower.grow(gradient, hessian, share, False, 5, m, m)
        grower.add_scores(tree, 0.3 * tree.arrays()[5], 0)
        found.append((loss, *map(bytes, (*tree.arrays(), *tree.category_sets()))))
    return found, store.read_scores(0, last - first)


def assert_equal_trees(table: Table, how: Chunks, rounds: int = 3, share: float = 1.0) -> None:
    expected, scores = trees_of_one_table(table, rounds, share)
    found, own = trees_of_chunks(table, rounds, share, how)
    assert found == expected
    assert own.tobytes() == scores.tobytes()


@pytest.mark.parametrize("chunk_rows", [1024, 3072, 16384])
@pytest.mark.parametrize("leaves_per_pass", [1, 3, 20])
def test_neither_chunks_nor_leaves_per_pass_matter(chunk_rows: int, leaves_per_pass: int) -> None:
    assert_equal_trees(Table(), Chunks(chunk_rows, leaves_per_pass))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_matter(threads: int) -> None:
    assert_equal_trees(Table(), Chunks(threads=threads))


@pytest.mark.parametrize("memory", [400_000, 600_000, 10_000_000])
def test_rows_in_a_file_give_the_same_trees(memory: int, tmp_path: Path) -> None:
    assert_equal_trees(Table(weight="real"), Chunks(1024, memory=memory, folder=tmp_path))
    assert not list(tmp_path.iterdir())


RULES: dict[str, dict[str, Any]] = {
    "deep": {"max_leaves": 0, "max_depth": 9, "min_samples_leaf": 3.0},
    "depth-wise": {"grow_policy": "depth_wise", "max_depth": 3},
    "few rows": {"max_leaves": 100, "min_samples_leaf": 1.0},
    "regularised": {"l1": 0.5, "l2": 4.0, "min_gain": 2.0, "path_smoothing": 5.0},
    "monotone": {"monotone": [1, 0, 0, 0, -1, 0, 0]},
    "interactions": {"interaction_groups": [[0, 1, 2], [3, 4, 5, 6]]},
    "some features": {"max_features_per_tree": 0.8, "max_features": 0.6},
    "random thresholds": {"random_thresholds": True},
    "penalties": {"feature_penalty": [50.0] * 7},
    "a forced split": {"forced_splits": [(3, 0, -1, -1)]},
    "steps": {"max_step": 0.1},
    "large leaves": {"min_samples_leaf": 900.0},
}


@pytest.mark.parametrize("weight", ["none", "whole", "real"])
@pytest.mark.parametrize("classes", [False, True], ids=["numbers", "classes"])
@pytest.mark.parametrize("rules", RULES)
def test_every_rule_gives_the_same_trees(rules: str, weight: str, classes: bool) -> None:
    table = Table(weight=weight, classes=classes, rules=RULES[rules])
    assert_equal_trees(table, Chunks())


@pytest.mark.parametrize("weight", ["none", "real"])
@pytest.mark.parametrize("rules", RULES)
def test_every_rule_gives_the_same_trees_from_a_file(
    rules: str, weight: str, tmp_path: Path
) -> None:
    """Rows of several features of a leaf are counted in one pass."""
    table = Table(weight=weight, classes=True, rules={"min_samples_leaf": 40.0} | RULES[rules])
    assert_equal_trees(table, Chunks(1024, memory=400_000, folder=tmp_path))


class Sums:
    """The exchange of a single process; counts the sums."""

    def __init__(self) -> None:
        self.n = 0

    def sum(self, values: np.ndarray) -> None:
        self.n += 1

    def max(self, values: np.ndarray) -> None:
        self.n += 1


def test_rows_of_several_features_are_counted_in_one_sum() -> None:
    """With one feature of a leaf after another, these trees need 110 sums."""
    table, sums = Table(classes=True, rules={"min_samples_leaf": 60.0, "max_leaves": 40}), Sums()
    trees_of_chunks(table, 3, 1.0, Chunks(leaves_per_pass=8), peers=sums)
    assert sums.n <= 90


@pytest.mark.parametrize("weight", ["none", "whole", "real"])
def test_samples_of_rows_give_the_same_trees(weight: str) -> None:
    assert_equal_trees(Table(weight=weight), Chunks(), share=0.4)


def test_codes_of_16_bits_give_the_same_trees() -> None:
    assert_equal_trees(Table(max_bins=700), Chunks())


def test_rows_that_are_rounded_at_random_give_the_same_trees() -> None:
    assert_equal_trees(Table(rows=40_000), Chunks(8192, threads=2), rounds=2)


@pytest.mark.parametrize("weight", ["none", "real"])
@pytest.mark.parametrize("cuts", [[0, 4096, ROWS], [0, 1024, 1024, 5120, ROWS], [0, 0, ROWS]])
def test_processes_with_some_of_the_rows_give_the_same_trees(cuts: list[int], weight: str) -> None:
    """Shards may be empty. Threads stand for the processes."""
    table = Table(weight=weight, classes=True, rules={"min_samples_leaf": 30.0})
    expected, scores = trees_of_one_table(table, 3, 0.7)
    barrier, n = Barrier(len(cuts) - 1), len(cuts) - 1
    found: list[Any] = [None] * n

    def run(rank: int) -> None:
        shard = cuts[rank], cuts[rank + 1]
        found[rank] = trees_of_chunks(table, 3, 0.7, Chunks(threads=1), shard, Peers(barrier, rank))

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert all(trees == expected for trees, _ in found)
    assert np.concatenate([own for _, own in found]).tobytes() == scores.tobytes()


def test_a_memory_limit_below_a_chunk_per_thread_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="smaller than one chunk per thread"):
        RowStore(5000, 5000, 1024, WIDTHS, 10_000, str(tmp_path), 2)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no file for the rows"):
        RowStore(50_000, 50_000, 1024, WIDTHS, 100_000, str(tmp_path / "none"), 2)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no small file system to fill")
def test_a_store_that_does_not_fit_on_the_disk_is_refused(tmp_path: Path) -> None:
    rows = 2**50  # no disk has so many bytes
    with pytest.raises(OSError, match="no space for the rows") as raised:
        RowStore(rows, rows, 2**20, WIDTHS, 2**27, str(tmp_path), 2)
    assert raised.value.errno in {27, 28}  # the file is too large, or there is no space
    assert not list(tmp_path.iterdir())


def test_missing_values_that_the_layout_has_not_are_refused() -> None:
    table = Table()
    layout = BinLayout(table.codings, [0] * 7)
    workers = Workers(1)
    store = RowStore(ROWS, ROWS, 1024, [layout.row_bytes, *WIDTHS[1:]], NO_LIMIT, None, 1)
    with pytest.raises(ValueError, match="missing values, but its layout has none"):
        store.write_codes(workers, layout, table.columns(0, ROWS), 0)
