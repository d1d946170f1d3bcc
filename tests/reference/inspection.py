"""Predictions of rows with unknown features, and gains of splits: node by node, row by row."""

from __future__ import annotations

import itertools

import numpy as np

__all__ = ["accumulated", "accumulated_pair", "expectation", "goes_left", "improvements", "leaf_of"]


def goes_left(ensemble, tree, node, value):
    """Return whether a value goes left at a node."""
    if np.isnan(value):
        return bool(tree.missing_left[node])
    count = ensemble.n_categories[tree.feature[node]] if len(ensemble.n_categories) else 0
    if count:
        first = tree.category_sets.start[node] + int(value) // 64
        return bool((int(tree.category_sets.bits[first]) >> (int(value) % 64)) & 1)
    return bool(value <= tree.threshold[node])


def leaf_of(ensemble, tree, row):
    """Return the leaf that a row reaches."""
    node = 0
    while tree.feature[node] >= 0:
        left = goes_left(ensemble, tree, node, row[tree.feature[node]])
        node = int(tree.left[node] if left else tree.right[node])
    return node


def expectation(ensemble, known):
    """F of one row of which only the columns in `known` are known (Friedman 2001, section 8.2)."""

    def below(tree, node):
        if tree.feature[node] < 0:
            return np.atleast_1d(tree.value[node])
        left, right = int(tree.left[node]), int(tree.right[node])
        column = int(tree.feature[node])
        if column in known:
            return below(tree, left if goes_left(ensemble, tree, node, known[column]) else right)
        a, b = tree.cover[left], tree.cover[right]
        return (a * below(tree, left) + b * below(tree, right)) / (a + b)

    total = ensemble.base.copy()
    for number, tree in enumerate(ensemble.trees):
        value = below(tree, 0)
        if ensemble.outputs_per_tree == 1:
            total[number % ensemble.n_outputs] += value[0]
        else:
            total += value
    return total


def improvements(ensemble, output):
    """Σ over the trees of an output of the gain of the splits on each column."""
    total = np.zeros(ensemble.n_features)
    for number, tree in enumerate(ensemble.trees):
        for node, column in enumerate(tree.feature):
            if column >= 0 and number % ensemble.n_outputs == output:
                total[column] += tree.gain[node]
    return total


def accumulated(f, X, weight, j, ends):
    """Accumulated local effects of one column at the ends of intervals (Apley & Zhu 2020)."""
    changes, held = np.zeros(len(ends) - 1), np.zeros(len(ends) - 1)
    for row, w in zip(X, weight, strict=True):
        k = next((k for k in range(len(ends) - 1) if row[j] <= ends[k + 1]), len(ends) - 2)
        high, low = row.copy(), row.copy()
        high[j], low[j] = ends[k + 1], ends[k]
        changes[k] += w * (f(high) - f(low))
        held[k] += w
    effect = [0.0]
    for k in range(len(ends) - 1):
        effect.append(effect[-1] + changes[k] / held[k])
    effect = np.array(effect)
    centre = sum(held[k] * (effect[k] + effect[k + 1]) / 2 for k in range(len(held))) / held.sum()
    return effect - centre


def accumulated_pair(f, X, columns, ends):
    """Accumulated local effects of two columns, without main effects; every cell must have rows."""
    (j, k), (a, b) = columns, ends
    n = (len(a) - 1, len(b) - 1)
    change, held = np.zeros(n), np.zeros(n)
    for row in X:
        p = next((p for p in range(n[0]) if row[j] <= a[p + 1]), n[0] - 1)
        q = next((q for q in range(n[1]) if row[k] <= b[q + 1]), n[1] - 1)
        corner = {}
        for u, v in itertools.product((0, 1), repeat=2):
            moved = row.copy()
            moved[j], moved[k] = a[p + u], b[q + v]
            corner[u, v] = f(moved)
        change[p, q] += corner[1, 1] - corner[0, 1] - corner[1, 0] + corner[0, 0]
        held[p, q] += 1
    assert (held > 0).all()
    whole = np.zeros((n[0] + 1, n[1] + 1))
    for p, q in itertools.product(range(n[0]), range(n[1])):
        whole[p + 1, q + 1] = (change / held)[: p + 1, : q + 1].sum()
    first, second = [0.0], [0.0]
    for p in range(n[0]):
        up = whole[p + 1] - whole[p]
        first.append(first[-1] + np.average((up[1:] + up[:-1]) / 2, weights=held[p]))
    for q in range(n[1]):
        up = whole[:, q + 1] - whole[:, q]
        second.append(second[-1] + np.average((up[1:] + up[:-1]) / 2, weights=held[:, q]))
    left = whole - np.array(first)[:, None] - np.array(second)
    centre = 0.0
    for p, q in itertools.product(range(n[0]), range(n[1])):
        centre += held[p, q] * left[p : p + 2, q : q + 2].mean()
    return left - centre / held.sum()
