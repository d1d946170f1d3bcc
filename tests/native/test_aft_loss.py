"""The native loss of accelerated failure times equals its slow reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.aft import DISTRIBUTIONS, Rows, Terms
from stagewise._native import Workers, supported_isas
from stagewise.data.survival_target import SURVIVAL
from stagewise.losses import Aft

rng = np.random.default_rng(0)


def times(n: int, *, only: str | None = None) -> np.ndarray:
    """Return times of which each kind is known, or of one kind only."""
    time = np.exp(rng.normal(size=n))
    kind = rng.choice(["exact", "right", "left", "interval"] if only is None else [only], n)
    upper = np.select(
        [kind == "exact", kind == "right"], [time, np.inf], time * (1 + rng.exponential(size=n))
    )
    low = np.where(kind == "left", 0.0, time)
    entry = np.where((rng.random(n) < 0.3) & (kind != "left"), 0.5 * time, 0.0)
    y = np.zeros(n, dtype=SURVIVAL)
    y["time"], y["upper"], y["entry"] = low, upper, entry
    return y


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("spread", [1.0, 8.0])
def test_terms_equal_the_reference(name: str, spread: float) -> None:
    y = times(1500)
    score = spread * rng.normal(size=len(y))
    for sigma in (0.4, 1.0, 3.0):
        terms = Aft(name).native(y).terms(Workers(2), score, sigma)
        expected = Terms(DISTRIBUTIONS[name], Rows.of(y), score, sigma)
        for own, field in zip(terms, ("loss", "slope", "curvature", "spread"), strict=True):
            other = getattr(expected, field)
            size = np.maximum(np.abs(other), 1.0)
            # The reference has f / S from logarithms, whose errors are multiplied by z² and z.
            close = np.abs(own - other) <= 1e-9 * size * max(1.0, (spread / sigma) ** 2)
            assert close[np.abs(other) < 1e6].all(), (field, sigma)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("only", ["exact", "right", "left", "interval"])
def test_slopes_are_those_of_the_loss(name: str, only: str) -> None:
    y, step = times(200, only=only), 1e-5
    score, sigma = rng.normal(size=len(y)), 0.7
    loss = Aft(name).native(y)

    def value(f: np.ndarray, s: float) -> np.ndarray:
        return loss.terms(Workers(1), f, s)[0]

    _, slope, curvature, spread = loss.terms(Workers(1), score, sigma)
    numeric = (value(score + step, sigma) - value(score - step, sigma)) / (2 * step)
    np.testing.assert_allclose(slope / sigma, numeric, rtol=1e-6, atol=1e-7)
    first = loss.terms(Workers(1), score + step, sigma)[1]
    second = (first - loss.terms(Workers(1), score - step, sigma)[1]) / (2 * step)
    bounded = np.maximum(second, 0.0)  # of rows that entered late it may be negative
    np.testing.assert_allclose(-curvature / sigma, bounded, rtol=1e-4, atol=1e-5)
    grown, shrunk = sigma * np.exp(step), sigma * np.exp(-step)
    by_sigma = (value(score, grown) - value(score, shrunk)) / (2 * step)
    np.testing.assert_allclose(spread, by_sigma, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_threads_and_instruction_sets_change_no_bit(name: str) -> None:
    y = times(5000)
    score, weight = 3 * rng.normal(size=len(y)), rng.integers(0, 3, len(y)).astype(float)

    def found(workers: Workers) -> list[Any]:
        loss = Aft(name).native(y)
        rows = loss.row_loss(workers, weight, 0.0, 1e-3, 1e-3, 1e3, 1e-3)
        terms = loss.terms(workers, score, 0.6)
        sigma = loss.find_sigma(workers, score, weight, 1.0, 1e-3, 1e3, 1e-8)
        value = rows.evaluate(workers, score)
        pairs = rows.gradients(workers, score, 0).pairs().tobytes()
        return [*(own.tobytes() for own in terms), sigma, value, pairs]

    expected = found(Workers(1))
    for isa in supported_isas():
        for threads in (1, 3):
            assert found(Workers(threads, isa)) == expected


def test_sigma_minimises_the_loss() -> None:
    y = times(800)
    score = 0.5 * rng.normal(size=len(y))
    loss = Aft().native(y)
    sigma = loss.find_sigma(Workers(1), score, None, 1.0, 1e-3, 1e3, 1e-8)
    best = loss.terms(Workers(1), score, sigma)[0].sum()
    for factor in (0.98, 1.02):
        assert loss.terms(Workers(1), score, factor * sigma)[0].sum() > best


def test_a_score_that_is_not_finite_has_no_loss() -> None:
    y = times(20)
    rows = Aft().native(y).row_loss(Workers(1), None, 1.0, 0.0, 1e-3, 1e3, 1e-3)
    score = np.zeros(20)
    score[3] = np.nan
    assert np.isnan(rows.evaluate(Workers(1), score))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_narrow_intervals_are_exact_times(name: str) -> None:
    exact, sigma = times(400, only="exact"), 0.3
    exact["entry"] = 0.0
    score = np.log(exact["time"]) + np.random.default_rng(1).normal(size=400)
    expected = Aft(name).native(exact).terms(Workers(1), score, sigma)
    for width in (1e-4, 1e-5, 1e-6, 1e-7, 1e-9, 1e-11, 1e-13):
        y = exact.copy()
        y["upper"] = y["time"] * (1.0 + width)
        found = Aft(name).native(y).terms(Workers(1), score, sigma)
        for own, other in zip(found[1:], expected[1:], strict=True):
            size = np.maximum(np.abs(other), 1.0)
            assert (np.abs(own - other) / size).max() < 40.0 * width + 1e-8
        log_width = np.log(np.log(y["upper"]) - np.log(y["time"]))
        density = expected[0] - np.log(exact["time"])  # of log t
        near = 40.0 * width + 1e-15 / width + 1e-9  # the logs of the ends are rounded
        np.testing.assert_allclose(found[0] + log_width, density, atol=near, rtol=near)
