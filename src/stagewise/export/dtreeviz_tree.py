"""A single tree as the package dtreeviz reads it.

dtreeviz draws the distributions of the rows in every node. It reads trees of scikit-learn, so a
tree is exported with the names of scikit-learn's arrays.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.estimators.bases.model_access import predict_scores
from stagewise.inspection.fitted_model import FittedModel

__all__ = ["export_dtreeviz"]

Vector = npt.NDArray[np.float64]


def export_dtreeviz(estimator: Any, X: Any, y: Any, *, target_name: str = "y") -> Any:
    """Return a single tree for `dtreeviz.model`.

    Parameters
    ----------
    estimator : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree, also one of a forest (``forest[0]``). Its features must be numbers.
    X : array-like or data frame of shape (n_rows, n_features)
        The rows whose distributions are drawn, without missing values: dtreeviz has none.
    y : array-like of shape (n_rows,)
        Their targets.
    target_name : str, default="y"
        The name of the target.

    Returns
    -------
    dtreeviz.models.shadow_decision_tree.ShadowDecTree

    Examples
    --------
    >>> import dtreeviz  # doctest: +SKIP
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import DecisionTreeClassifier, export_dtreeviz
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    >>> shadow = export_dtreeviz(tree, X, y)  # doctest: +SKIP
    >>> dtreeviz.model(shadow, X, y).view()  # doctest: +SKIP
    """
    try:
        from dtreeviz.models.sklearn_decision_trees import ShadowSKDTree
    except ImportError:
        raise ImportError(
            "export_dtreeviz needs the package dtreeviz, which is not installed: pip install "
            "dtreeviz. stagewise.export_svg draws trees without it."
        ) from None
    fitted = FittedModel.of(estimator, "export_dtreeviz")
    _check(fitted)
    rows = np.column_stack(fitted.columns(X))
    if np.isnan(rows).any():
        raise ValueError(
            "export_dtreeviz: X has missing values, which dtreeviz does not support. Leave these "
            "rows out, or use stagewise.export_svg."
        )
    target, classes = fitted.training_target(y, None, len(rows)).y, fitted.model.classes
    if classes is not None:
        target = target.astype(np.int64)  # dtreeviz accepts no other type of codes
    return ShadowSKDTree(
        _with_names_of_sklearn(fitted, X, y, target),
        rows,
        target,
        list(fitted.names),
        target_name,
        None if classes is None else [str(label) for label in classes.tolist()],
    )


def _check(fitted: FittedModel) -> None:
    """Raise unless dtreeviz can represent a model."""
    instead = "Use stagewise.export_svg, which draws any tree."
    if not hasattr(fitted.estimator, "get_depth"):
        raise TypeError(
            f"export_dtreeviz exports a single tree, and {type(fitted.estimator).__name__} has "
            f"several. Of a forest, pass one of its trees: forest[0]. {instead}"
        )
    model = fitted.model
    found = {
        "categorical features": bool(model.features.categorical),
        "integers beyond 2**53": any(f.kind == "wide_integer" for f in model.features),
        "several targets": model.classes is None and model.ensemble.n_outputs > 1,
        "no tree": not model.ensemble.trees,
    }
    for what, is_so in found.items():
        if is_so:
            raise ValueError(f"export_dtreeviz: this model has {what}. {instead}")


def _with_names_of_sklearn(
    fitted: FittedModel, X: Any, y: Any, target: npt.NDArray[Any]
) -> SimpleNamespace:
    """Return a tree with the attributes of scikit-learn's trees that dtreeviz reads."""
    estimator, model = fitted.estimator, fitted.model
    tree, paths = model.ensemble.trees[0], estimator.decision_path(X)
    score = model.ensemble.base + tree.value.reshape(len(tree.feature), -1)
    prediction = predict_scores(estimator, score).reshape(len(tree.feature), 1, -1)
    counts = np.asarray(paths.sum(axis=0), dtype=np.float64).ravel()
    arrays = SimpleNamespace(
        children_left=tree.left,
        children_right=tree.right,
        feature=tree.feature,
        threshold=tree.threshold,
        value=prediction,
        impurity=_impurity(paths, target, counts, model.classes),
        weighted_n_node_samples=counts,
        node_count=len(tree.feature),
        n_features=model.features.n,
        n_classes=[1 if model.classes is None else len(model.classes)],
    )
    return SimpleNamespace(
        tree_=arrays,
        classes_=None if model.classes is None else np.arange(len(model.classes)),
        class_weight=None,
        criterion=estimator.criterion,
        max_depth=estimator.get_depth(),
        min_samples_leaf=estimator.min_samples_leaf,
        decision_path=lambda _: paths,
        score=lambda *_: estimator.score(X, y),
    )


def _impurity(paths: Any, target: npt.NDArray[Any], counts: Vector, classes: Any) -> Vector:
    """Return the Gini index, or the variance, of the rows in every node."""
    n = np.maximum(counts, 1.0)
    if classes is None:
        mean = (paths.T @ target) / n
        return np.asarray(np.maximum((paths.T @ target**2) / n - mean**2, 0.0))
    shares = (paths.T @ np.eye(len(classes))[target]) / n[:, np.newaxis]
    return np.asarray(1.0 - (shares**2).sum(axis=1))
