"""Rows of a table that is divided: what depends on a row depends on its number among all rows."""

from __future__ import annotations

import numpy as np
import pytest

from stagewise._native import (
    Gradients,
    Workers,
    draw_bootstrap,
    draw_rows,
    held_out_draws,
    round_exact_sums,
)

pytestmark = pytest.mark.native

BLOCK = 1024
FAR = [0, BLOCK, 2**31 - 2 * BLOCK, 2**32 - 2 * BLOCK, 2**32, 2**36 + 5 * BLOCK]


def test_merged_sums_are_those_of_the_whole() -> None:
    """The exact sums of shards add up to those of one table, in any order."""
    rng, workers, n = np.random.default_rng(0), Workers(2), 7 * BLOCK + 300
    y, score = rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n), np.zeros(n)
    whole = Gradients(n)
    loss = whole.squared(workers, y, score, None)
    total = np.zeros_like(whole.exact_sums())
    for first, last in [(4 * BLOCK, n), (0, BLOCK), (BLOCK, 4 * BLOCK)]:
        part = Gradients(last - first, first, n)
        part.squared(workers, y[first:last], score[first:last], None)
        total += part.exact_sums()
    merged, alone = (round_exact_sums(i.reshape(3, -1)) for i in (total, whole.exact_sums()))
    assert merged.tolist() == alone.tolist()
    assert merged[0] == loss


@pytest.mark.parametrize("first", FAR)
def test_draws_of_a_part_are_those_of_the_whole(first: int) -> None:
    workers, n, at = Workers(2), 5000, 1234
    whole = draw_rows(workers, n, None, 0.3, 7, 2, first)
    part = draw_rows(workers, n - at, None, 0.3, 7, 2, first + at)
    assert (whole[whole >= at] - at).tolist() == part.tolist()
    _, times = draw_bootstrap(workers, n, None, 1.0, 7, 2, first)
    _, own = draw_bootstrap(workers, n - at, None, 1.0, 7, 2, first + at)
    assert (times[at:] == own).all()
    assert (held_out_draws(n, 7, first)[at:] == held_out_draws(n - at, 7, first + at)).all()


def test_draws_differ_beyond_two_to_the_32() -> None:
    near, far = held_out_draws(1000, 7, 0), held_out_draws(1000, 7, 2**32)
    assert not (near == far).any()


def _packed(first: int, n: int, rows: int, *, mean: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Return packed gradients and hessians of squared errors, as if all `rows` had such values."""
    gradients, workers = Gradients(n, first, rows), Workers(2)
    y = np.random.default_rng(1).normal(size=2**16)[np.arange(first, first + n) % 2**16]
    gradients.squared(workers, y, np.zeros(n), None)
    gradients.set_sums(0.0, rows * mean, float(rows))
    packed = gradients.packed(workers, None, float(rows), 99).reshape(n, 2)
    return packed[:, 0], packed[:, 1]


@pytest.mark.parametrize("first", FAR)
def test_a_row_is_rounded_in_the_same_way_in_every_shard(first: int) -> None:
    n, at, rows = 6 * BLOCK, 2 * BLOCK, 2**37
    whole, part = _packed(first, n, rows), _packed(first + at, n - at, rows)
    for a, b in zip(whole, part, strict=True):
        assert (a[at:] == b).all()


def test_rows_beyond_two_to_the_32_are_rounded_by_other_draws() -> None:
    near, far = _packed(0, 2 * BLOCK, 2**37), _packed(2**32, 2 * BLOCK, 2**37)
    assert (near[0] != far[0]).any()


@pytest.mark.parametrize("rows", [2**20, 2**28, 2**30, 2**31, 2**33, 2**36])
def test_sums_of_any_number_of_rows_fit_into_their_halves(rows: int) -> None:
    """2**20 rows stand for all: their sums, times how many there are of them, fit."""
    n, mean = 2**20, 0.8
    g, h = _packed(0, n, rows, mean=mean)
    assert np.abs(g).sum() * (rows / n) < 2**31
    assert h.sum() * (rows / n) < 2**31
    # The scale is not smaller than needed: at least a fifth of the half is used.
    assert h.sum() * (rows / n) > 2**31 / 5


@pytest.mark.parametrize("rows", [2**30, 2**33, 2**36])
def test_rounding_many_rows_has_no_bias(rows: int) -> None:
    """With less than one unit per row, the mean of many rows is still the mean of the values."""
    n = 2**20
    g, h = _packed(0, n, rows)
    unit = h.mean()  # the hessian is 1
    y = np.random.default_rng(1).normal(size=2**16)
    assert unit == pytest.approx(2.0 ** np.round(np.log2(unit)), rel=0.03)
    gradient_unit = np.abs(g).mean() / np.abs(y).mean()
    scale = 2.0 ** np.round(np.log2(gradient_unit))
    error = np.sqrt(0.25 + (scale * y.std()) ** 2) / np.sqrt(n)
    assert g.mean() == pytest.approx(-scale * y.mean(), abs=5 * error)


def test_a_shard_begins_at_a_block() -> None:
    with pytest.raises(ValueError, match="multiple of 1024"):
        Gradients(10, 100, 1000)


def test_a_shard_lies_within_the_table() -> None:
    with pytest.raises(ValueError, match="rows of the table"):
        Gradients(10, 1024, 1030)
