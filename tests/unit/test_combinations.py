"""Combinations of categories are found where they are informative, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from stagewise._native import Columns, Workers
from stagewise.data.categories.combinations import MAX_COLUMNS, MAX_COMBINATIONS, find_combinations


def search(X, categories, target, seed=0):
    pairs = np.column_stack([-target, np.ones(len(target))]).astype(np.float32).reshape(-1)
    return find_combinations(Workers(2), Columns(X), categories, [pairs], seed)


def table(n, categories, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, k, n).astype(float) for k in categories]), rng


def test_an_interacting_pair_comes_first() -> None:
    categories = [6, 20, 9, 4]
    X, rng = table(8000, categories)
    effect = rng.normal(size=(20, 4))
    target = effect[X[:, 1].astype(int), X[:, 3].astype(int)] + rng.normal(size=8000)
    assert search(X, categories, target)[0] == (1, 3)


def test_additive_effects_need_no_combination() -> None:
    categories = [6, 20, 9]
    X, rng = table(8000, categories)
    target = sum(rng.normal(size=k)[X[:, j].astype(int)] for j, k in enumerate(categories))
    assert search(X, categories, target + rng.normal(size=8000)) == []


@pytest.mark.parametrize("seed", range(4))
def test_noise_gives_no_combination(seed) -> None:
    categories = [3000, 50, 7, 12]
    X, rng = table(6000, categories, seed)
    assert search(X, categories, rng.normal(size=6000), seed) == []


def test_three_columns_are_found_through_two() -> None:
    categories = [12, 30, 7, 5]
    X, rng = table(30_000, categories)
    day = rng.normal(size=(12, 30))[X[:, 0].astype(int), X[:, 1].astype(int)]
    place = rng.normal(size=(12, 30, 5))[tuple(X[:, j].astype(int) for j in (0, 1, 3))]
    found = search(X, categories, day + place + 0.5 * rng.normal(size=30_000))
    assert found[0] == (0, 1)
    assert (0, 1, 3) in found


def test_numeric_and_constant_columns_are_not_combined() -> None:
    X, rng = table(2000, [5, 5, 1])
    X = np.column_stack([X, rng.normal(size=2000)])
    target = ((X[:, 0] + X[:, 1]) % 2 - 0.5) + 0.1 * rng.normal(size=2000)
    assert search(X, [5, 5, 1, 0], target) == [(0, 1)]


def test_informative_columns_are_combined_among_very_many() -> None:
    categories = [4] * (MAX_COLUMNS + 8)
    X, rng = table(4000, categories)
    effect = rng.normal(size=(4, 4))
    target = effect[X[:, 3].astype(int), X[:, -1].astype(int)] + 0.3 * rng.normal(size=4000)
    found = search(X, categories, target)
    assert found[0] == (3, len(categories) - 1)
    assert len(found) <= MAX_COMBINATIONS


def test_combinations_are_the_same_for_any_number_of_threads() -> None:
    categories = [6, 20, 9, 4]
    X, rng = table(3000, categories)
    effect = rng.normal(size=(20, 4))
    target = effect[X[:, 1].astype(int), X[:, 3].astype(int)] + rng.normal(size=3000)
    pairs = np.column_stack([-target, np.ones(3000)]).astype(np.float32).reshape(-1)
    found = [find_combinations(Workers(t), Columns(X), categories, [pairs], 0) for t in (1, 2, 3)]
    assert found[0] == found[1] == found[2]
