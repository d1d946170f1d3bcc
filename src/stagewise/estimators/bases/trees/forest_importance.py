"""Feature importances of a forest: by impurity for each class, and by permutation out of bag.

The permutation importance of a feature for a tree is the increase of the loss of its out-of-bag
rows when the values of the feature are permuted among them (Breiman 2001, section 10). The bags are
drawn again from the seed, so a model does not store them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, SparseColumns, Workers, draw_bootstrap, draw_rows
from stagewise.model.model import Model
from stagewise.training.reading.row_set import rows_with_weight
from stagewise.training.specs import BagSpec

__all__ = ["Bags", "Importances", "impurity_by_class", "out_of_bag_importances"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Importances:
    """The permutation importance of each feature.

    Attributes
    ----------
    mean : float64 array of shape (n_features,)
        The increase of the loss of the out-of-bag rows, averaged over the trees. The loss is the
        error rate, or the squared error.
    error : float64 array of shape (n_features,)
        The standard error of these means.
    by_class : float64 array of shape (n_classes, n_features), or None
        The means over the rows of each class.
    """

    mean: Vector
    error: Vector
    by_class: npt.NDArray[np.float64] | None = None


def impurity_by_class(model: Model) -> npt.NDArray[np.float64]:
    """Return the decrease of the impurity p_k (1 - p_k) of each class by each feature's splits.

    Returns
    -------
    float64 array of shape (n_classes, n_features)
        Shares that sum to 1. Summed over the classes, they are the decrease of the Gini index.
    """
    assert model.classes is not None
    flat, n_trees = model.ensemble.flat(), len(model.ensemble.trees)
    start: npt.NDArray[np.int64] = flat["tree_start"].astype(np.int64)
    root = np.repeat(start[:-1], start[1:] - start[:-1])
    value = flat["value"] * n_trees
    share = value if value.ndim == 2 else np.stack([1 - value, 1 + value], axis=1) / 2
    impurity = share * (1 - share) * flat["cover"][:, np.newaxis]
    inner = np.flatnonzero(flat["feature"] >= 0)
    left, right = ((root + flat[side])[inner] for side in ("left", "right"))
    decrease = np.maximum(0.0, impurity[inner] - impurity[left] - impurity[right])
    sums = np.zeros((decrease.shape[1], len(model.features.sources)))
    for k, own in enumerate(decrease.T):
        sums[k] = np.bincount(flat["feature"][inner], weights=own, minlength=sums.shape[1])
    total = sums.sum()
    return np.asarray(sums / total if total > 0 else sums)


@dataclass(frozen=True)
class Bags:
    """The parameters by which the bags of a forest are drawn again."""

    bag: BagSpec
    seed: int

    def outside(
        self, workers: Workers, n: int, weight: Vector | None, number: int
    ) -> npt.NDArray[np.intp]:
        """Return the out-of-bag rows of a tree."""
        drawn = (n, weight, self.bag.share(n), self.seed, number)
        by_bag = self.bag.bootstrap
        bag = draw_bootstrap(workers, *drawn)[0] if by_bag else draw_rows(workers, *drawn)
        outside = np.ones(n, dtype=bool)
        outside[bag] = False
        return np.flatnonzero(outside)


def out_of_bag_importances(
    model: Model,
    workers: Workers,
    values: Any,
    y: npt.NDArray[Any],
    weight: Vector | None,
    bags: Bags,
) -> Importances:
    """Return the permutation importance of every feature on the out-of-bag rows.

    Parameters
    ----------
    model : Model
        A forest.
    workers : Workers
        The threads.
    values : array, list of arrays or SparseCells
        The training rows, as `read_rows` returns them.
    y, weight : array
        Targets or class codes of these rows, and how often each counts.
    bags : Bags
        The bags of the trees.
    """
    values = _dense(values)
    rows = rows_with_weight(weight)
    if rows is not None:
        values, y, weight = values[rows], y[rows], np.asarray(weight)[rows]
    if weight is not None and (weight == 1.0).all():
        weight = None
    mean_losses = _MeanLosses(model, y, weight)
    found = []
    for number in range(len(model.ensemble.trees)):
        outside = bags.outside(workers, len(values), weight, number)
        if len(outside):
            rows = values[outside]
            found.append(_increases(model, workers, rows, outside, mean_losses, bags, number))
    if not found:
        raise ValueError("No tree has out-of-bag rows: pass more rows, or fit more trees.")
    increase = np.array(found)  # shape (trees, classes and all, features)
    mean = np.nanmean(increase, axis=0)
    n_trees, n_features = len(increase), values.shape[1]
    spread = increase[:, -1].std(axis=0, ddof=1) if n_trees > 1 else np.zeros(n_features)
    by_class = mean[:-1] if model.classes is not None else None
    return Importances(mean[-1], spread / n_trees**0.5, by_class)


def _dense(values: Any) -> Vector:
    if isinstance(values, list):
        return np.column_stack(values).astype(np.float64)
    if not isinstance(values, np.ndarray):
        raise TypeError(
            "Permutation importance needs a dense table; pass X.toarray() if that fits into memory."
        )
    return values.astype(np.float64)


class _MeanLosses:
    """Computes the mean loss of scores, over all rows and over the rows of each class."""

    def __init__(self, model: Model, y: npt.NDArray[Any], weight: Vector | None) -> None:
        self.classes = 0 if model.classes is None else len(model.classes)
        self._y, self._weight = y, np.ones(len(y)) if weight is None else weight
        self._offset, self._scale = model.offset, model.scale

    def of(self, score: Vector, rows: npt.NDArray[np.intp]) -> Vector:
        """Return the mean loss for each class, and at last for all rows; NaN without rows."""
        y, weight = self._y[rows], self._weight[rows]
        if not self.classes:
            wrong = (self._offset + self._scale * score[:, 0] - y) ** 2
            return np.array([np.average(wrong, weights=weight)])
        predicted = score[:, 0] > 0 if score.shape[1] == 1 else score.argmax(axis=1)
        wrong = (predicted != y) * weight
        per_class = np.bincount(y, weights=wrong, minlength=self.classes)
        with np.errstate(invalid="ignore"):
            means = per_class / np.bincount(y, weights=weight, minlength=self.classes)
        return np.append(means, per_class.sum() / weight.sum())


def _increases(
    model: Model,
    workers: Workers,
    values: Vector,
    rows: npt.NDArray[np.intp],
    mean_losses: _MeanLosses,
    bags: Bags,
    number: int,
) -> npt.NDArray[np.float64]:
    """Return the increases of the losses of one tree, shape (classes and all, features)."""
    ensemble = model.ensemble
    n_trees = len(ensemble.trees)

    def losses() -> Vector:
        columns: Columns | SparseColumns = model.features.append_derived(Columns(values))
        out = np.zeros((len(values), ensemble.n_outputs))
        ensemble.forest.add_scores(workers, columns, number, number + 1, out.reshape(-1))
        return mean_losses.of(out * n_trees, rows)

    before = losses()
    increase = np.zeros((len(before), model.features.n))
    for feature in np.unique(ensemble.trees[number].feature):
        if feature < 0:
            continue
        own = values[:, feature].copy()
        order = np.random.default_rng([bags.seed, number, int(feature)]).permutation(len(own))
        values[:, feature] = own[order]
        increase[:, feature] = losses() - before
        values[:, feature] = own
    return increase
