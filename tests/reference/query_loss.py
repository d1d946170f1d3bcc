"""Losses of ranked documents, query by query and pair by pair."""

from itertools import pairwise as pairwise_of

import numpy as np


def discounts(n, truncation):
    return [1 / np.log2(2 + rank) if rank < (truncation or n) else 0.0 for rank in range(n)]


def ideal_dcg(gain, truncation):
    return float(np.dot(np.sort(gain)[::-1], discounts(len(gain), truncation)))


def ndcg_of_ties(gain, score, truncation=0):
    """NDCG, where tied documents have the mean discount of their ranks."""
    order = np.argsort(-score, kind="stable")
    discount = np.empty(len(gain))
    discount[order] = discounts(len(gain), truncation)
    for value in np.unique(score):
        discount[score == value] = discount[score == value].mean()
    best = ideal_dcg(gain, truncation)
    return float(gain @ discount) / best if best > 0 else 1.0


def average_precision(gain, order):
    hits, total = 0, 0.0
    for rank, place in enumerate(order, start=1):
        if gain[place] > 0:
            hits += 1
            total += hits / rank
    return total / hits if hits else 1.0


def pessimistic_order(gain, score):
    return sorted(range(len(gain)), key=lambda i: (-score[i], gain[i], i))


def swapped_map_change(gain, order, a, b):
    """The change of the average precision, times the number of relevant documents, by a swap."""
    other = list(order)
    other[a], other[b] = other[b], other[a]
    hits = max(1, int((gain > 0).sum()))
    return abs(average_precision(gain, order) - average_precision(gain, other)) * hits


def pairwise(gain, score, metric, sigmoid=1.0, truncation=0, normalise=True):
    """Gradients and hessians of the documents of one query, without ties."""
    n, order = len(gain), pessimistic_order(gain, score)
    discount, top = discounts(n, truncation), truncation or n
    gradient, hessian, total, losses = np.zeros(n), np.zeros(n), 0.0, []
    best = {"ndcg": ideal_dcg(gain, truncation), "map": (gain > 0).sum(), "pairs": 1.0}[metric]
    value = gain if metric != "map" else (gain > 0).astype(float)
    apart = score.max() != score.min()
    for a in range(n):
        for b in range(a + 1, n):
            i, j = order[a], order[b]
            if a >= top or value[i] == value[j] or best == 0:
                continue
            if metric == "ndcg":
                change = abs(gain[i] - gain[j]) * abs(discount[a] - discount[b]) / best
            elif metric == "map":
                change = swapped_map_change(gain, order, a, b) / best
            else:
                change = abs(gain[i] - gain[j])
            if normalise and apart and metric != "pairs":
                change /= 0.01 + sigmoid * abs(score[i] - score[j])
            more, less = (i, j) if value[i] > value[j] else (j, i)
            p = 1 / (1 + np.exp(sigmoid * (score[more] - score[less])))
            gradient[more] -= sigmoid * change * p
            gradient[less] += sigmoid * change * p
            hessian[[more, less]] += sigmoid**2 * change * p * (1 - p)
            total += 2 * change * p
            losses.append(-np.log(1 - p))
    factor = np.log2(1 + total) / total if normalise and total > 0 else 1.0
    return factor * gradient, factor * hessian, float(np.mean(losses)) if losses else 0.0


def softmax(gain, score, sigmoid=1.0):
    """The gradient, hessian and value of the cross entropy of gain shares and softmax(score)."""
    if gain.sum() == 0:
        return np.zeros(len(gain)), np.zeros(len(gain)), 0.0
    scaled = sigmoid * score
    p = np.exp(scaled - scaled.max())
    p /= p.sum()
    share = gain / gain.sum()
    gradient, hessian = sigmoid * (p - share), sigmoid**2 * p * (1 - p)
    return gradient, hessian, float(-(share * np.log(p)).sum())


def yetirank(gain, score, n_orders, decay, seed=0):
    """Gradients and hessians of one query, as the mean of random orders of NumPy."""
    rng, n = np.random.default_rng(seed), len(gain)
    gradient, hessian = np.zeros(n), np.zeros(n)
    for noise in rng.logistic(size=(n_orders, n)):
        order = np.argsort(-(score + noise))
        for rank, (i, j) in enumerate(pairwise_of(order)):
            winner, loser = (i, j) if gain[i] > gain[j] else (j, i)
            weight = decay**rank * (gain[winner] - gain[loser]) / n_orders
            p = 1 / (1 + np.exp(score[winner] - score[loser]))
            gradient[winner] -= weight * p
            gradient[loser] += weight * p
            hessian[[winner, loser]] += weight * p * (1 - p)
    return gradient, hessian
