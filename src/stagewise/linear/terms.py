"""Linear terms as trees: one linear leaf, or a split on one category.

f(x) = Σ_j slope_j (x_j - centre_j) over numeric columns is a tree with one linear leaf; a dummy
column is a tree with two constant leaves. So a linear model is a `Model` like all others: it has a
file, a fingerprint, and predictions that do not depend on threads or blocks of rows. This module
must not fit slopes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stagewise.linear.design import Design
from stagewise.trees.linear_leaves import LinearLeaves
from stagewise.trees.tree import CategorySets, Tree

__all__ = ["linear_trees", "merge_linear_terms", "slopes_of"]

Vector = npt.NDArray[np.float64]

WIDEST = float(np.finfo(np.float64).max)
"""The bound of linear leaves that are not clipped."""


def linear_trees(
    design: Design, columns: Sequence[int], slope: Vector, centre: Vector
) -> list[Tree]:
    """Return Σ slope (x - centre) over some columns of a design as trees."""
    numbers = [i for i, c in enumerate(columns) if design.columns[c].category is None]
    trees = []
    if numbers:
        features = [design.columns[columns[i]].feature for i in numbers]
        trees.append(_line(features, slope[numbers], centre[numbers]))
    for i, number in enumerate(columns):
        column = design.columns[number]
        if column.category is not None:
            n_categories = _n_categories(design, column.feature)
            trees.append(_stump(column.feature, column.category, n_categories, slope[i], centre[i]))
    return trees


def slopes_of(
    trees: Sequence[Tree], design: Design
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the slopes and intercepts of trees that `linear_trees` made.

    Returns
    -------
    slope : float64 array of shape (n_trees, k)
        One slope per column of the design.
    start : float64 array of shape (n_trees,)
        The prediction of each tree where all columns are 0.
    """
    slope, start = np.zeros((len(trees), len(design))), np.zeros(len(trees))
    for t, (tree, columns) in enumerate(zip(trees, _columns(trees, design), strict=True)):
        if tree.linear_leaves is not None:
            slope[t, columns] = tree.linear_leaves.slope
            start[t] = -float((tree.linear_leaves.slope * tree.linear_leaves.centre).sum())
        else:
            slope[t, columns] = tree.value[1] - tree.value[2]
            start[t] = tree.value[2]
    return slope, start


def merge_linear_terms(trees: Sequence[Tree], design: Design) -> list[Tree]:
    """Return fewer trees with the same sum as trees of one column each.

    Raises
    ------
    ValueError
        If a tree has several columns or is not a linear term.
    """
    lines: dict[int, tuple[float, float]] = {}
    stumps: dict[int, Tree] = {}
    shift = 0.0
    for tree, columns in zip(trees, _columns(trees, design), strict=True):
        if len(columns) != 1:
            raise ValueError("it has a term of several columns")
        (column,) = columns
        if tree.linear_leaves is None:
            known = stumps.get(column)
            value = tree.value if known is None else known.value + tree.value
            stumps[column] = tree.with_values(value)
            continue
        added, centre = float(tree.linear_leaves.slope[0]), float(tree.linear_leaves.centre[0])
        total, first = lines.get(column, (0.0, centre))
        lines[column] = total + added, first
        shift += added * (first - centre)
    others = [stumps[column] for column in sorted(stumps)]
    if not lines:
        return others
    order = sorted(lines)
    slope, at = np.array([lines[column] for column in order]).T
    return [_line([design.columns[c].feature for c in order], slope, at, shift), *others]


def _columns(trees: Sequence[Tree], design: Design) -> list[list[int]]:
    """Return the columns of the design that each tree uses."""
    places = {(c.feature, c.category): place for place, c in enumerate(design.columns)}
    found = []
    for tree in trees:
        if tree.linear_leaves is not None and len(tree.feature) == 1:
            found.append([places[int(feature), None] for feature in tree.linear_leaves.feature])
            continue
        left = np.zeros(0, dtype=bool)
        if tree.category_sets is not None:
            left = tree.category_sets.goes_left(0, _n_categories(design, int(tree.feature[0])))
        categories = np.flatnonzero(left)
        if len(categories) != 1 or len(tree.feature) != 3 or categories[0] == 0:
            raise ValueError("it has a tree that is not a linear term")
        found.append([places[int(tree.feature[0]), int(categories[0])]])
    return found


def _n_categories(design: Design, feature: int) -> int:
    categories = design.features[feature].categories
    return 0 if categories is None else len(categories)


def _line(features: Sequence[int], slope: Vector, centre: Vector, start: float = 0.0) -> Tree:
    one = np.ones(1)
    lines = LinearLeaves(
        node=np.zeros(1, dtype=np.int64),
        start=np.array([0, len(features)], dtype=np.uint64),
        feature=np.array(features, dtype=np.int32),
        slope=np.array(slope),
        centre=np.array(centre),
        intercept=start * one,
        low=-WIDEST * one,
        high=WIDEST * one,
        beyond=np.zeros(1, dtype=np.uint8),
        grain=np.zeros(1),
    )
    return _tree([-1], [-1], [-1], [0.0], None, lines)


def _stump(feature: int, category: int, n_categories: int, slope: float, centre: float) -> Tree:
    bits = np.zeros(n_categories // 64 + 1, dtype=np.uint64)
    bits[category // 64] = np.uint64(1) << np.uint64(category % 64)
    sets = CategorySets(np.array([0, -1, -1], dtype=np.int32), bits)
    value = [0.0, slope * (1.0 - centre), slope * (0.0 - centre)]
    return _tree([feature, -1, -1], [1, -1, -1], [2, -1, -1], value, sets, None)


def _tree(
    feature: list[int],
    left: list[int],
    right: list[int],
    value: list[float],
    sets: CategorySets | None,
    lines: LinearLeaves | None,
) -> Tree:
    nothing = np.zeros(len(feature))
    return Tree(
        feature=np.array(feature, dtype=np.int32),
        threshold=nothing,
        missing_left=np.zeros(len(feature), dtype=np.uint8),
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        value=np.array(value),
        gain=nothing,
        cover=nothing,
        category_sets=sets,
        linear_leaves=lines,
    )
