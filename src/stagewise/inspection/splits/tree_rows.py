"""The rows of a tree of a fitted model, with the numbers that its growth has used.

For a boosted tree these are the gradients and hessians at the scores before its round; for a single
tree or a tree of a forest, the targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns
from stagewise.data.bins import learn_codings
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.boosting import BaseBoosting
from stagewise.estimators.bases.model_access import fit_loss, fit_spec, is_average
from stagewise.estimators.bases.trees.forest import BaseForest
from stagewise.estimators.bases.trees.tree import BaseDecisionTree
from stagewise.inspection.fitted_model import FittedModel, check_argument
from stagewise.inspection.splits.objectives import (
    GradientObjective,
    ImpurityObjective,
    Objective,
)
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.losses import Loss
from stagewise.trees.tree import Tree
from stagewise.validation.rules import Number

__all__ = ["TreeRows"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Codings = Sequence[npt.NDArray[Any] | None]


@dataclass(frozen=True, eq=False)
class TreeRows:
    """Rows, and the objective of one tree of a model.

    Attributes
    ----------
    fitted : FittedModel
        The model.
    tree : Tree
        The tree.
    columns : list of float64 arrays
        The columns that trees split, of the rows with a positive weight.
    kept : integer array
        The positions of these rows in X.
    weight : float64 array
        Their weights.
    objective : Objective
        What splits lower.
    rules : HistogramTree
        The rules of the tree, in the units of the objective.
    codings : sequence of arrays, or None
        Of every column the cuts between its bins, or None if all thresholds are tried; of a
        categorical column the bin of each category.
    """

    fitted: FittedModel
    tree: Tree
    columns: list[Vector]
    kept: npt.NDArray[np.intp]
    weight: Vector
    objective: Objective
    rules: HistogramTree
    codings: Codings

    @classmethod
    def of(
        cls, estimator: Any, X: Any, y: Any, tree: int, sample_weight: Any, caller: str
    ) -> TreeRows:
        """Read rows, and compute what the tree was fitted to.

        Raises
        ------
        InvalidParameterError
            If the rows of the tree cannot be computed again: with dropout, target encodings, or
            medians.
        """
        fitted = FittedModel.of(estimator, caller)
        if not isinstance(estimator, (BaseBoosting, BaseForest, BaseDecisionTree)):
            raise TypeError(
                f"{caller} needs a model that was fitted tree by tree, and "
                f"{type(estimator).__name__} is a sum of models. Pass a boosting estimator, a "
                "forest or a tree."
            )
        fitted.check_leaves(caller)
        model = fitted.model
        if model.features.target_encodings:
            raise InvalidParameterError(
                f"{caller}: the training rows of this model had other target encodings than rows "
                "have afterwards. Fit with category_encoding='sets'."
            )
        n_trees = len(model.ensemble.trees)
        tree = check_argument("tree", Number(0, max(0, n_trees - 1), whole=True), tree)
        if not n_trees:
            raise ValueError("The model has no trees.")
        given = fitted.rows(X, least=1)
        target = fitted.training_target(y, sample_weight, given.n)
        weight = np.ones(given.n) if target.weight is None else target.weight
        kept = np.flatnonzero(weight > 0)
        columns = [column[kept] for column in fitted.append_derived(given.columns())]
        reader = _Reader(fitted, columns, target.y[kept], weight[kept], caller)
        objective, rules = (reader.averaged if is_average(estimator) else reader.boosted)(tree)
        has_weights = target.weight is not None and bool((target.weight[kept] != 1).any())
        return cls(
            fitted,
            model.ensemble.trees[tree],
            columns,
            kept,
            weight[kept],
            objective,
            rules,
            reader.codings(weight[kept] if has_weights else None),
        )

    def reach(self, node: int) -> npt.NDArray[np.bool_]:
        """Return which rows reach a node."""
        tree, path = self.tree, [node]
        while path[0] != 0:
            above = np.flatnonzero((tree.left == path[0]) | (tree.right == path[0]))
            path.insert(0, int(above[0]))
        reached = np.ones(len(self.weight), dtype=bool)
        for place, child in pairwise(path):
            reached &= self.goes_left(place) == (int(tree.left[place]) == child)
        return reached

    def goes_left(self, node: int) -> npt.NDArray[np.bool_]:
        """Return which rows would go left at an inner node."""
        tree, column = self.tree, int(self.tree.feature[node])
        x, counts = self.columns[column], self.fitted.model.ensemble.n_categories
        missing = np.isnan(x)
        if len(counts) and counts[column]:
            assert tree.category_sets is not None
            sides = tree.category_sets.goes_left(node, counts[column])
            left = sides[np.where(missing, 0, x).astype(np.intp)]
        else:
            left = x <= tree.threshold[node]
        return np.asarray(np.where(missing, bool(tree.missing_left[node]), left))

    def leaves(self) -> npt.NDArray[np.intp]:
        """Return the leaf that each row reaches."""
        leaf = np.zeros(len(self.weight), dtype=np.intp)
        for node in np.flatnonzero(self.tree.feature >= 0).tolist():
            here = leaf == node  # children come after their parents
            left = self.goes_left(node)
            leaf[here & left] = self.tree.left[node]
            leaf[here & ~left] = self.tree.right[node]
        return leaf

    def node_sums(self) -> Matrix:
        """Return the sums of the objective over the rows of every node."""
        tree, own = self.tree, self.objective.row_sums
        sums = np.zeros((len(tree.feature), own.shape[1]))
        np.add.at(sums, self.leaves(), own)
        for node in np.flatnonzero(tree.feature >= 0)[::-1].tolist():
            sums[node] = sums[tree.left[node]] + sums[tree.right[node]]
        return sums


@dataclass(frozen=True, eq=False)
class _Reader:
    """Computes the objective of a tree from rows and targets."""

    fitted: FittedModel
    columns: list[Vector]
    y: npt.NDArray[Any]
    weight: Vector
    caller: str

    @property
    def spec(self) -> Any:
        return fit_spec(self.fitted.estimator)

    def boosted(self, number: int) -> tuple[Objective, HistogramTree]:
        """Return the objective of a boosted tree, and its rules."""
        fitted, model, recipe = self.fitted, self.fitted.model, self.spec.recipe
        ensemble, loss = model.ensemble, fit_loss(fitted.estimator)
        if recipe.dropout.rate > 0:
            raise InvalidParameterError(
                f"{self.caller}: with dropout a tree is fitted to the gradients of a part of the "
                "earlier trees. Fit without dropout."
            )
        if recipe.correction is not None:
            raise InvalidParameterError(
                f"{self.caller}: with corrective={recipe.correction!r} later rounds change the "
                "trees, so the gradients of a round are not known. Fit with corrective=None."
            )
        m, turn = divmod(number, ensemble.trees_per_round)
        rules = self.spec.learner.trees[m % len(self.spec.learner.trees)]
        score = ensemble.score(Columns(self.columns), fitted.workers, m)
        bound = loss.bind(fitted.workers, self._scaled(loss), self.weight)
        bound.evaluate(np.asfortranarray(score))
        joint = ensemble.outputs_per_tree > 1
        pairs = np.stack(
            [
                recipe.response.of(bound, k, fitted.workers, self.weight).pairs().reshape(-1, 2)
                for k in range(loss.n_outputs if joint else turn + 1)  # outputs come in order
            ]
        ).astype(np.float64)
        if recipe.response.of_classes:
            own = self._by_class(self.weight * pairs[0, :, 0])
            return ImpurityObjective(own, rules.criterion, rules), rules
        pairs = pairs if joint else pairs[-1:]
        scale = model.scale if isinstance(model.scale, float) else 1.0
        unit = float(scale) ** ((loss.degree or 1) - 1)
        gradient, hessian = unit * pairs[..., 0], pairs[..., 1]
        sums = self.weight[:, np.newaxis] * np.concatenate([gradient, hessian]).T
        spread = (self.weight * gradient**2).sum(axis=1) / (self.weight * hessian).sum(axis=1)
        if loss.leaf_quantile is not None:
            rules = replace(rules, max_step=0.0)
        return GradientObjective(sums, rules, float(spread.sum())), rules

    def averaged(self, number: int) -> tuple[Objective, HistogramTree]:
        """Return the objective of a single tree or of a tree of a forest, and its rules."""
        model, rules, weight = self.fitted.model, self.spec.tree, self.weight
        strategy = getattr(self.fitted.estimator, "missing_strategy", "learned")
        filled = strategy != "learned" and any(np.isnan(column).any() for column in self.columns)
        beyond = {
            f"missing_strategy={strategy!r}": filled,
            f"criterion={rules.criterion!r}": rules.criterion in ("absolute_error", "poisson"),
            "monotonic_cst": self.spec.monotonic_cst is not None,
            "class_weight='balanced_subsample'": self.spec.bag.balanced,
            "several targets": self.y.ndim > 1,
        }
        for what, is_used in beyond.items():
            if is_used:
                raise InvalidParameterError(
                    f"{self.caller} needs sums over the rows of a node; with {what} a split is not "
                    "determined by them."
                )
        least = self.spec.bag.min_weight_fraction_leaf * float(weight.sum())
        rules = replace(
            rules,
            min_gain=rules.min_gain * float(weight.sum()),
            min_samples_leaf=max(rules.min_samples_leaf, least),
        )
        if model.classes is not None:
            by_sums = len(model.classes) == 2 and rules.criterion == "gini"
            own = self._by_class(weight)
            spread = 0.5 if by_sums else None
            return ImpurityObjective(own, rules.criterion, rules, spread), rules
        centred = self.y - float(model.offset)
        sums = weight[:, np.newaxis] * np.column_stack([np.ones_like(centred), centred, centred**2])
        spread = float((weight * centred**2).sum() / weight.sum())
        return ImpurityObjective(sums, "squared_error", rules, spread), rules

    def codings(self, weight: Vector | None) -> Codings:
        """Return the cuts of the columns as the fit has learned them from these rows."""
        fitted, spec = self.fitted, self.spec
        counts = fitted.model.features.n_categories_per_column()
        learner = getattr(spec, "learner", spec)
        if learner.split == "histogram":
            return learn_codings(
                fitted.workers,
                Columns(self.columns),
                weight,
                learner.max_bins,
                fitted.estimator.seed_,
                counts,
            )
        counts = counts if len(counts) else [0] * len(self.columns)
        return [np.arange(n, dtype=np.uint32) if n else None for n in counts]

    def _scaled(self, loss: Loss) -> npt.NDArray[Any]:
        if loss.degree is None:
            return self.y
        return np.asarray((self.y - self.fitted.model.offset) / self.fitted.model.scale)

    def _by_class(self, weight: Vector) -> Matrix:
        classes = self.fitted.model.classes
        assert classes is not None
        return np.asarray(
            weight[:, np.newaxis] * (self.y[:, np.newaxis] == np.arange(len(classes)))
        )
