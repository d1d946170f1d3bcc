"""The trees of a model as the package shap reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.inspection.fitted_model import FittedModel
from stagewise.trees.tree import Tree

__all__ = ["export_shap"]

INSTEAD = (
    "Use stagewise.inspection.shap_values(model, X).as_shap(), whose result the plots of shap "
    "accept."
)
OBJECTIVES = {"squared_error": "squared_error", "absolute_error": "absolute_error"}


def export_shap(estimator: Any) -> dict[str, Any]:
    """Return the trees of a model as a dictionary that `shap.TreeExplainer` accepts.

    Its Shapley values are those of `stagewise.inspection.shap_values`: of predictions for a
    regression without a link, of log odds and other scores before the link otherwise, and of
    probabilities for forests.

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree. Its features must be numbers, and its leaves
        constants: shap has no sets of categories, target encodings, linear leaves, and integers
        beyond 2**53 (such as datetimes).

    Returns
    -------
    dict

    Examples
    --------
    >>> import numpy as np
    >>> import shap  # doctest: +SKIP
    >>> from stagewise import GradientBoostingRegressor, export_shap
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = GradientBoostingRegressor(n_estimators=20).fit(X, X[:, 0] + X[:, 1])
    >>> shap.TreeExplainer(export_shap(model))(X).shape  # doctest: +SKIP
    (200, 3)
    """
    fitted = FittedModel.of(estimator, "export_shap", of_targets=True)
    _check(fitted)
    model, ensemble = fitted.model, fitted.model.ensemble
    offset, scale = fitted.score_units
    base = np.broadcast_to(offset + scale * ensemble.base, ensemble.n_outputs)
    trees = [
        _tree(tree, _values(tree, number % ensemble.trees_per_round, ensemble.n_outputs) * scale)
        for number, tree in enumerate(ensemble.trees)
    ]
    exported: dict[str, Any] = {"trees": trees, "base_offset": np.array(base)}
    exported["input_dtype"] = exported["internal_dtype"] = np.float64
    if model.classes is None and model.loss in OBJECTIVES:
        exported |= {"objective": OBJECTIVES[model.loss], "tree_output": "raw_value"}
    elif model.loss == "log_loss" and ensemble.n_outputs == 1:
        exported |= {"objective": "binary_crossentropy", "tree_output": "log_odds"}
    return exported


def _check(fitted: FittedModel) -> None:
    """Raise ValueError unless shap can represent a model."""
    features, ensemble = fitted.model.features, fitted.model.ensemble
    wide = [feature.name for feature in features if feature.kind == "wide_integer"]
    found = {
        "categorical features": bool(features.categorical),
        "columns that are computed from features": bool(features.derived),
        "linear leaves": any(tree.linear_leaves is not None for tree in ensemble.trees),
        "integers beyond 2**53": bool(wide),
        "rows that go to both children": fitted.has_fractional_rows,
        "no trees": not ensemble.trees,
    }
    for what, is_so in found.items():
        if is_so:
            raise ValueError(f"export_shap: this model has {what}. {INSTEAD}")


def _values(tree: Tree, output: int, n_outputs: int) -> npt.NDArray[np.float64]:
    """Return the values of the nodes for each output, shape (n_nodes, n_outputs)."""
    if tree.value.ndim == 2:
        return tree.value
    values = np.zeros((len(tree.value), n_outputs))
    values[:, output] = tree.value
    return values


def _tree(tree: Tree, values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return one tree."""
    missing = np.where(tree.missing_left.astype(bool), tree.left, tree.right)
    return {
        "children_left": tree.left,
        "children_right": tree.right,
        "children_default": missing,
        "features": tree.feature,
        "thresholds": tree.threshold,
        "values": np.ascontiguousarray(values),
        "node_sample_weight": tree.cover,
    }
