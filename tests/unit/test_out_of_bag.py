"""The out-of-bag loss after each tree equals that of all trees so far, summed again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stagewise.boosting.forest_loop import OutOfBag
from stagewise.losses import Loss
from stagewise.losses.class_squared_error import BinarySquaredError, ClassSquaredError
from stagewise.losses.scores import squeeze_outputs


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [ClassSquaredError(11), BinarySquaredError()])
def test_the_loss_after_each_tree_is_that_of_the_average(loss: Loss, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    n, nodes = 3_000, 40
    y = rng.integers(0, 11 if loss.n_outputs > 1 else 2, n).astype(np.int32)
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    rows: Any = SimpleNamespace(y=y, weight=weight)
    out_of_bag = OutOfBag(loss, rows)
    total, trees = np.zeros((n, loss.n_outputs)), np.zeros(n)
    for _ in range(8):
        rows_out = np.flatnonzero(rng.random(n) < 0.4).astype(np.uint32)
        leaf = rng.integers(0, nodes, len(rows_out)).astype(np.int32)
        value = rng.random((nodes, loss.n_outputs))
        loss_after = out_of_bag.add(value if loss.n_outputs > 1 else value[:, 0], rows_out, leaf)
        for row, node in zip(rows_out, leaf, strict=True):
            total[row] += value[node]
            trees[row] += 1
        known = trees > 0
        losses = loss.loss(y[known], squeeze_outputs(total[known] / trees[known, np.newaxis]))
        assert loss_after == pytest.approx(
            np.average(losses, weights=None if weight is None else weight[known]), rel=1e-12
        )
    np.testing.assert_array_equal(out_of_bag.average.trees, trees)
    np.testing.assert_allclose(out_of_bag.average.total, total, rtol=1e-13)


def test_without_out_of_bag_rows_there_is_no_loss() -> None:
    rows: Any = SimpleNamespace(y=np.zeros(5, dtype=np.int32), weight=None)
    none = np.zeros(0, dtype=np.uint32)
    assert OutOfBag(ClassSquaredError(3), rows).add(np.zeros((1, 3)), none, none) is None
