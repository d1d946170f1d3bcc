"""Sums over rows: exact, and so the same for every order and every division of the rows."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagewise.exact_sums import ExactSums, mean_rows, sum_by_code, sum_rows

pytestmark = pytest.mark.native

numbers = st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), max_size=30)


def exact(values: list[float]) -> float:
    """Return the nearest float64 of the sum of fractions; beyond all of them, an infinity."""
    total = sum(map(Fraction, values), Fraction(0))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


@given(numbers)
def test_a_sum_is_rounded_once(values: list[float]) -> None:
    assert sum_rows(np.array(values)) == exact(values)


@given(numbers, st.randoms(use_true_random=False), st.integers(0, 30))
def test_neither_order_nor_division_matters(values: list[float], random, at: int) -> None:
    whole = ExactSums.of_rows(np.array(values))
    random.shuffle(values)
    parts = ExactSums.of_rows(np.array(values[:at])) + ExactSums.of_rows(np.array(values[at:]))
    assert whole.first() == parts.first()


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.integers(1, 50)), min_size=1, max_size=20))
def test_a_weight_is_a_number_of_copies(rows: list[tuple[float, int]]) -> None:
    values, times = np.array([x for x, _ in rows]), np.array([k for _, k in rows])
    weighted = mean_rows(values, times.astype(np.float64))
    assert weighted == mean_rows(np.repeat(values, times))


@pytest.mark.parametrize("spread", [0, 3, 150, 300])
@pytest.mark.parametrize("rows", [511, 512, 1024, 5000, 200_000])
def test_sums_of_many_rows_are_rounded_once(rows: int, spread: int) -> None:
    rng = np.random.default_rng(rows + spread)
    values = rng.normal(size=rows) * 10.0 ** rng.integers(-spread, spread + 1, rows)
    values[::7] = -values[1]
    values[:3] = 5e-324, -0.0, 0.0
    assert sum_rows(values) == math.fsum(values)
    weight = rng.integers(0, 9, rows).astype(np.float64)
    copies = np.repeat(values, weight.astype(int))
    assert sum_rows(values, weight) == math.fsum(copies)
    values[rows // 2] = math.inf
    assert sum_rows(values) == math.inf


def test_products_of_many_rows_do_not_overflow() -> None:
    values, weight = np.full(3000, 1e308), np.full(3000, 3.0)
    assert mean_rows(values, weight) == 1e308


def test_sums_cancel_without_a_rest() -> None:
    values = np.array([1e300, 1.0, -1e300, 5e-324, -1.0])
    assert sum_rows(values) == 5e-324


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, math.inf], math.inf),
        ([-math.inf, 1e308], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([1.7e308, 1.7e308], math.inf),
        ([], 0.0),
    ],
)
def test_sums_that_are_not_finite(values: list[float], expected: float) -> None:
    assert sum_rows(np.array(values, dtype=np.float64)) == pytest.approx(expected, nan_ok=True)


def test_sums_by_code_equal_the_sums_of_each_code() -> None:
    rng = np.random.default_rng(0)
    codes, weight = rng.integers(0, 4, 5000).astype(np.int32), rng.random(5000)
    expected = [math.fsum(weight[codes == k]) for k in range(5)]
    assert sum_by_code(codes, 5, weight).tolist() == expected
    assert sum_by_code(codes, 5).tolist() == np.bincount(codes, minlength=5).tolist()


def test_carries_keep_the_sum() -> None:
    """More terms than a digit can hold without carries: sums of sums, doubled again and again."""
    sums = ExactSums.of_rows(np.array([1.0 + 2.0**-52, -3.0, 2.0**60]))
    one = sums.first()
    for doublings in range(1, 31):
        sums = sums + sums
        assert sums.first() == one * 2**doublings
    assert sums.values[0] == one * 2**30 / 2**1074


def test_a_code_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="out of range"):
        sum_by_code(np.array([0, 3], dtype=np.int32), 3, np.ones(2))
