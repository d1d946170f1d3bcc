"""A model as JSON that a reader can evaluate without this library; `docs/trees.md` describes it."""

from __future__ import annotations

import json
import math
from typing import Any

from stagewise.data.crosses import Cross
from stagewise.data.feature import Feature
from stagewise.data.features import Features
from stagewise.export.links import link_of
from stagewise.export.tree_facts import fitted_trees, node_split
from stagewise.inspection.fitted_model import FittedModel, check_argument
from stagewise.model.model import Model
from stagewise.trees.linear_leaves import LinearLeaves
from stagewise.trees.tree import Tree
from stagewise.validation.rules import Number

__all__ = ["export_json"]

FORMAT = 1
KINDS = {"real": "number", "wide_integer": "integer", "categorical": "category"}


def export_json(estimator: Any, *, indent: int | None = None) -> str:
    """Return a fitted model of trees as JSON, with everything that decides a prediction.

    A reader follows each tree from node 0, adds the values of the leaves to ``base``, and applies
    ``link``; the section "Trees as data" of docs/trees.md describes every entry, and
    tests/reference/json_reader.py is a reader in pure Python. Numbers have all their digits.

    Parameters
    ----------
    estimator : estimator
        A fitted tree, forest or boosted model.
    indent : int or None, default=None
        The number of spaces by which lists and objects are indented; None: one line.

    Returns
    -------
    str
        Infinite thresholds are the texts "inf" and "-inf", which JSON has no numbers for.

    Examples
    --------
    >>> import json
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import DecisionTreeClassifier, export_json
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = json.loads(export_json(DecisionTreeClassifier(max_leaf_nodes=2).fit(X, y)))
    >>> model["trees"][0]["nodes"][0]["threshold"]
    2.45
    """
    check_argument("indent", Number(0, 16, whole=True, or_none=True), indent)
    fitted_trees(estimator)
    fitted = FittedModel.of(estimator, "export_json", of_targets=True)
    model, ensemble = fitted.model, fitted.model.ensemble
    link = link_of(fitted)
    per_round = ensemble.trees_per_round
    described = {
        "format": FORMAT,
        "estimator": type(estimator).__name__,
        "task": model.task,
        "loss": model.loss,
        "classes": None if model.classes is None else model.classes.tolist(),
        "targets": None if model.targets is None else list(model.targets),
        "class_targets": _labels(model),
        "scores": list(fitted.outputs("score")),
        "features": [_feature(f, fitted.names[j]) for j, f in enumerate(model.features)],
        "missing_values": list(model.features.missing_values.values),
        "handle_unknown": getattr(estimator, "handle_unknown", "missing"),
        "derived": [_derived(model.features, d) for d in model.features.derived],
        "row_offset": {name: getattr(model.row_offset, name) for name in ("offset", "exposure")},
        "base": ensemble.base.tolist(),
        "link": None if link is None else link.payload(),
        "learned": {name: values.tolist() for name, values in model.learned_by("loss").items()},
        "trees": [
            {
                "round": place // per_round,
                "output": None if ensemble.outputs_per_tree > 1 else place % per_round,
                "nodes": _nodes(tree, fitted),
            }
            for place, tree in enumerate(ensemble.trees)
        ],
    }
    return json.dumps(described, indent=indent, ensure_ascii=False, allow_nan=False, default=str)


def _labels(model: Model) -> list[list[Any]] | None:
    """Return the classes of each of several targets; None: there is one target."""
    return None if model.class_targets is None else [own.tolist() for own in model.class_targets]


def _feature(feature: Feature, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "kind": KINDS[feature.kind]}
    if feature.categories is not None:
        found["categories"] = list(feature.categories.values)
    if feature.cuts is not None:  # linear leaves use the number of cuts below a value
        found["cuts"] = feature.cuts.tolist()
    if feature.temporal_type is not None:
        found["temporal_type"] = feature.temporal_type
    return found


def _derived(features: Features, derived: Any) -> dict[str, Any]:
    names = [features.column_name(j) for j in derived.sources]
    found = {"name": derived.label(names), "sources": list(derived.sources)}
    if isinstance(derived, Cross):
        return {**found, "operation": derived.operation}
    return {
        **found,
        "operation": "target_encoding",
        "keys": derived.keys.tolist(),
        "values": derived.values.tolist(),
    }


def _nodes(tree: Tree, fitted: FittedModel) -> list[dict[str, Any]]:
    features, both = fitted.model.features, fitted.has_fractional_rows
    lines = {} if tree.linear_leaves is None else _linear(tree.linear_leaves)
    value, gain, weight = (a.tolist() for a in (tree.value, tree.gain, tree.cover))
    left, right = tree.left.tolist(), tree.right.tolist()
    nodes: list[dict[str, Any]] = []
    for node, column in enumerate(tree.feature.tolist()):
        own = {"value": value[node], "weight": weight[node]}
        if column < 0:
            nodes.append({**own, "linear": lines[node]} if node in lines else own)
            continue
        split = node_split(tree, node, features, both=both)
        condition: dict[str, Any] = {"feature": column}
        if split.threshold is not None:
            condition["threshold"] = _finite(split.threshold)
        else:
            known = fitted.model.ensemble.n_categories[column]
            sides = tree.category_sets
            unknown = sides is not None and known > 0 and sides.contains(node, known)
            condition["categories"] = list(split.left or ())
            condition["unknown"] = "left" if unknown else "right"
        children = {"missing": split.missing, "left": left[node], "right": right[node]}
        nodes.append({**condition, **children, "gain": gain[node], **own})
    return nodes


def _linear(lines: LinearLeaves) -> dict[int, dict[str, Any]]:
    start = lines.start.tolist()
    terms = list(
        zip(lines.feature.tolist(), lines.slope.tolist(), lines.centre.tolist(), strict=True)
    )
    return {
        node: {
            "intercept": float(lines.intercept[i]),
            "terms": [
                {"feature": f, "slope": s, "centre": c}
                for f, s, c in terms[start[i] : start[i + 1]]
            ],
            "low": _finite(float(lines.low[i])),
            "high": _finite(float(lines.high[i])),
            "infinite_gives_bound": bool(lines.beyond[i]),
            "grain": float(lines.grain[i]),
        }
        for i, node in enumerate(lines.node.tolist())
    }


def _finite(number: float) -> float | str:
    """Return a number, or the text of an infinite one."""
    return number if isinstance(number, int) or math.isfinite(number) else str(number)
