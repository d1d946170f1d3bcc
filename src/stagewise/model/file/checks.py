"""Whether arrays are trees and features, asked once so that prediction need not ask again.

The one idea: every rule is a comparison of whole arrays, and together they leave prediction nothing
to go wrong with. A walk from a root ends, because children come after their parents; it stays
inside its tree and inside the row, because every index is in range. This file must not build
anything, nor take more memory than a few times the arrays it looks at.
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
    "check_features",
    "check_lines",
    "check_predictions",
    "check_sets",
    "check_splittable",
    "check_starts",
    "check_trees",
]

Array = npt.NDArray[Any]

# The largest sum of leaf values, which are of scaled targets; far beyond what any fit gives.
LARGEST = 1e300
# The kinds of features, as a file numbers them.
REAL, INT64_CUTS, UINT64_CUTS, CATEGORICAL = 0, 1, 2, 3


def check_starts(start: Array, n_items: int, what: str) -> npt.NDArray[np.int64]:
    """Check boundaries that cut `n_items` things into runs, some of them possibly empty.

    Raises
    ------
    ModelFormatError
        If the boundaries do not rise from 0 to `n_items`.
    """
    # Compared as they are, unsigned: only then is it known that they fit a signed integer.
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
        What the features and the base score say.

    Raises
    ------
    ModelFormatError
        If prediction with these trees could fail, hang, or give something that is not a number.
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
            f"it has {len(sizes)} trees, which is no whole number of rounds of {per_round}"
        )
    _check_numbers(flat, start, n_features)
    _check_leaves(flat, start)
    _check_children(flat, start, sizes)
    if len(sizes):
        _check_covers(flat, start)


def _refuse(bad: npt.NDArray[np.bool], start: npt.NDArray[np.int64], what: str) -> None:
    """Raise for the first bad node, if there is one."""
    if not bad.any():
        return
    node = int(bad.argmax())
    tree = int(np.searchsorted(start, node, side="right")) - 1
    raise ModelFormatError(f"node {node - int(start[tree])} of its tree {tree} {what}")


def _check_numbers(
    flat: Mapping[str, Array], start: npt.NDArray[np.int64], n_features: int
) -> None:
    feature = flat["feature"]
    _refuse((feature < -1) | (feature >= n_features), start, "asks about a feature there is not")
    # Infinite thresholds are legitimate: «missing or not» splits at +inf.
    _refuse(np.isnan(flat["threshold"]), start, "has a threshold that is not a number")
    for name in ("value", "gain", "cover"):
        wrong = ~np.isfinite(flat[name])
        # Of several outputs, any of a node's.
        odd = np.asarray(wrong.any(axis=tuple(range(1, wrong.ndim))))
        _refuse(odd, start, f"has a {name} that is not finite")
    for name in ("gain", "cover"):
        _refuse(flat[name] < 0, start, f"has a negative {name}")
    _refuse(flat["missing_left"] > 1, start, "sends missing values neither left nor right")


def _check_covers(flat: Mapping[str, Array], start: npt.NDArray[np.int64]) -> None:
    """Check that training rows went through every split, of trees that have counted them at all."""
    cover = flat["cover"]
    sizes = np.diff(start)
    counted = np.repeat(np.maximum.reduceat(cover, start[:-1]) > 0, sizes)
    _refuse(
        (flat["feature"] >= 0) & counted & (cover == 0),
        start,
        "is a split that no row went through",
    )


def check_splittable(flat: Mapping[str, Array], uncut: Sequence[int]) -> None:
    """Check that no node splits a feature that has nothing to split.

    Parameters
    ----------
    flat : mapping of str to array
        The arrays of the trees.
    uncut : sequence of int
        The features of wide integers without cuts; they can only be missing or not.

    Raises
    ------
    ModelFormatError
        If a node splits one of them at a finite threshold.
    """
    bad = np.isin(flat["feature"], uncut) & np.isfinite(flat["threshold"])
    _refuse(bad, flat["tree_start"].astype(np.int64), "splits a feature that has nothing to split")


def check_predictions(flat: Mapping[str, Array], base: Array, offset: Any, scale: Any) -> None:
    """Check that no sum of the constants of leaves leaves the range of a float64.

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
        raise ModelFormatError("its leaves have values that add up to more than a float64 can hold")


def _check_leaves(flat: Mapping[str, Array], start: npt.NDArray[np.int64]) -> None:
    in_use = (flat["left"] != -1) | (flat["right"] != -1)
    for name in ("threshold", "missing_left", "gain"):
        in_use |= flat[name] != 0
    _refuse((flat["feature"] == -1) & in_use, start, "is a leaf that splits")


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


def check_sets(flat: Mapping[str, Array], n_categories: Sequence[int]) -> None:
    """Check the sets of levels of an ensemble whose other arrays are sound.

    Raises
    ------
    ModelFormatError
        If a node that asks about a category has no set, another one has, or the sets do not lie
        behind one another, tree by tree.
    """
    per_feature = np.array([*n_categories, 0], dtype=np.int64)  # the last: of leaves
    asks = per_feature[flat["feature"]] > 0
    given = [name in flat for name in CATEGORY_SETS]
    if not any(given):
        if asks.any():
            raise ModelFormatError("it has no sets of levels, but nodes that ask about them")
        return
    start, bits = flat.get("set_start", np.empty(0)), flat.get("level_sets", np.empty(0))
    if not all(given) or not asks.any() or len(start) != len(asks):
        raise ModelFormatError("its sets of levels do not fit its nodes")
    bounds = flat["tree_start"].astype(np.int64)
    _refuse((start >= 0) != asks, bounds, "has a set of levels it does not ask about, or none")
    _refuse(asks & (flat["threshold"] != 0), bounds, "asks about levels and has a threshold")
    nodes = np.flatnonzero(asks)[np.argsort(start[asks], kind="stable")]
    n = per_feature[flat["feature"][nodes]]
    ends = np.cumsum(n // 64 + 1)
    tree = np.searchsorted(bounds, nodes, side="right")
    tiled = np.array_equal(start[nodes], [0, *ends[:-1]]) and ends[-1] == len(bits)
    if not tiled or (np.diff(tree) < 0).any():
        raise ModelFormatError("its sets of levels are not where they should be")
    # Bit L of L levels is the last that means something.
    unused = np.uint64(63) - (n % 64).astype(np.uint64)
    last = bits[ends - 1]
    if ((last << unused) >> unused != last).any():
        raise ModelFormatError("it has a set with levels that there are not")


def check_lines(flat: Mapping[str, Array], n_categories: Sequence[int]) -> None:
    """Check the lines of an ensemble whose other arrays are sound.

    Raises
    ------
    ModelFormatError
        If a line is not in a leaf, asks about a feature that is no number, or has numbers that
        would make a prediction something else than a number.
    """
    given = {name.removeprefix("line_"): flat[name] for name in LINEAR_LEAVES if name in flat}
    if not given:
        return
    if len(given) < len(LINEAR_LEAVES) or len(given["node"]) == 0:
        raise ModelFormatError("it has lines of leaves that are not whole")
    node, feature = given["node"], given["feature"]
    start = check_starts(given["start"], len(feature), "lines")
    per_term = ("slope", "centre")
    per_line = ("intercept", "low", "high", "beyond", "grain")
    if (
        len(start) != len(node) + 1
        or any(len(given[name]) != len(feature) for name in per_term)
        or any(len(given[name]) != len(node) for name in per_line)
        or (np.diff(start) == 0).any()
    ):
        raise ModelFormatError("the arrays of its lines differ in length")
    rises = (node[1:] > node[:-1]).all() and node[0] >= 0 and node[-1] < len(flat["feature"])
    if not rises or (flat["feature"][node] != -1).any():
        raise ModelFormatError("it has a line that is in no leaf, or two in one")
    if (feature < 0).any() or (feature >= len(n_categories)).any():
        raise ModelFormatError("it has a line with a feature there is not")
    if (np.array(n_categories)[feature] > 0).any():
        raise ModelFormatError("it has a line with a feature that is no number")
    same = np.diff(np.repeat(np.arange(len(node)), np.diff(start))) == 0
    if (same & (np.diff(feature) <= 0)).any():
        raise ModelFormatError("it has a line whose features do not rise")
    if not all(np.isfinite(given[name]).all() for name in (*per_term, *per_line)):
        raise ModelFormatError("it has a line with a number that is not finite")
    if (given["low"] > given["high"]).any() or (given["grain"] < 0).any():
        raise ModelFormatError("it has a line with bounds that are out of order")
    if (given["beyond"] > 1).any():
        raise ModelFormatError("it does not say what infinite values are to its lines")


def check_features(kind: Array, cut_start: Array, cuts: Array) -> npt.NDArray[np.int64]:
    """Check the kinds of features, and the cuts of those that have some.

    Returns
    -------
    int64 array
        `cut_start`, as signed integers.

    Raises
    ------
    ModelFormatError
        If a kind is unknown, or cuts are where none belong, or do not rise.
    """
    if len(kind) == 0 or len(cut_start) != len(kind) + 1 or kind.max() > CATEGORICAL:
        raise ModelFormatError("it does not say of which kind its features are")
    start = check_starts(cut_start, len(cuts), "cuts")
    sizes = np.diff(start)
    if sizes[(kind == REAL) | (kind == CATEGORICAL)].any():
        raise ModelFormatError("it has cuts for a feature that needs none")
    # Flipping the sign bit makes signed integers rise as unsigned ones do.
    flip = np.where(np.repeat(kind, sizes) == INT64_CUTS, np.uint64(2**63), np.uint64(0))
    key = cuts ^ flip
    owner = np.repeat(np.arange(len(kind)), sizes)
    if ((owner[1:] == owner[:-1]) & (key[1:] <= key[:-1])).any():
        raise ModelFormatError("it has cuts that do not rise")
    return start
