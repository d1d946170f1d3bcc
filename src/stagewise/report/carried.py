"""A fitted model as plain data that a page carries, to predict and explain without Python.

The one idea: everything that decides a prediction is carried to the bit (questions, leaf values,
covers); what is only shown (gains, values of inner nodes) with the digits that are seen. `model.js`
reads it, and nothing else does. Must not know what a page looks like.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.categories import Category
from stagewise.estimators.linear.stagewise_linear import StagewiseLinearRegressor
from stagewise.export.facts import column_name, units_of
from stagewise.inspection.fitted import Fitted, checked
from stagewise.model.ensemble import Ensemble
from stagewise.report.links import link_of
from stagewise.report.packing import narrow, pack
from stagewise.trees.linear_leaves import LINEAR_LEAF_ARRAYS
from stagewise.trees.tree import Tree
from stagewise.validation.parameters import check_parameter
from stagewise.validation.rules import Number

__all__ = ["Carried", "carry", "engine"]

Array = npt.NDArray[Any]

FORMAT = 1
LOOKED_AT = 10
"""How many trees are carried of a model that cannot be carried whole."""
SCRIPTS = ("moments.js", "trees.js", "credits.js", "rows.js", "model.js")

KINDS = MappingProxyType({"real": "number", "wide_integer": "integer", "categorical": "category"})
"""What a feature's kind is called on the page."""


@dataclass(frozen=True, eq=False)
class Carried:
    """A model, or the first of its trees.

    Attributes
    ----------
    facts : mapping
        What is not an array: names, links, units; see `payload`.
    arrays : list of [name, type, length]
        What is packed, in its order.
    packed : str
        The arrays; see `stagewise.report.packing.pack`.
    n_trees, tree_count : int
        How many trees are carried, and how many the model has.
    """

    facts: Mapping[str, Any]
    arrays: Sequence[Sequence[Any]]
    packed: str
    n_trees: int
    tree_count: int

    @property
    def complete(self) -> bool:
        """Whether all trees are there, so that a page can predict."""
        return self.n_trees == self.tree_count

    def payload(self) -> dict[str, Any]:
        """Return all of it as objects that `json` writes; `Model.open` of model.js reads them."""
        return {
            "format": FORMAT,
            "complete": self.complete,
            "treeCount": self.tree_count,
            **self.facts,
            "arrays": [list(place) for place in self.arrays],
            "packed": self.packed,
        }


def carry(model: Any, *, most_bytes: int = 1_500_000) -> Carried:
    """Take a fitted estimator of trees along, as plain data.

    Parameters
    ----------
    model : a fitted estimator of trees
        Of boosting, of the AdaBoost family, a forest, or a tree.
    most_bytes : int, default=1_500_000
        How long the text of the packed arrays may be. Of a larger model the first trees are
        carried, to be looked at; it does not predict.

    Returns
    -------
    Carried

    Raises
    ------
    TypeError
        If the estimator has no trees.

    Examples
    --------
    >>> import numpy as np
    >>> from stagewise import GradientBoostingRegressor
    >>> from stagewise.report.carried import carry
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> carried = carry(GradientBoostingRegressor(n_estimators=20).fit(X, X[:, 0]))
    >>> carried.complete, carried.n_trees
    (True, 20)
    """
    fitted = Fitted.of(model, "carry")
    if isinstance(model, StagewiseLinearRegressor):
        raise TypeError(
            "carry takes trees along, and a StagewiseLinearRegressor has none: what it has learned "
            "is in its coef_ and intercept_."
        )
    most = checked("most_bytes", Number(0, whole=True), most_bytes)
    ensemble = fitted.model.ensemble
    n_trees = _worth_trying(fitted, most)
    while True:
        places, packed = pack(_arrays(fitted, n_trees))
        if len(packed) <= most or n_trees == 0:
            break
        # A little less than what would fit, so that a few trials are enough.
        n_trees = min(n_trees - 1, int(0.97 * n_trees * most / len(packed)))
    return Carried(_facts(fitted, n_trees), places, packed, n_trees, len(ensemble.trees))


def engine() -> str:
    """Return the script that declares the class ``Model`` of a page, and no other name."""
    folder = files("stagewise.report") / "page"
    parts = [(folder / name).read_text(encoding="utf-8") for name in SCRIPTS]
    return "\n".join(["const Model = (() => {", *parts, "return Model;", "})();", ""])


def _worth_trying(fitted: Fitted, most: int) -> int:
    """Return how many of the first trees could fit, judged by a few of them if they are large."""
    ensemble = fitted.model.ensemble
    n_trees = len(ensemble.trees)
    size = np.cumsum([8 * len(tree.feature) * ensemble.outputs_per_tree for tree in ensemble.trees])
    few = max(1, int(np.searchsorted(size, most, side="right")))
    if few >= n_trees:
        return n_trees
    few = min(few, LOOKED_AT)
    _, packed = pack(_arrays(fitted, few))
    fit = int(1.1 * few * most / len(packed))
    # Trees that are only looked at need not be all that fit.
    return n_trees if fit >= n_trees else min(fit, LOOKED_AT)


# ---- arrays --------------------------------------------------------------------------------------


def _arrays(fitted: Fitted, n_trees: int) -> dict[str, Array]:
    """Return all arrays that a page needs for the first trees; to predict, with all of them."""
    ensemble = fitted.model.ensemble
    arrays = _tree_arrays(ensemble, n_trees) | _feature_arrays(fitted)
    return arrays | _statistic_arrays(fitted) if n_trees == len(ensemble.trees) else arrays


def _tree_arrays(ensemble: Ensemble, n_trees: int) -> dict[str, Array]:
    """Return the first trees: inner nodes and leaves each in the order of all nodes."""
    part = Ensemble(
        ensemble.n_features,
        ensemble.base,
        ensemble.trees[:n_trees],
        ensemble.n_categories,
        ensemble.outputs_per_tree,
    )
    flat = part.flat()
    inner = flat["feature"] >= 0
    left, right, asked = flat["left"], flat["right"], flat["feature"][inner]
    value = flat["value"].reshape(len(inner), part.outputs_per_tree)
    indices, thresholds, counts = _thresholds(asked, flat["threshold"][inner], part.n_features)
    arrays = {
        "size": narrow(np.diff(flat["tree_start"])),
        "left": narrow(np.where(inner, left, 0)),  # the root is nobody's child
        "feature": narrow(asked),
        "threshold": narrow(indices),
        "thresholds": thresholds,
        "thresholdCount": narrow(counts),
        "missingLeft": narrow(flat["missing_left"][inner]),
        "leafValue": value[~inner],
        "innerValue": narrow(value[inner], exact=False),
        "gain": narrow(flat["gain"][inner], exact=False),
        "cover": narrow(_covers(flat, inner, part.trees)),
    }
    if (right[inner] != left[inner] + 1).any():
        arrays["right"] = narrow(right[inner])
    if "set_start" in flat:
        arrays["sets"] = _sets(flat, asked, inner, part.n_categories)
    for name in LINEAR_LEAF_ARRAYS if "line_node" in flat else ():
        array = flat[f"line_{name}"]
        arrays[f"line{name.capitalize()}"] = array if array.dtype.kind == "f" else narrow(array)
    return arrays


def _thresholds(asked: Array, threshold: Array, n_columns: int) -> tuple[Array, Array, Array]:
    """Return which of a column's thresholds a node has, all of these, and how many a column has.

    A column with levels has one, which nobody asks about.
    """
    order = np.lexsort((threshold, asked))
    column, cut = asked[order], threshold[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (column[1:] != column[:-1]) | (cut[1:] != cut[:-1])
    counts = np.bincount(column[new], minlength=n_columns)
    first = np.cumsum(counts) - counts
    indices = np.empty(len(order), dtype=np.int64)
    indices[order] = np.cumsum(new) - 1 - first[column]
    return indices, cut[new], counts


def _covers(flat: Mapping[str, Array], inner: Array, trees: Sequence[Tree]) -> Array:
    """Return the covers of the leaves if those of all others are their sums, else of all nodes."""
    start = flat["tree_start"][:-1].astype(np.int64)
    first = np.repeat(start, [len(tree.feature) for tree in trees])[inner]
    cover = flat["cover"]
    below = cover[first + flat["left"][inner]] + cover[first + flat["right"][inner]]
    return cover[~inner] if np.array_equal(below, cover[inner]) else cover


def _sets(
    flat: Mapping[str, Array], asked: Array, inner: Array, levels: Sequence[int]
) -> npt.NDArray[np.uint8]:
    """Return the levels that go left, node by node, as the bytes that hold bits 0 to L."""
    parts = [np.empty(0, dtype=np.uint8)]
    for start, column in zip(flat["set_start"][inner].tolist(), asked.tolist(), strict=True):
        if start >= 0:
            words = flat["level_sets"][start : start + levels[column] // 64 + 1]
            parts.append(words.astype("<u8").view(np.uint8)[: levels[column] // 8 + 1])
    return np.concatenate(parts)


def _feature_arrays(fitted: Fitted) -> dict[str, Array]:
    """Return what is known of the features, as a text: names and levels may be many."""
    known = [
        {
            "name": name,
            "kind": KINDS[feature.kind],
            "moment": feature.temporal_type,
            # Integers this wide are no numbers in JSON.
            "cuts": None if feature.cuts is None else [str(cut) for cut in feature.cuts],
            "levels": None
            if feature.categories is None
            else level_words(feature.categories.values),
        }
        for name, feature in zip(fitted.names, fitted.model.features, strict=True)
    ]
    return {"features": np.frombuffer(json.dumps(known).encode("ascii"), dtype=np.uint8)}


def level_words(levels: Sequence[Category]) -> list[str]:
    """Return what each level is called, each by another name.

    A text that is empty, or that spells a level which is a number, is put into quotation marks.
    """
    numbers = {str(level) for level in levels if not isinstance(level, str)}
    clashing = [level for level in levels if level == "" or level in numbers]
    taken = numbers.union(map(str, levels), {""})
    quoted: dict[Category, str] = {}
    for level in clashing:
        word = str(level)
        while word in taken:
            word = f'"{word}"'
        taken.add(word)
        quoted[level] = word
    return [quoted.get(level, str(level)) for level in levels]


def _statistic_arrays(fitted: Fitted) -> dict[str, Array]:
    """Return what levels and combinations of them say."""
    known = fitted.model.features.target_encodings
    if not known:
        return {}
    return {
        "keys": np.concatenate([s.keys for s in known]),
        "told": np.concatenate([s.values.reshape(-1) for s in known]),
    }


# ---- facts ---------------------------------------------------------------------------------------


def _facts(fitted: Fitted, n_trees: int) -> dict[str, Any]:
    model = fitted.model
    features, ensemble = model.features, model.ensemble
    sources = features.sources
    rule = (
        check_parameter(fitted.estimator, "handle_unknown") if features.categorical else "missing"
    )
    link = link_of(fitted)
    return {
        "derived": [
            {"name": column_name(features, column), "sources": list(sources[column])}
            for column in range(features.n, len(sources))
        ],
        "statistics": [
            {
                "sources": list(s.sources),
                "levels": list(s.n_categories),
                "keys": len(s.keys),
                "outputs": len(s.values),
            }
            for s in features.target_encodings
        ],
        "missingValues": [str(value) for value in features.missing_values.values],
        "onUnseen": rule,
        "outputs": list(fitted.outputs("mean")),
        "scoreOutputs": list(fitted.outputs("score")),
        "base": ensemble.base.tolist(),
        "offset": fitted.score_units[0].tolist(),
        "scale": fitted.score_units[1].tolist(),
        "link": None if link is None else link.payload(),
        "width": ensemble.outputs_per_tree,
        "units": [_units(fitted, t) for t in range(min(ensemble.trees_per_round, n_trees))],
        "bothWays": _goes_both_ways(fitted),
        "whyNot": _why_not(fitted, n_trees),
    }


def _units(fitted: Fitted, place: int) -> dict[str, Any]:
    units = units_of(fitted.estimator, fitted.model, place)
    return {
        "says": units.says,
        "names": list(units.names),
        "times": units.times,
        "offset": units.offset.tolist(),
        "scale": units.scale.tolist(),
    }


def _goes_both_ways(fitted: Fitted) -> bool:
    return getattr(fitted.estimator, "missing_strategy", "learned") == "probability"


def _why_not(fitted: Fitted, n_trees: int) -> str | None:
    """Return why there are no Shapley values; None: there are."""
    trees = fitted.model.ensemble.trees
    if n_trees < len(trees):
        return f"Only the first {n_trees} of {len(trees)} trees are on this page."
    if _goes_both_ways(fitted):
        return "Rows with missing cells go both ways, and credits are about rows that go one."
    if fitted.has_lines:
        return "Leaves say lines, which depend on features even where these are unknown."
    for tree in trees:
        inner = tree.feature >= 0
        below = tree.cover[tree.left[inner]] + tree.cover[tree.right[inner]]
        if not (below > 0).all():
            return "The trees do not say how many training rows went which way."
    return None
