"""Wrong arguments raise TypeError or ValueError: no crash, no read out of bounds.

Each call runs in a forked child, so that a crash is one failed test and not the end of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reference.core import Growth, bin_table, rules_of
from reference.tree import Rules
from stagewise._native import (
    Bins,
    Columns,
    Forest,
    Gradients,
    Grower,
    TreeRules,
    Workers,
    learn_cuts,
    softmax_state,
    weighted_quantile,
)

pytestmark = pytest.mark.native

Call = Callable[[], Any]

N = 50
W = Workers(2)
X = np.random.default_rng(0).normal(size=(N, 3))
BINS, CUTS = bin_table(W, X)
ZEROS, ONES = np.zeros(N), np.ones(N)
LABELS = np.zeros(N, dtype=np.int32)
STATE = np.zeros(2 * N, dtype=np.float32)


def fixed(loss: str, *args: Any) -> Call:
    return lambda: getattr(Gradients(N), loss)(W, *args)


def cut_after(values: Any, n: int) -> list[Any]:
    return [np.arange(float(n)), *values]


def grower(weight: Any = None) -> Grower:
    return Grower(W, BINS, weight, rules_of(Rules(max_leaves=4)))


def filled(n: int = N) -> Gradients:
    gradients = Gradients(n)
    gradients.squared(W, np.arange(float(n)), np.zeros(n), None)
    return gradients


def grown(bag: Any = None) -> Growth:
    growth = Growth(W, BINS, None, Rules(max_leaves=4))
    growth.from_gradients(filled(), bag)
    return growth


def grow_twice() -> Any:
    gradients = filled()
    grower().grow(gradients, None, 0, 0)
    return grower().grow(gradients, None, 0, 1)


def add_another_tree() -> None:
    other = Growth(W, BINS, None, Rules(max_leaves=2))
    other.from_gradients(filled())
    grown().grower.add_scores(other.grown, np.zeros(3), ZEROS.copy())


def forest(**wrong: Any) -> Forest:
    """Return a stump, with one invalid array."""
    arrays: dict[str, Any] = {
        "start": np.array([0, 3], dtype=np.uint64),
        "feature": np.array([1, -1, -1], dtype=np.int32),
        "threshold": np.zeros(3),
        "missing_left": np.zeros(3, dtype=np.uint8),
        "left": np.array([1, -1, -1], dtype=np.int32),
        "right": np.array([2, -1, -1], dtype=np.int32),
        "value": np.arange(3.0),
    }
    for name, value in wrong.items():
        if name in arrays:
            wrong[name] = np.asarray(value, dtype=arrays[name].dtype)
    return Forest(**{**arrays, "n_features": 2, "n_outputs": 1, **wrong})


def predict(columns: Any, out: Any, first: int = 0, last: int = 1) -> Call:
    return lambda: forest().add_scores(W, Columns(columns), first, last, out)


packed_field = np.zeros(9, dtype=np.dtype([("flag", "u1"), ("x", "f8")]))["x"]

CALLS: dict[str, Call] = {
    # tables
    "a table of float16": lambda: Columns(X.astype(np.float16)),
    "a table of integers": lambda: Columns(X.astype(np.int64)),
    "a table of objects": lambda: Columns(X.astype(object)),
    "a table of complex numbers": lambda: Columns(X.astype(complex)),
    "a table in the other byte order": lambda: Columns(X.astype(">f8")),
    "a table of no dimension": lambda: Columns(np.array(1.0)),
    "a table of one dimension": lambda: Columns(ONES),
    "a table of three dimensions": lambda: Columns(np.zeros((2, 2, 2))),
    "a table that is text": lambda: Columns("table"),
    "no table": lambda: Columns(None),
    "no columns": lambda: Columns([]),
    "columns that are lists": lambda: Columns([[1.0, 2.0]]),
    "columns of different lengths": lambda: Columns([np.zeros(3), np.zeros(4)]),
    "a column of two dimensions": lambda: Columns([np.zeros(3), np.zeros((3, 1))]),
    "columns of no dimension": lambda: Columns([np.array(1.0)]),
    "a row that does not exist": lambda: Columns(X).take(np.array([N], dtype=np.uint32)),
    "rows as int64": lambda: Columns(X).take(np.array([0])),
    "rows of chosen rows": lambda: (
        Columns(X).take(np.array([1], np.uint32)).take(np.array([0], np.uint32))
    ),
    # cuts and bins
    "too few weights for cuts": lambda: learn_cuts(W, Columns(X), np.ones(3), 9, 99, 0),
    "a negative number of bins": lambda: learn_cuts(W, Columns(X), None, -1, 99, 0),
    "a list of cuts too few": lambda: Bins(W, Columns(X), CUTS[:2]),
    "cuts as text": lambda: Bins(W, Columns(X), ["a", "b", "c"]),
    "two bins too many": lambda: Bins(W, Columns(X), cut_after(CUTS[1:], 65_536)),
    "one bin too many": lambda: Bins(W, Columns(X), cut_after(CUTS[1:], 65_535)),
    "the bins of a feature that does not exist": lambda: BINS.value_bins(1 << 28),
    "the missing values of a feature that does not exist": lambda: BINS.has_missing(1 << 40),
    # losses
    "too few targets": fixed("squared", ZEROS[1:], ZEROS, None),
    "too many targets": fixed("squared", np.zeros(N + 1), np.zeros(N + 1), None),
    "too few scores": fixed("squared", ZEROS, ZEROS[1:], None),
    "too few weights": fixed("squared", ZEROS, ZEROS, ONES[1:]),
    "targets as float32": fixed("squared", ZEROS.astype(np.float32), ZEROS, None),
    "scores as float32": fixed("squared", ZEROS, ZEROS.astype(np.float32), None),
    "every second score": fixed("squared", ZEROS, np.zeros(2 * N)[::2], None),
    "targets in two dimensions": fixed("squared", ZEROS[:, np.newaxis], ZEROS, None),
    "weights as float32": fixed("squared", ZEROS, ZEROS, ONES.astype(np.float32)),
    "labels as int64": fixed("logistic", LABELS.astype(np.int64), ZEROS, None),
    "labels as numbers": fixed("logistic", ZEROS, ZEROS, None),
    "too few gradients": fixed("assign", ZEROS[1:], ZEROS, None),
    "too few hessians": fixed("assign", ZEROS, ZEROS[1:], None),
    "too short a state": fixed("softmax", LABELS, ZEROS, STATE[1:], 0, None),
    "a state as float64": fixed("softmax", LABELS, ZEROS, np.zeros(2 * N), 0, None),
    "too few scores for the classes": lambda: softmax_state(
        W, LABELS, np.zeros(2 * N), None, 3, STATE.copy()
    ),
    "a read-only state": lambda: softmax_state(
        W, LABELS, np.zeros(3 * N), None, 3, np.frombuffer(STATE.tobytes(), np.float32)
    ),
    "a label beyond the classes": lambda: softmax_state(
        W, LABELS + (1 << 30), np.zeros(3 * N), None, 3, STATE.copy()
    ),
    "a negative label": lambda: softmax_state(
        W, LABELS - (1 << 30), np.zeros(3 * N), None, 3, STATE.copy()
    ),
    "too few weights for softmax": lambda: softmax_state(
        W, LABELS, np.zeros(3 * N), np.ones(1), 3, STATE.copy()
    ),
    "a negative number of rows": lambda: Gradients(-1),
    # trees
    "an unknown rule": lambda: TreeRules({"max_leafs": 3}),
    "rules as text": lambda: rules_of(Rules(max_leaves="many")),  # type: ignore[arg-type]
    "a negative number of leaves": lambda: rules_of(Rules(max_leaves=-2)),
    "too few weights for a tree": lambda: grower(ONES[1:]),
    "weights for a tree as float32": lambda: grower(ONES.astype(np.float32)),
    "every second weight for a tree": lambda: grower(np.ones(2 * N)[::2]),
    "a tree without features": lambda: Grower(
        W, Bins(W, Columns(np.zeros((5, 0))), []), None, rules_of(Rules())
    ),
    "gradients of fewer rows": lambda: grower().grow(filled(N - 1), None, 0, 0),
    "gradients of more rows": lambda: grower().grow(filled(N + 1), None, 0, 0),
    "gradients that were never filled": lambda: grower().grow(Gradients(N), None, 0, 0),
    "gradients after growing": grow_twice,
    "an empty bag": lambda: grown(np.empty(0, dtype=np.uint32)),
    "a bag as int64": lambda: grown(np.arange(5)),
    "a bag of rows that do not exist": lambda: grown(np.array([1 << 31], dtype=np.uint32)),
    "a bag larger than the table": lambda: grown(np.zeros(10 * N, dtype=np.uint32)),
    "a bag out of order": lambda: grown(np.array([3, 1, 2], dtype=np.uint32)),
    "a bag with a row twice": lambda: grown(np.array([1, 1, 2], dtype=np.uint32)),
    "too few node values": lambda: grown().grower.add_scores(grown().grown, ONES[:2], ZEROS.copy()),
    "scores to add to as float32": lambda: grown().grower.add_scores(
        grown().grown, np.zeros(7), ZEROS.astype(np.float32)
    ),
    "too few scores to add to": lambda: (g := grown()).grower.add_scores(
        g.grown, np.zeros(7), np.zeros(1)
    ),
    "another tree than the last": add_another_tree,
    "too few scores for the bins": lambda: BINS.add_tree(W, grown().grown, np.zeros(7), ONES[1:]),
    "too few residuals": lambda: grown().grower.leaf_quantiles(np.zeros(1), 0.5),
    "too few weights for a quantile": lambda: weighted_quantile(ZEROS, ONES[1:], 0.5),
    "a quantile of integers": lambda: weighted_quantile(LABELS, None, 0.5),  # type: ignore[arg-type]
    # forests
    "a forest of unequal arrays": lambda: forest(threshold=np.zeros(2)),
    "a feature that does not exist": lambda: forest(feature=[2, -1, -1]),
    "a child that does not exist": lambda: forest(right=[3, -1, -1]),
    "a child before its parent": lambda: forest(left=[0, -1, -1]),
    "a child that is both": lambda: forest(left=[2, -1, -1]),
    "a negative child": lambda: forest(left=[-1, -1, -1]),
    "a node without a parent": lambda: forest(feature=[-1, -1, -1]),
    "a node that two splits lead to": lambda: forest(
        start=[0, 5],
        feature=[0, 0, -1, -1, -1],
        threshold=np.zeros(5),
        missing_left=np.zeros(5),
        left=[1, 2, -1, -1, -1],
        right=[2, 3, -1, -1, -1],
        value=np.arange(5.0),
    ),
    "a tree without nodes": lambda: forest(start=[0, 0, 3]),
    "trees out of order": lambda: forest(start=[0, 1 << 63, 3]),
    "trees that end early": lambda: forest(start=[0, 2]),
    "no start of trees": lambda: forest(start=[]),
    "no outputs": lambda: forest(n_outputs=0),
    "an output without a tree": lambda: forest(n_outputs=2),
    "a table too narrow": predict(np.zeros((4, 1)), np.zeros(4)),
    "a table too wide": predict(np.zeros((4, 3)), np.zeros(4)),
    "too few scores to predict": predict(np.zeros((4, 2)), np.zeros(3)),
    "scores to predict as float32": predict(np.zeros((4, 2)), np.zeros(4, np.float32)),
    "every second score to predict": predict(np.zeros((4, 2)), np.zeros(8)[::2]),
    "trees that do not exist": predict(np.zeros((4, 2)), np.zeros(4), 0, 2),
    "trees from behind": predict(np.zeros((4, 2)), np.zeros(4), 1, 0),
    "trees below zero": predict(np.zeros((4, 2)), np.zeros(4), -1, 0),
    "rows too narrow": lambda: forest().add_rows(np.zeros((4, 1)), 0, 1, np.zeros(4)),
    "rows as float32": lambda: forest().add_rows(
        np.zeros((4, 2), np.float32),  # type: ignore[arg-type]
        0,
        1,
        np.zeros(4),
    ),
    "too few leaves": lambda: forest().leaves(W, Columns(np.zeros((4, 2))), np.zeros(3, np.int32)),
}


@pytest.mark.parametrize("name", CALLS)
def test_invalid_arguments_are_refused(name: str, in_child: Callable[[Call], Any]) -> None:
    def call_it() -> str:
        CALLS[name]()
        return "no error"

    assert in_child(call_it) in ("TypeError", "ValueError", "RuntimeError", "IndexError")


def test_a_misaligned_column_is_refused_or_read(
    in_child: Callable[[Call], Any],
) -> None:
    # A field of a packed record: its stride is no multiple of its size.
    cuts = [np.array([0.0])]

    def call_it() -> list[int]:
        packed_field[:] = np.arange(9.0) - 4
        return [int(c) for c in Bins(W, Columns([packed_field]), cuts).codes()[:, 0]]

    assert in_child(call_it) in ("TypeError", "ValueError", [0] * 5 + [1] * 4)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_tables_of_very_few_rows_work(rows: int, in_child: Callable[[Call], Any]) -> None:
    def call_it() -> tuple[int, list[float]]:
        bins, _ = bin_table(W, np.zeros((rows, 2)))
        growth = Growth(W, bins, None, Rules())
        tree = growth.grow(np.ones(rows), np.ones(rows))
        scores = np.zeros(rows)
        growth.grower.add_scores(growth.grown, tree.value, scores)
        return len(tree.feature), scores.tolist()

    assert in_child(call_it) == (1, [-1.0] * rows)
