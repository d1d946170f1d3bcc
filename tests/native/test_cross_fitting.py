"""Target encoding by cross fitting equals a reference that computes every row separately."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.thread_exchange import run_ranks
from native.test_target_encoding import KINDS, LEVELS, given_kinds, make
from reference.target_encoding import cross_fitted_means, keys_of, strength_of
from stagewise._native import (
    Columns,
    KeyIndices,
    Workers,
    add_key_sums,
    draw_encoding_folds,
    look_up_keys,
)
from stagewise.cluster.peers import ALONE, Peers
from stagewise.data.categories.cross_fitting import (
    NO_FOLD,
    CrossFitting,
    KeyedRows,
    learn_cross_fitting,
)

pytestmark = pytest.mark.native

N = 300


def folds_of(seed: int, n: int = N) -> np.ndarray:
    """Return random folds; some rows are not learned from."""
    return np.random.default_rng(seed).integers(0, NO_FOLD + 1, n).astype(np.uint8)


def blocks_of(X, pairs, folds, cuts=()) -> list[KeyedRows]:
    rows = np.split(np.arange(len(X)), sorted(cuts))
    return [KeyedRows(Columns(X[own]), folds[own], [pairs[own].reshape(-1)]) for own in rows]


def learn(blocks: list[KeyedRows], n: int = N, peers: Peers = ALONE, threads: int = 2):
    return learn_cross_fitting(
        Workers(threads), KINDS, LEVELS, n, 1, lambda: iter(blocks), peers=peers
    )


def same(one: CrossFitting, other: CrossFitting) -> bool:
    return (
        all(
            np.array_equal(a, b)
            for mine, theirs in zip(one.values, other.values, strict=True)
            for a, b in zip(mine, theirs, strict=True)
        )
        and one.encodings() == other.encodings()
    )


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_encoded_by_the_rows_of_other_folds(seed) -> None:
    X, pairs = make(seed)
    folds = folds_of(seed)
    fitted = learn(blocks_of(X, pairs, folds))
    encoded = fitted.columns(Columns(X), folds)
    g, h = pairs.astype(np.float64).T
    own = folds != NO_FOLD
    for kind, column in zip(KINDS, encoded, strict=True):
        strength = strength_of(keys_of(X[own], kind), g[own], h[own])
        expected = cross_fitted_means(keys_of(X, kind), g, h, folds.tolist(), strength)
        np.testing.assert_allclose(column, expected, rtol=1e-5, atol=1e-7)


@given(st.integers(0, 1000), st.lists(st.integers(0, N), max_size=5), st.randoms())
def test_blocks_threads_and_the_order_of_rows_change_nothing(seed, cuts, random) -> None:
    X, pairs = make(seed)
    folds = folds_of(seed)
    one = learn(blocks_of(X, pairs, folds), threads=1)
    assert same(learn(blocks_of(X, pairs, folds, cuts)), one)
    order = random.sample(range(N), N)
    assert same(learn(blocks_of(X[order], pairs[order], folds[order], cuts)), one)


@pytest.mark.parametrize("cuts", [[0, 130], [1, 299], [300, 300]])
def test_ranks_change_nothing(cuts) -> None:
    X, pairs = make(3)
    folds = folds_of(3)
    blocks = blocks_of(X, pairs, folds, cuts)
    one = learn(blocks_of(X, pairs, folds))

    def fit(exchange):
        return learn([blocks[exchange.rank]], peers=Peers(exchange), threads=1)

    assert all(same(found, one) for found in run_ranks(3, fit))


@given(st.integers(0, 1000), st.integers(0, N - 1))
def test_the_target_of_a_row_does_not_change_the_sums_it_is_encoded_by(seed, row) -> None:
    X, pairs = make(seed)
    folds, other = folds_of(seed) % NO_FOLD, pairs.copy()
    other[row, 0] += 100.0
    numbers = KeyIndices(given_kinds([(1,)])).numbers(Workers(1), Columns(X))
    n = LEVELS[1] + 3
    found = []
    for own in (pairs, other):
        sums = np.zeros(NO_FOLD * n * 2, dtype=np.int64)
        add_key_sums(Workers(1), numbers, folds, own.reshape(-1), 2.0**30, 2.0**30, [sums])
        by_fold = sums.reshape(NO_FOLD, n, 2)
        found.append(by_fold.sum(axis=0) - by_fold[folds[row]])
    np.testing.assert_array_equal(found[0], found[1])


def test_sums_have_room_for_all_rows() -> None:
    X, pairs = np.zeros((N, 4)), np.tile(np.array([3e30, 2e-30], np.float32), (N, 1))
    pairs[::2] *= np.float32(1e-3)
    fitted = learn(blocks_of(X, pairs, folds_of(1) % NO_FOLD))
    assert all(np.isfinite(v).all() for of_kind in fitted.values for v in of_kind)


def test_more_rows_than_there_are_round_more_coarsely() -> None:
    X, pairs = make(0)
    folds = folds_of(0)
    few, many = (learn(blocks_of(X, pairs, folds), n) for n in (N, 2**33))
    for a, b in zip(few.values, many.values, strict=True):
        np.testing.assert_allclose(a[0], b[0], rtol=1e-4, atol=1e-6)
    assert not same(few, many)


def test_combinations_without_training_rows_are_zero() -> None:
    X, pairs = make(0)
    fitted = learn(blocks_of(X, pairs, folds_of(0)))
    other = np.array([[7.0, np.nan, 0.0, np.nan]])
    encoded = fitted.columns(Columns(other), np.array([NO_FOLD], np.uint8))
    assert [float(column[0]) for column in encoded[2:]] == [0.0, 0.0]


def test_encodings_of_a_model_are_those_of_rows_that_were_not_learned_from() -> None:
    X, pairs = make(2)
    fitted = learn(blocks_of(X, pairs, folds_of(2)))
    table, none = Columns(X), np.full(N, NO_FOLD, np.uint8)
    columns = fitted.columns(table, none)
    for encoding, column in zip(fitted.encodings(), columns, strict=True):
        np.testing.assert_array_equal(encoding.columns(table)[0], column)


def test_folds_depend_on_the_numbers_of_rows_only() -> None:
    whole = draw_encoding_folds(10_000, 2**33, 5, 0)
    parts = [draw_encoding_folds(n, 2**33 + at, 5, 0) for at, n in ((0, 999), (999, 9001))]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert (np.bincount(whole, minlength=8) > 1100).all()
    assert (draw_encoding_folds(10_000, 2**33, 5, 1) != whole).mean() > 0.8


def test_the_search_for_keys_ends_where_there_is_no_memory_for_more() -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 50, (N, 2)).astype(float)
    blocks = blocks_of(X, np.ones((N, 2), np.float32), np.zeros(N, np.uint8), range(10, N, 10))
    read, counts = [], []

    def counted():
        for block in blocks:
            read.append(block)
            yield block

    def check(n_keys: int) -> None:
        counts.append(n_keys)
        raise MemoryError

    with pytest.raises(MemoryError):
        learn_cross_fitting(Workers(1), [(0, 1)], [50, 50], N, 1, counted, check, 35)
    assert len(read) == 4  # ten keys a block
    assert 35 < counts[0] <= 40


def test_infinite_gradients_are_an_error() -> None:
    pairs = np.ones((N, 2), np.float32)
    pairs[7, 0] = np.inf
    X = np.zeros((N, len(LEVELS)))
    with pytest.raises(ValueError, match=r"beyond the range of a float32.*Rescale y"):
        learn(blocks_of(X, pairs, np.zeros(N, np.uint8)))


def test_bad_arguments_are_refused() -> None:
    workers, X = Workers(1), Columns(np.zeros((2, 1)))
    index = KeyIndices([[(0, 3)], [(0, 3), (1, 2)]])
    with pytest.raises(ValueError, match="no such feature"):
        index.find(workers, X)
    with pytest.raises(ValueError, match="keys increase"):
        index.set_keys(1, np.array([3, 2], np.uint64))
    with pytest.raises(ValueError, match="no such kind"):
        index.keys(2)
    numbers, folds = [np.array([9, 0], np.uint32)], np.zeros(2, np.uint8)
    pairs, sums = np.zeros(4, np.float32), [np.zeros(16 * 4, np.int64)]
    with pytest.raises(ValueError, match="no sum for a number"):
        add_key_sums(workers, numbers, folds, pairs, 1.0, 1.0, sums)
    with pytest.raises(ValueError, match="no such fold"):
        add_key_sums(workers, numbers, folds + np.uint8(9), pairs, 1.0, 1.0, sums)
    with pytest.raises(ValueError, match="no value for a number"):
        look_up_keys(numbers[0], folds, np.zeros(9 * 4, np.float32))
