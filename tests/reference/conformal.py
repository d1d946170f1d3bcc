"""Conformal prediction, written from the papers with loops: Lei et al. 2018; Barber et al. 2021;
Romano et al. 2019, 2020; Angelopoulos et al. 2021. Weights are repeated rows."""

from __future__ import annotations

import math
import struct
from fractions import Fraction


def threshold(scores, coverage: str):
    """The ⌈(n + 1) c⌉-th smallest score."""
    n = len(scores)
    rank = math.ceil((n + 1) * Fraction(coverage))
    return sorted(scores)[rank - 1] if rank <= n else math.inf


def cross_interval(predicted, residuals, coverage: str):
    """CV+ of one row: `predicted` is the prediction of the model that left out each row."""
    n = len(residuals)
    low = sorted(p - r for p, r in zip(predicted, residuals, strict=True))
    high = sorted(p + r for p, r in zip(predicted, residuals, strict=True))
    rank = math.ceil((n + 1) * Fraction(coverage))
    if rank > n:
        return -math.inf, math.inf
    bounds = low[n - rank], high[rank - 1]
    return bounds if bounds[0] <= bounds[1] else (sum(bounds) / 2,) * 2


def class_score(kind, p, k, u=1.0, penalty=0.0, free_ranks=0):
    """The score of class k of a row with the probabilities p, which are all different."""
    if kind == "lac":
        return 1.0 - p[k]
    above = [q for q in p if q > p[k]]
    score = sum(above) + u * p[k]
    if kind == "raps":
        score += penalty * max(0, len(above) + 1 - free_ranks)
    return score


def uniform(values, seed):
    """The number in [0, 1) of a row: SplitMix64 of the seed, then of each value."""

    def mixed(state):
        z = (state + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    state = mixed(seed)
    for value in values:
        (bits,) = struct.unpack("<Q", struct.pack("<d", value))
        state = mixed(state ^ bits)
    return (state >> 11) / 2**53
