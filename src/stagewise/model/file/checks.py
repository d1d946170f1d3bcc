"""Checks of the arrays of a model file, so that prediction needs no checks.

Every rule is a comparison of whole arrays. Together they guarantee that every walk from a root
ends, because children come after their parents, and that it stays inside its tree and inside the
row, because every index is in range. This module must not build models, and must not use more
memory than a few times that of the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import ModelFormatError
from stagewise.model.file.sections import CATEGORY_SETS, LINEAR_LEAVES
from stagewise.trees.tree import NODE_ARRAYS

__all__ = [
    "CATEGORICAL",
    "INT64_CUTS",
    "REAL",
    "UINT64_CUTS",
    "check_category_sets",
    "check_features",
    "check_linear_leaves",
    "check_predictions",
    "check_splittable",
    "check_starts",
    "check_trees",
]

Array = npt.NDArray[Any]

# The largest sum of leaf values, which refer to scaled targets; far beyond that of any fit.
LARGEST = 1e300
# The codes of the kinds of features in a file.
REAL, INT64_CUTS, UINT64_CUTS, CATEGORICAL = 0, 1, 2, 3


def check_starts(start: Array, n_items: int, what: str) -> npt.NDArray[np.int64]:
    """Check boundaries that divide `n_items` items into runs, which may be empty.

    Returns
    -------
    int64 array
        `start`, as signed integers.

    Raises
    ------
    ModelFormatError
        If the boundaries do not increase from 0 to `n_items`.
    """
    # Compared as unsigned integers: after that they are known to fit a signed integer.
    rises = len(start) > 0 and start[0] == 0 and not (start[1:] < start[:-1]).any()
    if not rises or start[-1] != n_items:
        raise ModelFormatError(f"the boundaries between its {what} are wrong")
    return start.astype(np.int64)


def check_trees(flat: Mapping[str, Array], n_features: int, n_outputs: int) -> None:
    """Check the arrays of an ensemble.

    Parameters
    ----------
    flat : mapping of str to array
        As `Ensemble.flat` returns them, of the right types.
    n_features, n_outputs : int
        The number of columns and of outputs.

    Raises
    ------
    ModelFormatError
        If prediction with these trees could fail, not end, or give NaN.
    """
    n_nodes = len(flat["feature"])
    if any(len(flat[name]) != n_nodes for name in NODE_ARRAYS):
        raise ModelFormatError("the arrays of its trees differ in length")
    start = check_starts(flat["tree_start"], n_nodes, "trees")
    sizes = np.diff(start)
    if (sizes == 0).any():
        raise ModelFormatError("it has a tree without nodes")
    per_round = n_outputs if flat["value"].ndim == 1 else 1
    if len(sizes) % per_round:
        raise ModelFormatError(
            f"it has {len(sizes)} trees, which is not a multiple of the {per_round} per round"
        )
    _check_numbers(flat, start, n_features)
    _check_leaves(flat, start)
    _check_children(flat, start, sizes)
    if len(sizes):
        _check_covers(flat, start)


def _refuse(bad: npt.NDArray[np.bool], start: npt.NDArray[np.int64], what: str) -> None:
    """Raise ModelFormatError for the first bad node, if there is one."""
    if not bad.any():
        return
    node = int(bad.argmax())
    tree = int(np.searchsorted(start, node, side="right")) - 1
    raise ModelFormatError(f"node {node - int(start[tree])} of its tree {tree} {what}")


def _check_numbers(
    flat: Mapping[str, Array], start: npt.NDArray[np.int64], n_features: int
) -> None:
    feature = flat["feature"]
    _refuse(
        (feature < -1) | (feature >= n_features), start, "splits on a feature that does not exist"
    )
    # Infinite thresholds are allowed: a split of missing from other values has +inf.
    _refuse(np.isnan(flat["threshold"]), start, "has a threshold that is not a number")
    for name in ("value", "gain", "cover"):
        wrong = ~np.isfinite(flat[name])
        # With several outputs, any value of the node.
        bad = np.asarray(wrong.any(axis=tuple(range(1, wrong.ndim))))
        _refuse(bad, start, f"has a {name} that is not finite")
    for name in ("gain", "cover"):
        _refuse(flat[name] < 0, start, f"has a negative {name}")
    _refuse(flat["missing_left"] > 1, start, "has a direction of missing values above 1")


def _check_covers(flat: Mapping[str, Array], start: npt.NDArray[np.int64]) -> None:
    """Check that every split has a positive cover, in trees whose covers are not all 0."""
    cover = flat["cover"]
    sizes = np.diff(start)
    counted = np.repeat(np.maximum.reduceat(cover, start[:-1]) > 0, sizes)
    _refuse(
        (flat["feature"] >= 0) & counted & (cover == 0),
        start,
        "is a split with the cover 0",
    )


def check_splittable(flat: Mapping[str, Array], uncut: Sequence[int]) -> None:
    """Check that no node splits a feature without cuts at a finite threshold.

    Parameters
    ----------
    flat : mapping of str to array
        The arrays of the trees.
    uncut : sequence of int
        The wide integer features without cuts, which can only be split into missing and not.

    Raises
    ------
    ModelFormatError
        If a node splits one of them at a finite threshold.
    """
    bad = np.isin(flat["feature"], uncut) & np.isfinite(flat["threshold"])
    _refuse(bad, flat["tree_start"].astype(np.int64), "splits a feature that has no cuts")


def check_predictions(flat: Mapping[str, Array], base: Array, offset: Any, scale: Any) -> None:
    """Check that no sum of leaf values exceeds the range of a float64.

    Raises
    ------
    ModelFormatError
        If a score, or a score in the units of the target, could be infinite.
    """
    value = np.abs(flat["value"])
    value = value.max(axis=1) if value.ndim > 1 else value
    with np.errstate(over="ignore"):
        total = np.abs(base).max()
        if len(value):
            total += np.maximum.reduceat(value, flat["tree_start"][:-1].astype(np.int64)).sum()
        largest = np.max(np.abs(offset) + np.asarray(scale) * total)
    if not (total <= LARGEST and np.isfinite(largest)):
        raise ModelFormatError("the sum of its leaf values exceeds the range of a float64")


def _check_leaves(flat: Mapping[str, Array], start: npt.NDArray[np.int64]) -> None:
    in_use = (flat["left"] != -1) | (flat["right"] != -1)
    for name in ("threshold", "missing_left", "gain"):
        in_use |= flat[name] != 0
    _refuse(
        (flat["feature"] == -1) & in_use, start, "is a leaf with children, a threshold or a gain"
    )


def _check_children(
    flat: Mapping[str, Array], start: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> None:
    root = np.repeat(start[:-1], sizes)
    own = np.arange(len(root)) - root
    size = np.repeat(sizes, sizes)
    inner = flat["feature"] >= 0
    for name in ("left", "right"):
        child = flat[name]
        _refuse(inner & (child <= own), start, f"has a {name} child that does not come after it")
        _refuse(inner & (child >= size), start, f"has a {name} child outside its tree")
    children = np.concatenate([(root + flat[name])[inner] for name in ("left", "right")])
    parents = np.bincount(children, minlength=len(root))
    _refuse(parents != (own > 0), start, "does not have exactly one parent")


def check_category_sets(flat: Mapping[str, Array], n_categories: Sequence[int]) -> None:
    """Check the category sets of an ensemble whose other arrays are valid.

    Raises
    ------
    ModelFormatError
        If a split on a categorical feature has no set, another node has one, or the sets are not
        contiguous, tree by tree.
    """
    per_feature = np.array([*n_categories, 0], dtype=np.int64)  # the last entry is for leaves
    categorical = per_feature[flat["feature"]] > 0
    given = [name in flat for name in CATEGORY_SETS]
    if not any(given):
        if categorical.any():
            raise ModelFormatError("it has splits on categorical features, but no category sets")
        return
    start, bits = flat.get("set_start", np.empty(0)), flat.get("level_sets", np.empty(0))
    if not all(given) or not categorical.any() or len(start) != len(categorical):
        raise ModelFormatError("its category sets do not fit its nodes")
    bounds = flat["tree_start"].astype(np.int64)
    wrong = (start >= 0) != categorical
    _refuse(wrong, bounds, "has no category set, or one for a feature that is not categorical")
    bad = categorical & (flat["threshold"] != 0)
    _refuse(bad, bounds, "splits on a categorical feature and has a threshold")
    nodes = np.flatnonzero(categorical)[np.argsort(start[categorical], kind="stable")]
    n = per_feature[flat["feature"][nodes]]
    ends = np.cumsum(n // 64 + 1)
    tree = np.searchsorted(bounds, nodes, side="right")
    tiled = np.array_equal(start[nodes], [0, *ends[:-1]]) and ends[-1] == len(bits)
    if not tiled or (np.diff(tree) < 0).any():
        raise ModelFormatError("its category sets are not contiguous")
    # With L categories, bit L is the last one that is used.
    unused = np.uint64(63) - (n % 64).astype(np.uint64)
    last = bits[ends - 1]
    if ((last << unused) >> unused != last).any():
        raise ModelFormatError("it has a category set with categories that do not exist")


def check_linear_leaves(flat: Mapping[str, Array], n_categories: Sequence[int]) -> None:
    """Check the linear leaves of an ensemble whose other arrays are valid.

    Raises
    ------
    ModelFormatError
        If a linear model does not belong to a leaf, uses a feature that is not numeric, or has
        numbers that could give NaN.
    """
    given = {name.removeprefix("line_"): flat[name] for name in LINEAR_LEAVES if name in flat}
    if not given:
        return
    if len(given) < len(LINEAR_LEAVES) or len(given["node"]) == 0:
        raise ModelFormatError("it has only some of the sections of linear leaves")
    node, feature = given["node"], given["feature"]
    start = check_starts(given["start"], len(feature), "linear leaves")
    per_term = ("slope", "centre")
    per_line = ("intercept", "low", "high", "beyond", "grain")
    if (
        len(start) != len(node) + 1
        or any(len(given[name]) != len(feature) for name in per_term)
        or any(len(given[name]) != len(node) for name in per_line)
        or (np.diff(start) == 0).any()
    ):
        raise ModelFormatError("the arrays of its linear leaves differ in length")
    rises = (node[1:] > node[:-1]).all() and node[0] >= 0 and node[-1] < len(flat["feature"])
    if not rises or (flat["feature"][node] != -1).any():
        raise ModelFormatError("it has a linear model outside of a leaf, or two in one leaf")
    if (feature < 0).any() or (feature >= len(n_categories)).any():
        raise ModelFormatError("it has a linear leaf with a feature that does not exist")
    if (np.array(n_categories)[feature] > 0).any():
        raise ModelFormatError("it has a linear leaf with a categorical feature")
    same = np.diff(np.repeat(np.arange(len(node)), np.diff(start))) == 0
    if (same & (np.diff(feature) <= 0)).any():
        raise ModelFormatError("it has a linear leaf whose features are not increasing")
    if not all(np.isfinite(given[name]).all() for name in (*per_term, *per_line)):
        raise ModelFormatError("it has a linear leaf with a number that is not finite")
    if (given["low"] > given["high"]).any() or (given["grain"] < 0).any():
        raise ModelFormatError("it has a linear leaf with an invalid range or grain")
    if (given["beyond"] > 1).any():
        raise ModelFormatError("the handling of infinite values in its linear leaves is invalid")


def check_features(kind: Array, cut_start: Array, cuts: Array) -> npt.NDArray[np.int64]:
    """Check the kinds of features, and the cuts of those that have some.

    Returns
    -------
    int64 array
        `cut_start`, as signed integers.

    Raises
    ------
    ModelFormatError
        If a kind is unknown, or cuts belong to another kind of feature or are not increasing.
    """
    if len(cut_start) != len(kind) + 1 or kind.max(initial=0) > CATEGORICAL:
        raise ModelFormatError("the kinds of its features are missing or unknown")
    start = check_starts(cut_start, len(cuts), "cuts")
    sizes = np.diff(start)
    if sizes[(kind == REAL) | (kind == CATEGORICAL)].any():
        raise ModelFormatError("it has cuts for a feature that is not a wide integer")
    # With the sign bit flipped, signed integers have the order of unsigned ones.
    flip = np.where(np.repeat(kind, sizes) == INT64_CUTS, np.uint64(2**63), np.uint64(0))
    key = cuts ^ flip
    owner = np.repeat(np.arange(len(kind)), sizes)
    if ((owner[1:] == owner[:-1]) & (key[1:] <= key[:-1])).any():
        raise ModelFormatError("it has cuts that are not increasing")
    return start
