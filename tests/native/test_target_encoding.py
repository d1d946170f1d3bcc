"""Ordered target encoding equals a reference that computes every row separately."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.target_encoding import keys_of, ordered_means, strength_of
from stagewise._native import CategoryKeys, Columns, Workers, encode_keys

pytestmark = pytest.mark.native

LEVELS = (5, 40, 0, 3)
KINDS = [(0,), (1,), (0, 1), (0, 1, 3)]


def given_kinds(kinds=KINDS):
    return [[(f, LEVELS[f]) for f in kind] for kind in kinds]


def make(seed: int, n: int = 300):
    """Return columns with missing categories, and pairs (g, h) that depend on them."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, k or 9, n).astype(float) for k in LEVELS])
    X[rng.random(X.shape) < 0.1] = np.nan
    effect = rng.normal(size=50)
    g = (effect[np.nan_to_num(X[:, 1], nan=45).astype(int)] + rng.normal(size=n)) / 2
    h = rng.uniform(0.5, 2.0, n)
    pairs = np.column_stack([g, h]).astype(np.float32)
    return X, pairs


def order_of(n: int, seed: int, version: int) -> list[int]:
    """Return the order in which rows are encoded, read from a column that counts earlier rows."""
    one = np.zeros((n, 1))
    pairs = np.tile(np.array([-1.0, 1.0], dtype=np.float32), n)
    keys = CategoryKeys(Workers(1), Columns(one), [[(0, 1)]], None)
    encoded = keys.ordered_means(Workers(1), pairs, [1e6], seed, version)[0]
    return np.argsort(encoded, kind="stable").tolist()


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_encoded_by_earlier_rows(seed) -> None:
    X, pairs = make(seed)
    workers = Workers(2)
    keys = CategoryKeys(workers, Columns(X), given_kinds(), None)
    order = order_of(len(X), 7, seed)
    assert sorted(order) == list(range(len(X)))
    assert order != sorted(order)
    strength = [1.5, 3.0, 0.25, 10.0]
    encoded = keys.ordered_means(workers, pairs.reshape(-1), strength, 7, seed)
    g, h = pairs.astype(np.float64).T
    for kind, own, s in zip(KINDS, encoded, strength, strict=True):
        expected = ordered_means(keys_of(X, kind), g, h, order, s)
        np.testing.assert_allclose(own, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_the_strength_is_the_ratio_of_variances(seed) -> None:
    X, pairs = make(seed)
    keys = CategoryKeys(Workers(1), Columns(X), given_kinds(), None)
    g, h = pairs.astype(np.float64).T
    found = keys.strengths(Workers(1), pairs.reshape(-1))
    expected = [strength_of(keys_of(X, kind), g, h) for kind in KINDS]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert np.isfinite(found[1])


@pytest.mark.parametrize("seed", range(3))
def test_the_gain_is_the_decrease_of_squared_error(seed) -> None:
    X, pairs = make(seed)
    workers = Workers(2)
    keys = CategoryKeys(workers, Columns(X), given_kinds(), None)
    flat = pairs.reshape(-1)
    strength = keys.strengths(workers, flat)
    finite = [s if np.isfinite(s) else 1.0 for s in strength]
    encoded = keys.ordered_means(workers, flat, finite, 3, 1)
    g, h = pairs.astype(np.float64).T
    for (gain, error), s, m in zip(keys.gains(workers, flat, 3, 1), strength, encoded, strict=True):
        if np.isinf(s):
            assert (gain, error) == (0.0, 0.0)
            continue
        each = h * (g / h) ** 2 - h * (g / h + m) ** 2
        assert gain == pytest.approx(each.sum(), rel=1e-5)
        assert error == pytest.approx(each.std() * np.sqrt(len(each)), rel=1e-5)


@given(st.integers(0, 10_000), st.integers(0, 299))
def test_the_encoding_of_a_row_does_not_depend_on_its_target(seed, row) -> None:
    X, pairs = make(seed)
    workers = Workers(1)
    other = pairs.copy()
    other[row, 0] += 1000.0
    keys = CategoryKeys(workers, Columns(X), given_kinds(), None)
    strength = [2.0] * len(KINDS)
    order = order_of(len(X), 1, 0)
    upto = order[: order.index(row) + 1]
    first = keys.ordered_means(workers, pairs.reshape(-1), strength, 1, 0)
    second = keys.ordered_means(workers, other.reshape(-1), strength, 1, 0)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a[upto], b[upto])  # nor do those of earlier rows


def test_other_rows_are_encoded_by_all_training_rows() -> None:
    X, pairs = make(0)
    workers = Workers(1)
    learned = np.flatnonzero(np.arange(len(X)) % 3 > 0).astype(np.uint32)
    others = np.setdiff1d(np.arange(len(X)), learned)
    own = np.ascontiguousarray(pairs[learned].reshape(-1))
    keys = CategoryKeys(workers, Columns(X), given_kinds(), learned)
    encoded = keys.ordered_means(workers, own, [2.0] * 4, 0, 0)
    means = keys.means(workers, own, [2.0] * 4)
    for place, kind in enumerate(KINDS):
        sources = given_kinds([kind])[0]
        number = encode_keys(Columns(X), sources, keys.keys(place))
        np.testing.assert_array_equal(encoded[place][others], means[place][number][others])
        g, h = pairs[learned].astype(np.float64).T
        its = keys_of(X[learned], kind)
        for row in others[:20]:
            same = [i for i, key in enumerate(its) if key == keys_of(X[[row]], kind)[0]]
            expected = -g[same].sum() / (h[same].sum() + 2.0)
            assert means[place][number[row]] == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_unknown_combinations_are_encoded_as_zero() -> None:
    X = np.array([[0.0, 0.0], [1.0, 1.0]])
    pairs = np.array([-1, 1, 2, 1], dtype=np.float32)
    keys = CategoryKeys(Workers(1), Columns(X), [[(0, 2), (1, 2)]], None)
    means = keys.means(Workers(1), pairs, [1.0])[0]
    other = np.array([[0.0, 1.0], [np.nan, 0.0], [1.0, 1.0]])
    number = encode_keys(Columns(other), [(0, 2), (1, 2)], keys.keys(0))
    assert means[number].tolist() == [0.0, 0.0, -1.0]


def test_any_number_of_threads_gives_the_same() -> None:
    X, pairs = make(1, 5000)
    found = []
    for threads in (1, 2, 3):
        workers = Workers(threads)
        keys = CategoryKeys(workers, Columns(X), given_kinds(), None)
        strength = keys.strengths(workers, pairs.reshape(-1))
        arrays = keys.ordered_means(workers, pairs.reshape(-1), [2.0] * 4, 0, 0)
        found.append([strength, keys.gains(workers, pairs.reshape(-1), 0, 0)])
        found[-1] += [array.tobytes() for array in arrays]
    assert found[0] == found[1] == found[2]


def test_more_combinations_than_integers_are_refused() -> None:
    X = np.zeros((3, 3))
    many = [(f, 2**30) for f in range(3)]
    with pytest.raises(ValueError, match="too many combinations"):
        CategoryKeys(Workers(1), Columns(X), [many], None)
