"""Which rows and rounds are drawn, one at a time, with Python's integers and plain sorting.

The hash is implemented again, and every choice follows its paper for one row. This module does not
call the core.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["bootstrap", "fixed_size", "goss", "groups", "mvs", "mvs_scale", "rounds", "uniform"]

Vector = npt.NDArray[np.float64]
MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
ROWS, ROUNDS = 2, 5
"""What a draw is for, as native/core/random.hpp numbers it."""


def mix(x: int) -> int:
    """Scramble 64 bits (SplitMix64)."""
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def draws(seed: int, purpose: int, number: int, indices: Sequence[int]) -> list[int]:
    """Return 64 random bits for every index."""
    key = mix((seed + GOLDEN * purpose) & MASK)
    key = mix(key ^ ((number + GOLDEN) & MASK))
    key = mix(key ^ 0xD1B54A32D192ED03)
    return [mix((key + GOLDEN * (i + 1)) & MASK) for i in indices]


def uniforms(seed: int, purpose: int, number: int, indices: Sequence[int]) -> Vector:
    return np.array([(d >> 11) / 2**53 for d in draws(seed, purpose, number, indices)])


def uniform(n: int, share: float, seed: int, number: int) -> npt.NDArray[np.intp]:
    """Each row with probability `share`."""
    return np.flatnonzero([d / 2**64 <= share for d in draws(seed, ROWS, number, range(n))])


def fixed_size(n: int, share: float, seed: int, number: int) -> Vector:
    """The rows with the smallest draws: share · n of them, rounded to even."""
    order = np.argsort(np.array(draws(seed, ROWS, number, range(n)), dtype=np.uint64))
    times = np.zeros(n)
    times[order[: max(1, round(share * n))]] = 1.0
    return times


def groups(of: npt.NDArray[np.uint32], share: float, seed: int, number: int) -> Vector:
    """Return which rows belong to a group that is drawn."""
    drawn = draws(seed, ROWS, number, range(int(of.max()) + 1))
    return np.array([drawn[g] / 2**64 <= share for g in of])


def bootstrap(n: int, rate: float, seed: int, number: int) -> Vector:
    """Return Poisson counts: the least k whose cumulated probability exceeds a uniform number."""
    u = uniforms(seed, ROWS, number, range(n))
    p, total, counts = np.exp(-rate), 0.0, np.zeros(n)
    for k in range(21):
        total += p
        counts[u >= total] = k + 1
        p *= rate / (k + 1)
    return np.minimum(counts, 20)


def goss(importance: Vector, top: float, other: float, seed: int, number: int) -> Vector:
    """Return the multiplier of each row (Ke et al. 2017, Algorithm 2); ties by row index."""
    n = len(importance)
    ranked = np.lexsort((np.arange(n), -importance.astype(np.float32)))
    first = ranked[: max(1, int(np.floor(top * n + 0.5)))]
    p = other / (1 - top)
    times = np.where(uniforms(seed, ROWS, number, range(n)) < p, 1 / p, 0.0)
    times[first] = 1.0
    return times


def mvs_scale(importance: Vector, share: float) -> float:
    """Return μ with Σ min(1, s/μ) = share · n, trying every number of certain rows."""
    s = np.sort(importance)[::-1]
    target = share * len(s)
    for certain in range(len(s)):
        mu = s[certain:].sum() / (target - certain)
        if s[certain] <= mu:
            return float(mu)
    return 0.0


def mvs(importance: Vector, share: float, seed: int, number: int) -> Vector:
    """Return the multiplier of each row (Ibragimov & Gusev 2019)."""
    importance = importance.astype(np.float32).astype(np.float64)
    mu = mvs_scale(importance, share)
    p = np.minimum(1.0, importance / mu)
    u = uniforms(seed, ROWS, number, range(len(p)))
    return np.where(u < p, 1 / np.where(p > 0, p, 1.0), 0.0)


def rounds(n: int, share: float, most: int, skip: float, seed: int, number: int) -> list[int]:
    """Return the earlier rounds that are dropped: at most `most`, those with the smallest draws."""
    lots = uniforms(seed, ROUNDS, number, range(n + 1))
    if lots[n] < skip:
        return []
    drawn = sorted(range(n), key=lambda i: lots[i])
    return sorted([i for i in drawn if lots[i] < share][: most or n])
