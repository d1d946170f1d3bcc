"""A fitted model as plain data for a web page, which predicts and explains without Python.

Everything that decides a prediction (thresholds, leaf values, covers) is exact; values that are
only displayed (gains, values of inner nodes) are rounded. `model.js` reads this format.
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
from stagewise.export.links import link_of
from stagewise.export.tree_facts import value_units
from stagewise.inspection.fitted_model import FittedModel, check_argument
from stagewise.model.ensemble import Ensemble
from stagewise.report.packing import narrow, pack
from stagewise.trees.linear_leaves import LINEAR_LEAF_ARRAYS
from stagewise.trees.tree import Tree
from stagewise.validation.parameters import check_parameter
from stagewise.validation.rules import Number

__all__ = ["ExportedModel", "export_model", "model_script"]

Array = npt.NDArray[Any]

FORMAT = 1
TREES_SHOWN = 10
"""The number of trees that are exported for display if the model is too large."""
SCRIPTS = ("inflate.js", "datetimes.js", "trees.js", "shap.js", "rows.js", "model.js")

KINDS = MappingProxyType({"real": "number", "wide_integer": "integer", "categorical": "category"})
"""The names of the kinds of features on the page."""


@dataclass(frozen=True, eq=False)
class ExportedModel:
    """An exported model, or its first trees.

    Attributes
    ----------
    facts : mapping
        Everything that is not an array: names, link, units; see `payload`.
    arrays : list of [name, type, length]
        The packed arrays, in their order.
    packed : str
        The packed arrays as text; see `stagewise.report.packing.pack`.
    n_trees, tree_count : int
        The number of exported trees, and of all trees of the model.
    """

    facts: Mapping[str, Any]
    arrays: Sequence[Sequence[Any]]
    packed: str
    n_trees: int
    tree_count: int

    @property
    def complete(self) -> bool:
        """Whether all trees are exported, so that the page can predict."""
        return self.n_trees == self.tree_count

    def payload(self) -> dict[str, Any]:
        """Return a JSON-compatible dictionary for `Model.open` of model.js."""
        return {
            "format": FORMAT,
            "complete": self.complete,
            "treeCount": self.tree_count,
            **self.facts,
            "arrays": [list(place) for place in self.arrays],
            "packed": self.packed,
        }


def export_model(estimator: Any, *, max_bytes: int = 1_500_000) -> ExportedModel:
    """Export a fitted estimator of trees as plain data.

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree.
    max_bytes : int, default=1_500_000
        The maximum size of the packed arrays as text. Of a larger model only the first trees are
        exported, for display; it cannot predict.

    Returns
    -------
    ExportedModel

    Raises
    ------
    TypeError
        If the estimator has no trees.

    Examples
    --------
    >>> import numpy as np
    >>> from stagewise import GradientBoostingRegressor
    >>> from stagewise.report.exported_model import export_model
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> exported = export_model(GradientBoostingRegressor(n_estimators=20).fit(X, X[:, 0]))
    >>> exported.complete, exported.n_trees
    (True, 20)
    """
    fitted = FittedModel.of(estimator, "export_model", offsets=True, of_targets=True)
    if isinstance(estimator, StagewiseLinearRegressor):
        raise TypeError(
            "export_model needs trees, and a StagewiseLinearRegressor has none. Use its coef_ and "
            "intercept_."
        )
    most = check_argument("max_bytes", Number(0, whole=True), max_bytes)
    ensemble = fitted.model.ensemble
    n_trees = _trees_that_may_fit(fitted, most)
    while True:
        places, packed = pack(_arrays(fitted, n_trees))
        if len(packed) <= most or n_trees == 0:
            break
        # Slightly fewer than estimated, so that a few trials are enough.
        n_trees = min(n_trees - 1, int(0.97 * n_trees * most / len(packed)))
    return ExportedModel(_facts(fitted, n_trees), places, packed, n_trees, len(ensemble.trees))


def model_script() -> str:
    """Return the script that defines the class ``Model``, and no other global name."""
    folder = files("stagewise.report") / "page"
    parts = [(folder / name).read_text(encoding="utf-8") for name in SCRIPTS]
    return "\n".join(["const Model = (() => {", *parts, "return Model;", "})();", ""])


def _trees_that_may_fit(fitted: FittedModel, most: int) -> int:
    """Estimate how many of the first trees fit, from a few of them if they are large."""
    ensemble = fitted.model.ensemble
    n_trees = len(ensemble.trees)
    size = np.cumsum([8 * len(tree.feature) * ensemble.outputs_per_tree for tree in ensemble.trees])
    few = max(1, int(np.searchsorted(size, most, side="right")))
    if few >= n_trees:
        return n_trees
    few = min(few, TREES_SHOWN)
    _, packed = pack(_arrays(fitted, few))
    fit = int(1.1 * few * most / len(packed))
    # For display, a few trees are enough.
    return n_trees if fit >= n_trees else min(fit, TREES_SHOWN)


# ---- arrays --------------------------------------------------------------------------------------


def _arrays(fitted: FittedModel, n_trees: int) -> dict[str, Array]:
    """Return the arrays for the first trees; with all trees also those for prediction."""
    ensemble = fitted.model.ensemble
    arrays = _tree_arrays(ensemble, n_trees) | _feature_arrays(fitted)
    return arrays | _encoding_arrays(fitted) if n_trees == len(ensemble.trees) else arrays


def _tree_arrays(ensemble: Ensemble, n_trees: int) -> dict[str, Array]:
    """Return the arrays of the first trees; inner nodes and leaves in the order of all nodes."""
    part = Ensemble(
        ensemble.n_features,
        ensemble.base,
        ensemble.trees[:n_trees],
        ensemble.n_categories,
        ensemble.outputs_per_tree,
    )
    flat = part.flat()
    inner = flat["feature"] >= 0
    left, right, tested = flat["left"], flat["right"], flat["feature"][inner]
    value = flat["value"].reshape(len(inner), part.outputs_per_tree)
    indices, thresholds, counts = _thresholds(tested, flat["threshold"][inner], part.n_features)
    arrays = {
        "size": narrow(np.diff(flat["tree_start"])),
        "left": narrow(np.where(inner, left, 0)),  # 0 marks a leaf: the root is never a child
        "feature": narrow(tested),
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
        arrays["sets"] = _sets(flat, tested, inner, part.n_categories)
    for name in LINEAR_LEAF_ARRAYS if "line_node" in flat else ():
        array = flat[f"line_{name}"]
        arrays[f"line{name.capitalize()}"] = array if array.dtype.kind == "f" else narrow(array)
    return arrays


def _thresholds(tested: Array, threshold: Array, n_columns: int) -> tuple[Array, Array, Array]:
    """Return the threshold index of each node, all thresholds, and their number per column.

    Thresholds of a column are sorted and distinct. A categorical column has one unused threshold.
    """
    order = np.lexsort((threshold, tested))
    column, cut = tested[order], threshold[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (column[1:] != column[:-1]) | (cut[1:] != cut[:-1])
    counts = np.bincount(column[new], minlength=n_columns)
    first = np.cumsum(counts) - counts
    indices = np.empty(len(order), dtype=np.int64)
    indices[order] = np.cumsum(new) - 1 - first[column]
    return indices, cut[new], counts


def _covers(flat: Mapping[str, Array], inner: Array, trees: Sequence[Tree]) -> Array:
    """Return the covers of the leaves if those of inner nodes are their sums, else of all nodes."""
    start = flat["tree_start"][:-1].astype(np.int64)
    first = np.repeat(start, [len(tree.feature) for tree in trees])[inner]
    cover = flat["cover"]
    below = cover[first + flat["left"][inner]] + cover[first + flat["right"][inner]]
    return cover[~inner] if np.array_equal(below, cover[inner]) else cover


def _sets(
    flat: Mapping[str, Array], tested: Array, inner: Array, n_categories: Sequence[int]
) -> npt.NDArray[np.uint8]:
    """Return the categories that go left as bit sets of L + 1 bits, node by node."""
    parts = [np.empty(0, dtype=np.uint8)]
    for start, column in zip(flat["set_start"][inner].tolist(), tested.tolist(), strict=True):
        if start >= 0:
            packed = flat["level_sets"][start : start + n_categories[column] // 64 + 1]
            parts.append(packed.astype("<u8").view(np.uint8)[: n_categories[column] // 8 + 1])
    return np.concatenate(parts)


def _feature_arrays(fitted: FittedModel) -> dict[str, Array]:
    """Return the features as JSON text in an array: names and categories may be many."""
    known = [
        {
            "name": name,
            "kind": KINDS[feature.kind],
            "temporalType": feature.temporal_type,
            # JSON numbers cannot represent integers beyond 2**53.
            "cuts": None if feature.cuts is None else [str(cut) for cut in feature.cuts],
            "categories": None
            if feature.categories is None
            else category_labels(feature.categories.values),
        }
        for name, feature in zip(fitted.names, fitted.model.features, strict=True)
    ]
    return {"features": np.frombuffer(json.dumps(known).encode("ascii"), dtype=np.uint8)}


def category_labels(categories: Sequence[Category]) -> list[str]:
    """Return a distinct label for each category.

    Text that is empty, or equal to the text of a numeric category, is put in quotation marks.
    """
    numbers = {str(c) for c in categories if not isinstance(c, str)}
    clashing = [c for c in categories if c == "" or c in numbers]
    taken = numbers.union(map(str, categories), {""})
    quoted: dict[Category, str] = {}
    for category in clashing:
        label = str(category)
        while label in taken:
            label = f'"{label}"'
        taken.add(label)
        quoted[category] = label
    return [quoted.get(category, str(category)) for category in categories]


def _encoding_arrays(fitted: FittedModel) -> dict[str, Array]:
    """Return the keys and values of the target encodings."""
    known = fitted.model.features.target_encodings
    if not known:
        return {}
    return {
        "keys": np.concatenate([s.keys for s in known]),
        "encodedValues": np.concatenate([s.values.reshape(-1) for s in known]),
    }


# ---- facts ---------------------------------------------------------------------------------------


def _facts(fitted: FittedModel, n_trees: int) -> dict[str, Any]:
    model = fitted.model
    features, ensemble = model.features, model.ensemble
    sources = features.sources
    rule = (
        check_parameter(fitted.estimator, "handle_unknown") if features.categorical else "missing"
    )
    link = link_of(fitted)
    return {
        "derived": [
            {"name": features.column_name(column), "sources": list(sources[column])}
            for column in range(features.n, len(sources))
        ],
        "crosses": [
            {"operation": c.operation, "sources": list(c.sources)} for c in features.crosses
        ],
        "targetEncodings": [
            {
                "sources": list(s.sources),
                "categories": list(s.n_categories),
                "keys": len(s.keys),
                "outputs": len(s.values),
            }
            for s in features.target_encodings
        ],
        "missingValues": [str(value) for value in features.missing_values.values],
        "handleUnknown": rule,
        "outputs": list(fitted.outputs("mean")),
        "scoreOutputs": list(fitted.outputs("score")),
        "base": ensemble.base.tolist(),
        "offset": fitted.score_units[0].tolist(),
        "scale": fitted.score_units[1].tolist(),
        "link": None if link is None else link.payload(),
        "width": ensemble.outputs_per_tree,
        "units": [_units(fitted, t) for t in range(min(ensemble.trees_per_round, n_trees))],
        "hasOffset": bool(model.row_offset),
        "fractionalRows": fitted.has_fractional_rows,
        "reason": _reason(fitted, n_trees),
    }


def _units(fitted: FittedModel, place: int) -> dict[str, Any]:
    units = value_units(fitted.estimator, fitted.model, place)
    return {
        "valueKind": units.value_kind,
        "names": list(units.names),
        "times": units.times,
        "offset": units.offset.tolist(),
        "scale": units.scale.tolist(),
    }


def _reason(fitted: FittedModel, n_trees: int) -> str | None:
    """Return why Shapley values are not available; None if they are."""
    trees = fitted.model.ensemble.trees
    if n_trees < len(trees):
        return f"This page contains only the first {n_trees} of {len(trees)} trees."
    if fitted.has_fractional_rows:
        return "Shapley values do not support missing='probability'."
    if fitted.has_linear_leaves:
        return "Tree-path-dependent Shapley values do not support linear leaves."
    for tree in trees:
        inner = tree.feature >= 0
        below = tree.cover[tree.left[inner]] + tree.cover[tree.right[inner]]
        if not (below > 0).all():
            return "The trees have no row counts (their cover is 0)."
    return None
