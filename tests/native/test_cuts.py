"""Cuts separate neighbouring values, in float64 and in float32."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reference import binning
from reference.core import cuts_of
from stagewise._native import Columns, Workers, cut_between, learn_cuts

pytestmark = pytest.mark.native

TINY = 5e-324
LARGEST = float(np.finfo(np.float64).max)
numbers = st.floats(allow_nan=False, allow_infinity=True)


def single(x: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(x))


@settings(max_examples=1000)
@given(numbers, numbers)
@example(0.0, TINY)
@example(-TINY, 0.0)
@example(-TINY, TINY)
@example(TINY, 2 * TINY)
@example(-np.inf, np.inf)
@example(-np.inf, -LARGEST)
@example(LARGEST, np.inf)
@example(-LARGEST, LARGEST)
@example(1e300, np.inf)
@example(1.0, 1.0 + 2**-52)
@example(1.0 + 2**-30, 1.0 + 2**-22)
@example(3.4e38, 3.5e38)
@example(16777216.0, 16777217.0)
def test_a_cut_separates_both_values(a: float, b: float) -> None:
    a, b = min(a, b), max(a, b)
    if a == b:
        return
    cut = cut_between(a, b)
    assert a <= cut < b
    if single(a) < single(b):
        assert single(a) <= cut < single(b)
    assert cut == binning.cut_between(a, b)


@settings(max_examples=300)
@given(numbers.filter(lambda x: x < LARGEST), st.integers(1, 40))
def test_a_cut_separates_neighbouring_floats(a: float, steps: int) -> None:
    b = a
    for _ in range(steps):
        b = float(np.nextafter(b, np.inf))
    assert a <= cut_between(a, b) < b


COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "few values": lambda rng, n: rng.integers(0, 7, n).astype(float),
    "a spike": lambda rng, n: np.where(rng.random(n) < 0.6, 0.0, rng.normal(size=n)),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, rng.exponential(size=n)),
    "all missing": lambda _, n: np.full(n, np.nan),
    "constant": lambda _, n: np.full(n, 3.5),
    "signed zeros": lambda rng, n: np.where(rng.random(n) < 0.5, -0.0, 0.0),
    "infinities": lambda rng, n: rng.choice([-np.inf, -1.0, 0.0, 1e308, np.inf, np.nan], n),
    "huge": lambda rng, n: rng.normal(size=n) * 1e307,
    "subnormal": lambda rng, n: rng.integers(-400, 400, n) * TINY,
    "heavy tail": lambda rng, n: np.exp(rng.normal(size=n) * 40),
}


def some_weights(rng: np.random.Generator, n: int, kind: str) -> npt.NDArray[np.float64] | None:
    return {
        "none": None,
        "whole": rng.integers(1, 5, n).astype(float),
        "fractional": rng.exponential(size=n),
    }[kind]


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", COLUMNS)
def test_cuts_equal_the_reference(workers: Workers, name: str, dtype: type, weights: str) -> None:
    rng = np.random.default_rng([len(name), len(weights)])
    for n, max_bins in ((1, 2), (2, 255), (100, 3), (600, 16), (600, 255), (1_500, 700)):
        with np.errstate(over="ignore"):
            x = COLUMNS[name](rng, n).astype(dtype)
        weight = some_weights(rng, n, weights)
        (cuts,) = cuts_of(workers, x[:, np.newaxis], weight, max_bins)
        np.testing.assert_array_equal(cuts, binning.find_cuts(x, weight, max_bins))
        assert len(cuts) < max_bins


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
def test_cuts_of_many_columns_equal_those_of_each_column(workers: Workers, weights: str) -> None:
    rng = np.random.default_rng(12)
    n = 1_100
    columns = [make(rng, n) for make in COLUMNS.values()] + [rng.normal(size=n) for _ in range(9)]
    weight = some_weights(rng, n, weights)
    with np.errstate(over="ignore"):
        mixed = [c.astype(np.float32 if i % 3 else np.float64) for i, c in enumerate(columns)]
    together = cuts_of(workers, mixed, weight, 40)
    for x, cuts in zip(mixed, together, strict=True):
        np.testing.assert_array_equal(cuts, binning.find_cuts(x, weight, 40))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(numbers, st.just(np.nan), st.floats(width=32)), min_size=1, max_size=60),
    st.integers(2, 70),
)
def test_cuts_of_any_column_separate_its_neighbours(values: list[float], max_bins: int) -> None:
    x = np.array(values)
    (cuts,) = cuts_of(Workers(1), x[:, np.newaxis], None, max_bins)
    assert (cuts[:-1] < cuts[1:]).all()
    assert len(cuts) < max_bins
    present = np.unique(x[~np.isnan(x)] + 0.0)
    for cut in cuts:
        a, b = present[present <= cut].max(), present[present > cut].min()
        if single(a) < single(b):
            assert single(a) <= cut < single(b)
    if len(present) <= max_bins:
        assert len(cuts) == max(len(present) - 1, 0)


def test_an_integer_weight_equals_copies(workers: Workers) -> None:
    rng = np.random.default_rng(3)
    x, weight = rng.normal(size=500), rng.integers(1, 6, 500)
    (once,) = cuts_of(workers, x[:, np.newaxis], weight.astype(float), 32)
    (copied,) = cuts_of(workers, np.repeat(x, weight)[:, np.newaxis], None, 32)
    np.testing.assert_array_equal(once, copied)


def test_bins_of_a_continuous_column_have_about_equal_shares(workers: Workers) -> None:
    x = np.random.default_rng(0).normal(size=20_000)
    (cuts,) = cuts_of(workers, x[:, np.newaxis], None, 100)
    share = np.bincount(np.searchsorted(cuts, x)) / len(x)
    assert len(share) == 100
    assert share.max() < 1.1 * share.min()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_cuts_from_a_sample_do_not_depend_on_threads_or_columns(threads: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30_000, 3))
    cuts = learn_cuts(Workers(threads), Columns(X), None, 50, 2_000, 7)
    (alone,) = learn_cuts(Workers(1), Columns([np.asfortranarray(X)[:, 1]]), None, 50, 2_000, 7)
    np.testing.assert_array_equal(cuts[1], alone)
    (full,) = learn_cuts(Workers(1), Columns([X[:, 1]]), None, 50, 100_000, 7)
    assert not np.array_equal(cuts[1], full)  # it was a sample,
    assert np.abs(cuts[1][5:-5] - full[5:-5]).max() < 0.2  # and a representative one
