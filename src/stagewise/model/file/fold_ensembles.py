"""The models of folds, to and from a model file.

Their trees are stored as those of one ensemble, fold after fold, with the number of trees and the
base scores of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import ModelFormatError
from stagewise.model.ensemble import Ensemble
from stagewise.model.file.checks import (
    check_category_sets,
    check_linear_leaves,
    check_predictions,
    check_splittable,
    check_starts,
    check_trees,
)
from stagewise.model.file.sections import FOLD_ENSEMBLES, FOLD_TREES, VECTORS
from stagewise.model.tree_list import TreeList

__all__ = ["pack_fold_ensembles", "unpack_fold_ensembles"]

Array = npt.NDArray[Any]
PREFIX = "fold_"
OWN = ("fold_first", "fold_base")


def pack_fold_ensembles(ensembles: Sequence[Ensemble]) -> dict[str, Array]:
    """Return the sections of the models of folds; empty if there are none."""
    if not ensembles:
        return {}
    together = replace(
        ensembles[0], trees=TreeList(tree for own in ensembles for tree in own.trees)
    )
    arrays = together.flat()
    if together.outputs_per_tree > 1:
        (name,) = VECTORS
        arrays[name] = arrays.pop("value").reshape(-1)
    counts = [len(own.trees) for own in ensembles]
    return {
        "fold_first": np.cumsum([0, *counts], dtype=np.uint64),
        "fold_base": np.concatenate([own.base for own in ensembles]).astype(np.float64),
        **{PREFIX + name: array for name, array in arrays.items()},
    }


def unpack_fold_ensembles(
    arrays: Mapping[str, Array], like: Ensemble, uncut: Sequence[int], offset: Any, scale: Any
) -> tuple[Ensemble, ...]:
    """Return the checked models of folds.

    Parameters
    ----------
    arrays : mapping of str to array
        Of the types that ``sections.py`` lists.
    like : Ensemble
        The trees of the model, with the same features and outputs.
    uncut : sequence of int
        The features that no tree can split.
    offset, scale
        Those of the model.

    Raises
    ------
    ModelFormatError
        If they are not trees of these features.
    """
    given = {name: arrays[name] for name in FOLD_ENSEMBLES if name in arrays}
    if not given:
        return ()
    if any(name not in given for name in (*OWN, "fold_tree_start", "fold_feature")):
        raise ModelFormatError("it has only some of the sections of the models of folds")
    flat = {name.removeprefix(PREFIX): given[name] for name in FOLD_TREES if name in given}
    flat = _with_values(flat, like)
    try:
        n_features, n_outputs = like.n_features, like.n_outputs
        check_trees(flat, n_features, n_outputs)
        check_category_sets(flat, like.n_categories)
        check_linear_leaves(flat, like.n_categories)
        check_splittable(flat, uncut)
        n_trees = len(flat["tree_start"]) - 1
        bounds = check_starts(given["fold_first"], n_trees, "models of folds").tolist()
        bases = given["fold_base"].reshape(-1, n_outputs)
    except (KeyError, ValueError) as fault:
        raise ModelFormatError(f"in the models of its folds, {fault}") from None
    if len(bases) != len(bounds) - 1 or not np.isfinite(bases).all():
        raise ModelFormatError("the models of its folds have wrong base scores")
    together = Ensemble.from_flat(n_features, bases[0], flat, like.n_categories)
    found = []
    for base, (first, last) in zip(bases, pairwise(bounds), strict=True):
        if (last - first) % together.trees_per_round:
            raise ModelFormatError("a model of a fold has an incomplete round")
        own = replace(together, base=base, trees=TreeList(together.trees[first:last]))
        check_predictions(own.flat(), base, offset, scale)
        found.append(own)
    return tuple(found)


def _with_values(flat: dict[str, Array], like: Ensemble) -> dict[str, Array]:
    """Return the arrays of trees; vector values have one column per output."""
    (name,) = VECTORS
    if name not in flat:
        return flat
    values = flat.pop(name)
    if "value" in flat or len(values) != like.n_outputs * len(flat["feature"]):
        raise ModelFormatError("the values of the trees of its folds are wrong")
    return {**flat, "value": values.reshape(-1, like.n_outputs)}
