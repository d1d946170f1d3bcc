"""Bags equal the reference for any number of threads; multipliers keep sums unbiased."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import sampling as reference
from reference.core import Growth, bin_table
from reference.tree import Rules
from stagewise._native import (
    Gradients,
    Workers,
    draw_bootstrap,
    draw_dropout,
    draw_goss,
    draw_groups,
    draw_mvs,
    draw_rows,
)

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]
SEEDS = st.integers(0, 2**64 - 1)
SIZES = st.sampled_from([1, 2, 3, 17, 100, 333])
SHARES = st.sampled_from([1e-9, 0.05, 0.3, 0.5, 0.9])


def importances(n: int, seed: int, kind: str) -> Vector:
    rng = np.random.default_rng(seed % 2**32)
    if kind == "ties":
        return rng.integers(0, 3, n).astype(np.float64)
    if kind == "equal":
        return np.full(n, 0.37)
    if kind == "wide":
        return np.exp(rng.normal(0, 8, n))
    return np.abs(rng.normal(size=n))


KINDS = st.sampled_from(["plain", "ties", "equal", "wide"])


def expand(found: tuple[Any, Any], n: int) -> Vector:
    """Return how often every row counts, and check that both results agree."""
    rows, times = found
    assert times.dtype == np.float32
    assert times.shape == (n,)
    np.testing.assert_array_equal(rows, np.flatnonzero(times > 0))
    return times.astype(np.float64)


# ---- each draw equals the reference --------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(SIZES, SHARES, SEEDS, st.integers(0, 1000))
def test_uniform_rows_equal_the_reference(n, share, seed, number):
    drawn = draw_rows(Workers(2), n, None, share, seed, number)
    expected = reference.uniform(n, share, seed, number)
    if len(expected):
        np.testing.assert_array_equal(drawn, expected)
    else:
        assert len(drawn) == 1


@settings(max_examples=60, deadline=None)
@given(SIZES, SHARES, SEEDS, st.integers(1, 9))
def test_groups_equal_the_reference(n, share, seed, k):
    of = (np.arange(n) * 7 % k).astype(np.uint32)
    drawn = draw_groups(Workers(2), of, None, share, seed, 3)
    expected = np.flatnonzero(reference.groups(of, share, seed, 3))
    if not len(expected):  # none: then one whole group
        expected = np.flatnonzero(of == of[drawn[0]])
    np.testing.assert_array_equal(drawn, expected)


@settings(max_examples=60, deadline=None)
@given(SIZES, st.sampled_from([0.05, 0.5, 1.0]), SEEDS)
def test_bootstrap_counts_equal_the_reference(n, rate, seed):
    counts = expand(draw_bootstrap(Workers(2), n, None, rate, seed, 4), n)
    expected = reference.bootstrap(n, rate, seed, 4)
    if expected.any():
        np.testing.assert_array_equal(counts, expected)
    else:
        assert counts.sum() == 1


@settings(max_examples=100, deadline=None)
@given(SIZES, KINDS, st.sampled_from([(0.2, 0.1), (0.05, 0.5), (0.6, 0.3)]), SEEDS)
def test_goss_equals_the_reference(n, kind, shares, seed):
    s = importances(n, seed, kind)
    times = expand(draw_goss(Workers(2), s**2, None, *shares, seed, 5), n)
    np.testing.assert_allclose(times, reference.goss(s, *shares, seed, 5), rtol=1e-6)


@settings(max_examples=100, deadline=None)
@given(SIZES, KINDS, st.sampled_from([0.05, 0.3, 0.5, 0.9]), SEEDS)
def test_mvs_equals_the_reference(n, kind, share, seed):
    s = importances(n, seed, kind)
    times = expand(draw_mvs(Workers(2), s**2, None, share, seed, 6), n)
    positive = (s > 0).sum()
    if positive <= share * n:
        np.testing.assert_array_equal(times > 0, s > 0 if positive else times > 0)
        return
    expected = reference.mvs(s, share, seed, 6)
    if expected.any():
        np.testing.assert_allclose(times, expected, rtol=1e-6)
    else:
        assert times.sum() == 1


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 60),
    st.sampled_from([0.01, 0.1, 0.5, 1.0]),
    st.sampled_from([0, 1, 5, 50]),
    st.sampled_from([0.0, 0.5, 0.9]),
    SEEDS,
)
def test_dropped_rounds_equal_the_reference(n, share, most, skip, seed):
    found = draw_dropout(n, share, most, skip, seed, 7)
    assert found.tolist() == reference.rounds(n, share, most, skip, seed, 7)


# ---- invariants ----------------------------------------------------------------------------------


def every_draw(workers: Workers, n: int, weight: Vector | None) -> list[bytes]:
    s = importances(n, 1, "plain") ** 2
    of = (np.arange(n) % 97).astype(np.uint32)
    found = [
        (draw_rows(workers, n, weight, 0.3, 1, 2),),
        (draw_groups(workers, of, weight, 0.3, 1, 2),),
        draw_bootstrap(workers, n, weight, 1.0, 1, 2),
        draw_goss(workers, s, weight, 0.2, 0.1, 1, 2),
        draw_goss(workers, np.ones(n), weight, 0.2, 0.1, 1, 2),
        draw_mvs(workers, s, weight, 0.3, 1, 2),
    ]
    return [b"".join(part.tobytes() for part in bag) for bag in found]


@pytest.mark.parametrize("n", [1, 16_384, 16_385, 150_001])
@pytest.mark.parametrize("weighted", [False, True])
def test_threads_do_not_matter(n, weighted):
    weight = (np.arange(n) % 5 != 1).astype(np.float64) if weighted else None
    first, *others = [every_draw(Workers(t), n, weight) for t in (1, 2, 5)]
    assert all(other == first for other in others)


@pytest.mark.parametrize("n", [50, 40_000])
def test_weight_zero_equals_absence(n, workers):
    present = np.arange(n) % 3 != 0
    s = importances(n, 3, "plain")
    wild = np.where(present, s, 1e9)
    for draw, own in ((draw_goss, (0.2, 0.1)), (draw_mvs, (0.3,))):
        rows, times = draw(workers, wild**2, present.astype(np.float64), *own, 8, 9)
        assert present[rows].all()
        alone = np.where(present, s, 0.0)
        if draw is draw_mvs:  # rows without importance are not drawn either
            rest = draw(workers, alone**2, present.astype(np.float64), *own, 8, 9)
            assert rest[1].tobytes() == times.tobytes()
        share = len(rows) / present.sum()
        assert share == pytest.approx(0.3, abs=0.15 if n < 100 else 0.01)


def test_rounds_differ_and_seeds_differ(workers):
    bags = {draw_rows(workers, 500, None, 0.5, s, m).tobytes() for s in range(3) for m in range(9)}
    assert len(bags) == 27


@pytest.mark.parametrize("kind", ["bootstrap", "goss", "mvs"])
def test_multiplied_sums_are_unbiased(kind, workers):
    n, rounds = 400, 4000
    rng = np.random.default_rng(0)
    g, h = rng.normal(size=n), rng.uniform(0.1, 1, n)
    s2 = g**2 + h**2
    totals = []
    for m in range(rounds):
        _, times = {
            "bootstrap": lambda m: draw_bootstrap(workers, n, None, 1.0, 0, m),
            "goss": lambda m: draw_goss(workers, g**2, None, 0.2, 0.1, 0, m),
            "mvs": lambda m: draw_mvs(workers, s2, None, 0.3, 0, m),
        }[kind](m)
        totals.append([times @ g, times @ h, (times > 0).sum()])
    mean, error = np.mean(totals, axis=0), np.std(totals, axis=0) / np.sqrt(rounds)
    assert abs(mean[0] - g.sum()) < 4 * error[0]
    assert abs(mean[1] - h.sum()) < 4 * error[1]
    if kind != "bootstrap":
        assert abs(mean[2] - 0.3 * n) < 4 * error[2]


def test_mvs_has_the_least_variance(workers):
    """Of the sum of gradients, compared with GOSS and uniform rows of the same number."""
    n, rounds = 1000, 2000
    g = np.random.default_rng(1).standard_cauchy(n) ** 1.0
    g = np.clip(g, -50, 50)
    sums: dict[str, list[float]] = {"mvs": [], "goss": [], "uniform": []}
    for m in range(rounds):
        sums["mvs"].append(draw_mvs(workers, g**2, None, 0.3, 0, m)[1] @ g)
        sums["goss"].append(draw_goss(workers, g**2, None, 0.2, 0.1, 0, m)[1] @ g)
        sums["uniform"].append(g[draw_rows(workers, n, None, 0.3, 0, m)].sum() / 0.3)
    spread = {name: np.std(values) for name, values in sums.items()}
    assert spread["mvs"] < spread["goss"] < spread["uniform"]


# ---- multiplied derivatives ----------------------------------------------------------------------


@pytest.mark.parametrize("hessians", [True, False])
def test_multiplied_pairs_equal_the_formula(hessians, workers):
    rng = np.random.default_rng(2)
    g, h = rng.normal(size=3000), rng.uniform(size=3000)
    times = rng.integers(0, 4, 3000).astype(np.float32) / 2
    pairs = Gradients(3000)
    pairs.assign(workers, g, h, None)
    pairs.multiply(workers, None, times, hessians)
    found = pairs.pairs().reshape(-1, 2)
    np.testing.assert_allclose(found[:, 0], g * times, rtol=1e-6)
    np.testing.assert_allclose(found[:, 1], h * (times if hessians else 1), rtol=1e-6)


def test_importances_sum_squares_over_outputs(workers):
    rng = np.random.default_rng(3)
    weight, out = rng.uniform(0.5, 2, 20_000), np.zeros(20_000)
    expected = np.zeros(20_000)
    for _ in range(3):
        g, h = rng.normal(size=20_000), rng.uniform(size=20_000)
        pairs = Gradients(20_000)
        pairs.assign(workers, g, h, weight)
        pairs.add_squares(workers, weight, 0.7, out)
        expected += (weight * g) ** 2 + 0.7 * (weight * h) ** 2
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_gradients_that_no_loss_has_filled_are_refused(workers):
    pairs = Gradients(3)
    with pytest.raises(ValueError, match="filled by a loss"):
        pairs.multiply(workers, None, np.ones(3, dtype=np.float32))
    with pytest.raises(ValueError, match="filled by a loss"):
        pairs.add_squares(workers, None, 0.0, np.zeros(3))
    with pytest.raises(ValueError, match="one multiplier per row"):
        pairs.multiply(workers, None, np.ones(2, dtype=np.float32))


@pytest.mark.parametrize("weighted", [False, True])
def test_leaf_summaries_use_the_multipliers(weighted, workers):
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 9, (400, 2)).astype(float), rng.normal(size=400)
    weight = rng.integers(1, 4, 400).astype(float) if weighted else None
    times = rng.integers(1, 4, 400)
    own = times * (1.0 if weight is None else weight)
    bins = bin_table(workers, X)[0]
    rules = Rules(max_leaves=5)
    multiplied, repeated = (Growth(workers, bins, w, rules) for w in (weight, own))
    repeated.grow(-y, np.ones(400))
    pairs = Gradients(400)
    pairs.assign(workers, -y, np.ones(400), weight)
    pairs.multiply(workers, weight, times.astype(np.float32))
    multiplied.from_gradients(pairs)
    np.testing.assert_array_equal(multiplied.grower.leaf_nodes(), repeated.grower.leaf_nodes())
    for name, number in (("leaf_quantiles", 0.3), ("leaf_huber_means", 0.5)):
        found = getattr(multiplied.grower, name)(y, number, times.astype(np.float32))
        np.testing.assert_allclose(found, getattr(repeated.grower, name)(y, number), rtol=1e-12)
