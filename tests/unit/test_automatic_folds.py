"""The folds that choose a number of rounds: their sizes, classes and groups."""

from __future__ import annotations

import numpy as np
import pytest

from stagewise.training.reading.folds import automatic_folds
from stagewise.training.reading.row_set import RowSet


@pytest.mark.parametrize("n", [50, 51, 333, 1999, 2000, 2001])
def test_folds_hold_every_row_out_once_and_keep_a_row_of_every_class(n):
    y = np.array([0, 1, 1, 2, 2, 2] + [3] * (n - 6), dtype=np.int32)
    rows = RowSet(None, None, y, None)
    folds = automatic_folds(rows, y, None, 7, by_class=True)
    held = np.concatenate([held for _, held in folds])
    assert len(np.unique(held)) == len(held)
    assert 0 not in held  # the only row of its class
    if n < 2000:
        assert len(folds) == 5
        assert len(held) == n - 1
    else:
        assert len(folds) == 1
        assert abs(len(held) - n / 5) <= 1
    for train, held in folds:
        assert set(y[train]) == {0, 1, 2, 3}
        np.testing.assert_array_equal(np.sort(np.concatenate([train, held])), np.arange(n))


def test_of_many_rows_a_tenth_is_held_out_and_a_quarter_fitted():
    y = np.array([0, 1] * 6 + [2] * 60_000, dtype=np.int32)
    rows, n = RowSet(None, None, y, None), len(y)
    ((train, held),) = automatic_folds(rows, y, None, 7, by_class=True)
    assert not set(train) & set(held)
    assert set(y[train]) == {0, 1, 2}
    assert len(train) == pytest.approx(n / 4, rel=0.03)
    assert len(held) == pytest.approx(n / 10, rel=0.03)
    rare = np.where(np.arange(n) < 2, 0, 2).astype(np.int32)  # both rows may be in unused parts
    for seed in range(6):
        rows = RowSet(None, None, rare, None)
        ((train, held),) = automatic_folds(rows, rare, None, seed, by_class=True)
        assert set(rare[train]) == {0, 2}
        assert not set(train) & set(held)
        assert len(train) > len(held) > 0


@pytest.mark.parametrize("n_groups", [2, 3, 40, 5000])
def test_groups_of_many_rows_stay_together(n_groups):
    rng = np.random.default_rng(0)
    groups, y = rng.integers(0, n_groups, 60_000), rng.normal(size=60_000)
    ((train, held),) = automatic_folds(RowSet(None, None, y, None), y, groups, 0, by_class=False)
    assert not set(groups[train]) & set(groups[held])
    assert len(train) > 0.2 * len(y) or n_groups == 2
    assert len(held) > 0


def test_unequal_groups_of_many_rows():
    n = 60_000
    groups, y = np.zeros(n, dtype=int), np.random.default_rng(0).normal(size=n)
    groups[:800] = 1 + np.arange(800) // 20
    for seed in range(8):
        rows = RowSet(None, None, y, None)
        folds = automatic_folds(rows, y, groups, seed, by_class=False)
        for train, held in folds:
            assert not set(groups[train]) & set(groups[held])
            assert len(train) + len(held) == n  # a quarter would be a few rows of small groups


@pytest.mark.parametrize("n", [120, 3000])
def test_groups_stay_together(n):
    rng = np.random.default_rng(0)
    groups, y = rng.integers(0, 40, n), rng.normal(size=n)
    for train, held in automatic_folds(RowSet(None, None, y, None), y, groups, 0, by_class=False):
        assert not set(groups[train]) & set(groups[held])
        assert 0.1 * n < len(held) < 0.32 * n
