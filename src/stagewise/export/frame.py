"""All nodes of all trees as one data frame."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw

from stagewise.errors import InvalidParameterError
from stagewise.export.formatting import format_condition
from stagewise.export.tree_facts import NodeFacts, TreeFacts, fitted_trees, tree_facts

__all__ = ["trees_to_frame"]

LIBRARIES = ("pandas", "polars", "pyarrow", "modin")


def trees_to_frame(estimator: Any, *, library: str = "pandas") -> Any:
    """Return the nodes of all trees as a data frame, one row per node.

    Parameters
    ----------
    estimator : estimator
        A fitted tree, forest or boosted model.
    library : {"pandas", "polars", "pyarrow", "modin"}, default="pandas"
        The library of the data frame, which must be installed.

    Returns
    -------
    data frame
        ``tree``, ``round`` and ``output``: the index of the tree, its round, and the class or
        target that it adds to (empty for one output, and for trees of all outputs). ``node``,
        ``depth``, ``parent``, ``left``, ``right``: numbers of nodes as `apply` returns them; -1:
        there is none. ``feature``: the name of the column of the split; None in a leaf.
        ``threshold``: rows with values up to it go left; NaN in a leaf and for categories.
        ``categories``: the categories that go left, as a list of texts; None otherwise.
        ``missing``: the child of missing values. ``condition``: the condition of the left child as
        text, with dates as dates. ``gain``: of the split, as of `export_text`. ``weight``: the sum
        of the weights of the training rows. ``value``: what the node predicts as a leaf, in the
        units of y, or adds to the score of a boosted model; ``value(…)`` for each class or
        output of trees of all outputs. ``linear``: whether a leaf has a linear model, of which
        the value is the constant.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import DecisionTreeClassifier, trees_to_frame
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> frame = trees_to_frame(DecisionTreeClassifier(max_leaf_nodes=3).fit(X, y))
    >>> frame[["node", "depth", "left", "right", "missing", "weight"]].head(1)
       node  depth  left  right missing  weight
    0     0      0     1      2   right   150.0
    >>> frame["condition"][0]
    'petal length (cm) <= 2.45'
    """
    if library not in LIBRARIES:
        raise InvalidParameterError(
            f"library must be one of {', '.join(map(repr, LIBRARIES))}; got {library!r}."
        )
    fitted = fitted_trees(estimator)
    unit, per_round = fitted.gain_unit, fitted.model.ensemble.trees_per_round
    rows: list[dict[str, Any]] = []
    for tree in range(len(fitted.model.ensemble.trees)):
        facts = tree_facts(estimator, tree)
        place = {"tree": tree, "round": tree // per_round, "output": _output(facts)}
        rows += [{**place, **_row(facts, node, unit)} for node in facts.nodes]
    if not rows:
        raise ValueError("The model has no trees (all training rows had the same class).")
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    backend: Any = library
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ModuleNotFoundError:
        raise ImportError(f"trees_to_frame needs {library}: pip install {library}.") from None


def _output(facts: TreeFacts) -> str:
    return facts.names[0] if len(facts.names) == 1 else ""


def _row(facts: TreeFacts, node: NodeFacts, gain_unit: float) -> dict[str, Any]:
    split = node.split
    categories = None if split is None or split.left is None else [str(c) for c in split.left]
    numeric = split is not None and split.threshold is not None
    row: dict[str, Any] = {
        "node": node.number,
        "depth": node.depth,
        "parent": node.parent,
        "left": node.left,
        "right": node.right,
        "feature": None if split is None else split.name,
        "threshold": float(split.threshold) if numeric else math.nan,  # type: ignore[union-attr,arg-type]
        "categories": categories,
        "missing": None if split is None else split.missing,
        "condition": None if split is None else format_condition(split, left=True, missing=False),
        "gain": node.gain * gain_unit,
        "weight": node.weight,
    }
    if len(node.value) == 1:
        row["value"] = node.value[0]
    else:
        row |= {f"value({n})": v for n, v in zip(facts.names, node.value, strict=True)}
    return row | {"linear": node.line}
