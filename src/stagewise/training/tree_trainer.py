"""One fit of a single tree: fill, grow to the end, cut back.

The one idea: however its size is chosen, the tree is grown first and cut afterwards. Growing adds
children in the order of the splits, so also a tree that stops early is a large one, cut back to
where growing would have stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import SparseColumns
from stagewise.boosting.loop import Rows
from stagewise.boosting.monitor import Monitor
from stagewise.boosting.stopping import Patience
from stagewise.learners.histogram_tree import tree_of
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model
from stagewise.training.forest_trainer import CommitteeFit
from stagewise.training.imputation import FILLINGS
from stagewise.training.ready import Ready, Scale
from stagewise.training.row_set import Folds, Sample, out_of_fold
from stagewise.trees.impurity import IMPURITIES, RowCosts
from stagewise.trees.pruning import (
    PruningPath,
    node_costs,
    path_costs,
    prune,
    pruned_node_of,
    pruning_path,
    reduced_error_nodes,
    split_order,
    weakest_links,
)
from stagewise.trees.tree import Tree
from stagewise.validation.tree_needs import check_sparse

__all__ = ["Pruned", "TreeFit"]

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Pruned:
    """What became of a tree after it was grown.

    Attributes
    ----------
    grown_leaves : int
        How many leaves it had.
    alpha : float or None
        Which α it was pruned by, if it was by one.
    path : PruningPath or None
        What other αs would have given.
    """

    grown_leaves: int
    alpha: float | None = None
    path: PruningPath | None = None


@dataclass(frozen=True)
class _Grown:
    """A tree with the strength of its links; impurities are means over all rows."""

    tree: Tree
    cost: Vector
    strength: Vector


class TreeFit(CommitteeFit):
    """The same for one tree."""

    pruned: Pruned | None = None
    grown: _Grown | None = None
    """The tree of all rows, where folds have asked for it already."""
    chosen: PruningPath | None = None
    alpha: float | None = None

    def run(
        self,
        train: Sample,
        valid: Sample | None,
        features: Any,
        classes: npt.NDArray[Any] | None,
        previous: Model | None,
        folds: Folds | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Fill, grow and cut; return the model, with what was noticed on the way."""
        if isinstance(train.columns, SparseColumns):
            check_sparse(self.params)
        self.classes = classes
        self.filling = FILLINGS[self.params["missing"]](train, features, self.seed)
        train = self.filling.fill(train, 0)
        valid = None if valid is None else self.filling.fill(valid, 1)
        if classes is not None and len(classes) == 1:
            folds = None
        return super().run(train, valid, features, classes, previous, folds)

    def _noticed(self, monitor: Monitor, ready: Ready) -> dict[str, Any]:
        told = {**super()._noticed(monitor, ready), "pruned": self.pruned}
        told["rounds_run"] = 0 if self.pruned is None else 1
        del told["out_of_bag_average"], told["judged_by_held_out_rows"]  # it has seen all rows
        return told

    def _growth(self) -> str:
        return str(self.params["growth"])

    def _boost(self, ready: Ready, ensemble: Ensemble) -> Monitor:
        rows, held, scale, classes = ready.rows, ready.held, ready.scale, ready.classes
        monitor = self._monitor(scale, patient=False, previous=None)
        if classes is None or len(classes) > 1:
            tree = self._grow(rows, scale) if self.grown is None else self.grown.tree
            cut_back = {
                None: self._whole,
                "cost_complexity": self._by_alpha,
                "reduced_error": self._by_errors,
                "early_stopping": self._by_patience,
            }[self.params["pruning"]]
            ensemble.append(cut_back(tree, rows, held, scale, monitor))
        monitor.close()
        return monitor

    def _grow(self, rows: Rows, scale: Scale) -> Tree:
        committee = self._committee(rows, scale, self.classes)
        ((grown, _, _),) = committee.grow(self.seed, 0, 1, False)
        return self.filling.settle(tree_of(grown))

    # ---- what nodes cost -----------------------------------------------------------------------

    def _leaves(self, tree: Tree, columns: Any) -> Indices:
        """Return the leaf that each row reaches."""
        n_features, width = columns.n_features, self.loss.n_outputs if self._joint() else 1
        levels = self.features.n_categories_per_column()
        alone = Ensemble(n_features, np.zeros(self.loss.n_outputs), [tree], levels, width)
        out = np.empty(columns.n_rows, dtype=np.int32)
        alone.forest.leaves(self.workers, columns, out)
        return out.astype(np.intp)

    def _costs(self, tree: Tree, criterion: str, y: npt.NDArray[Any]) -> RowCosts:
        """Return the costs of rows, in units of the scaled target."""
        said = self.loss.mean(tree.value.reshape(len(tree.feature), -1).T)
        return IMPURITIES[criterion](said, y)

    def _unit(self, scale: Scale) -> float:
        """Return the unit of costs, a power of two, in units of the target."""
        return scale.loss_unit(self.loss.degree or 0)

    def _error(self) -> str:
        """Return by what held-out rows judge: classes by the share of wrong answers."""
        return "misclassification" if self.classes is not None else str(self.params["criterion"])

    def _linked(self, tree: Tree, rows: Rows) -> _Grown:
        costs = self._costs(tree, self.params["criterion"], rows.y)
        leaf = self._leaves(tree, rows.source)
        cost = node_costs(tree, leaf, costs, rows.weight) / rows.total_weight
        return _Grown(tree, cost, weakest_links(tree, cost))

    # ---- ways to cut ---------------------------------------------------------------------------

    def _whole(self, tree: Tree, *_: Any) -> Tree:
        self.pruned = Pruned(_n_leaves(tree))
        return tree

    def _by_alpha(
        self, tree: Tree, rows: Rows, held: Rows | None, scale: Scale, monitor: Monitor
    ) -> Tree:
        """Return T(α): for an α that was given, or for that of the folds."""
        grown, unit = self.grown or self._linked(tree, rows), self._unit(scale)
        path = self.chosen or pruning_path(tree, grown.cost, grown.strength)
        alpha = self.params["ccp_alpha"] / unit if self.alpha is None else self.alpha
        self.pruned = Pruned(_n_leaves(tree), alpha * unit, path.in_units(unit))
        return prune(tree, (tree.feature >= 0) & (grown.strength <= alpha))

    def _by_errors(
        self, tree: Tree, rows: Rows, held: Rows | None, scale: Scale, monitor: Monitor
    ) -> Tree:
        assert held is not None
        costs = self._costs(tree, self._error(), held.y)
        cost = node_costs(tree, self._leaves(tree, held.source), costs, held.weight)
        at = reduced_error_nodes(tree, cost)
        small = prune(tree, at)
        kept = pruned_node_of(tree, at) == np.arange(len(at))
        leaf = kept & (at | (tree.feature < 0))
        monitor.valid_loss = [self._unit(scale) * float(cost[leaf].sum()) / held.total_weight]
        self.pruned = Pruned(_n_leaves(tree))
        return small

    def _by_patience(
        self, tree: Tree, rows: Rows, held: Rows | None, scale: Scale, monitor: Monitor
    ) -> Tree:
        """Return the tree as it was before splits no longer helped held-out rows."""
        assert held is not None
        p, loss, value = self.params, self.loss, tree.value.reshape(len(tree.feature), -1)
        unit = self._unit(scale)
        cost = node_costs(
            tree,
            self._leaves(tree, held.source),
            lambda some, nodes: unit * loss.loss(held.y[some], value[nodes].T),
            held.weight,
        )
        order = split_order(tree)
        change = cost[tree.left[order]] + cost[tree.right[order]] - cost[order]
        curve = (cost[0] + np.append(0.0, np.cumsum(change))) / held.total_weight
        patience = Patience(p["patience"], p["tol"])
        stop = next(
            (s for s, loss in enumerate(curve.tolist()) if patience.exhausted(s + 1, loss)), None
        )
        if stop is not None:
            monitor.stopped_because = f"no better validation loss for {p['patience']} splits"
            curve = curve[: stop + 1]
        monitor.valid_loss = curve.tolist()
        self.pruned = Pruned(_n_leaves(tree))
        at = np.zeros(len(tree.feature), dtype=bool)
        at[order[patience.best_round - 1 :]] = True
        return prune(tree, at)

    # ---- the choice of α -----------------------------------------------------------------------

    def _cross_validate(
        self, folds: Folds, ready: Ready
    ) -> tuple[Monitor, npt.NDArray[np.float64]]:
        """Choose α by the rows that the trees of the folds have not seen.

        Between α_k and α_(k+1) the tree of all rows is T(α_k). The trees of the folds are pruned by
        the geometric mean of both, as typical of that range (Breiman et al. 1984, section 3.4.2).
        """
        train, rows, scale = ready.train, ready.rows, ready.scale
        self.grown = whole = self._linked(self._grow(rows, scale), rows)
        path = pruning_path(whole.tree, whole.cost, whole.strength)
        last = np.finfo(np.float64).max  # beyond the last one all that is left are roots
        typical = np.append(np.sqrt(path.alphas[:-1]) * np.sqrt(path.alphas[1:]), last)
        sums, found = np.zeros((2, len(typical))), []
        for learned, held in folds:
            own, other = train.part(learned), train.part(held)
            (bins, *_), _ = self._bins([own.table()], own.weight, ready.features)
            y = self._standardise(scale, own.y)
            fold = Rows([bins], y, own.weight, np.zeros((1, len(y))), own.table())
            grown = self._linked(self._grow(fold, scale), fold)
            leaf = self._leaves(grown.tree, other.table())
            y = self._standardise(scale, other.y)
            costs = self._costs(grown.tree, self._error(), y)
            sums += path_costs(grown.tree, grown.strength, leaf, costs, other.weight, typical)
            found.append((grown, leaf))
        n = rows.total_weight
        error = sums[0] / n
        spread = np.sqrt(np.maximum(sums[1] / n - error**2, 0.0) / n)
        best = _last_within(error, float(error.min()))
        if self.params["one_standard_error"]:
            best = _last_within(error, float(error[best] + spread[best]))
        self.chosen = replace(path, errors=error, standard_errors=spread)
        self.alpha = float(path.alphas[best])
        monitor = self._monitor(scale, patient=False, previous=None)
        monitor.after_round(1, None, None)
        monitor.valid_loss = (self._unit(scale) * error).tolist()
        said = []
        for grown, leaf in found:
            node = pruned_node_of(grown.tree, grown.strength <= typical[best])[leaf]
            said.append(grown.tree.value.reshape(len(grown.strength), -1)[node].T)
        return monitor, out_of_fold(folds, said, len(train.y))


def _n_leaves(tree: Tree) -> int:
    return int((tree.feature < 0).sum())


def _last_within(error: Vector, limit: float) -> int:
    """Return the last of some errors that is not above a limit by more than rounding."""
    return int(np.flatnonzero(error <= limit + 1e-12 * abs(limit))[-1])
