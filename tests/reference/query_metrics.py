"""Metrics of one query, row by row."""

import math

__all__ = ["average_precision", "err", "ndcg", "reciprocal_rank"]


def _order(gain, score):
    return sorted(range(len(gain)), key=lambda i: (-score[i], gain[i]))


def ndcg(gain, score, k=None):
    k = k or len(gain)
    discounts = [1 / math.log2(2 + r) if r < k else 0.0 for r in range(len(gain))]
    order, total = _order(gain, score), 0.0
    for i in range(len(gain)):
        ranks = [r for r, j in enumerate(order) if score[j] == score[i]]
        total += gain[i] * sum(discounts[r] for r in ranks) / len(ranks)
    best = sum(g * d for g, d in zip(sorted(gain, reverse=True), discounts, strict=True))
    return total / best


def average_precision(gain, score, k=None):
    hits, total = 0, 0.0
    relevant = sum(g > 0 for g in gain)
    for rank, i in enumerate(_order(gain, score), start=1):
        if gain[i] > 0:
            hits += 1
            total += hits / rank if rank <= (k or len(gain)) else 0.0
    return total / min(relevant, k or relevant)


def reciprocal_rank(gain, score, k=None):
    for rank, i in enumerate(_order(gain, score), start=1):
        if gain[i] > 0:
            return 1 / rank if rank <= (k or len(gain)) else 0.0
    return 0.0


def err(gain, score, largest, k=None):
    reached, total = 1.0, 0.0
    for rank, i in enumerate(_order(gain, score), start=1):
        stops = gain[i] / (1 + largest)
        if rank <= (k or len(gain)):
            total += reached * stops / rank
        reached *= 1 - stops
    return total
