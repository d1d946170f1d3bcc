"""The trainer of single trees: impute, grow until pure, prune.

However the size is chosen, the tree is grown first and pruned afterwards. Children are appended in
the order of the splits, so a tree that stops early is the grown tree, cut at the split where
growing would have stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.boosting.loop import EncodedRows
from stagewise.boosting.monitor import Monitor
from stagewise.boosting.stopping import EarlyStopping
from stagewise.learners.tree_learner import tree_of
from stagewise.losses import ClassTargetsLoss, Loss
from stagewise.losses.scores import squeeze_outputs
from stagewise.model.ensemble import Ensemble
from stagewise.training.fit_report import warn_if_constant
from stagewise.training.forest_trainer import bind_tree, forest_grower
from stagewise.training.imputation import IMPUTATIONS
from stagewise.training.preparation import (
    check_targets,
    encode_bins,
    exact_scale,
    make_model,
    make_monitor,
    new_ensemble,
    scale_target,
)
from stagewise.training.reading.folds import Folds, out_of_fold
from stagewise.training.reading.row_set import RowSet
from stagewise.training.reading.training_data import TrainingData
from stagewise.training.results import PrunedTree, TreeResult
from stagewise.training.specs import FitContext, SingleTreeSpec
from stagewise.trees.impurity import IMPURITIES, RowCosts, mean_costs
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

__all__ = ["train_tree"]

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


def train_tree(
    spec: SingleTreeSpec, loss: Loss, data: TrainingData, context: FitContext
) -> TreeResult:
    """Fit a single tree.

    Parameters
    ----------
    spec : SingleTreeSpec
        The tree and its pruning.
    loss : Loss
        Squared or absolute error; of classes, of their indicator variables.
    data : TrainingData
        The rows.
    context : FitContext
        Threads, seed and start time.
    """
    return _TreeTrainer(spec, loss, data, context).train()


@dataclass(frozen=True)
class _Grown:
    """A tree, the mean impurity of its nodes, and the strength of their links."""

    tree: Tree
    cost: Vector
    strength: Vector


class _TreeTrainer:
    pruned: PrunedTree | None = None

    def __init__(
        self, spec: SingleTreeSpec, loss: Loss, data: TrainingData, context: FitContext
    ) -> None:
        self.spec, self.loss, self.context = spec, loss, context
        kind = IMPUTATIONS[spec.missing_strategy]
        self.imputation = kind(data.train, data.features, context.seed)
        train = self.imputation.fill(data.train, 0)
        valid = None if data.valid is None else self.imputation.fill(data.valid, 1)
        self.data = replace(data, train=train, valid=valid)
        self.scale = exact_scale(loss, train, spec.tree.criterion)

    def train(self) -> TreeResult:
        """Grow and prune the tree."""
        loss, data, context = self.loss, self.data, self.context
        check_targets(loss, data)
        rows, bins = self._encode(data.train)
        constant, missing = warn_if_constant(bins[0], data.features, data.train.y, data.classes)
        joint = loss.n_outputs > 1
        ensemble = new_ensemble(data.features, np.zeros(loss.n_outputs), joint=joint)
        monitor = make_monitor(self.spec.stopping, loss, self.scale, context, stops_early=False)
        oof_scores = None
        if not data.one_class:
            tree, oof_scores = self._grow_and_prune(rows, monitor)
            ensemble.append(tree)
        monitor.close()
        return TreeResult(
            make_model(loss, data, data.features, ensemble, self.scale, monitor),
            monitor.stop_reason,
            0 if data.one_class else 1,
            monitor.ended,
            constant,
            missing,
            oof_scores=oof_scores,
            pruned=self.pruned,
        )

    def _encode(self, rows: RowSet) -> tuple[EncodedRows, Any]:
        table = rows.table()
        spec, features = self.spec, self.data.features
        bins, _ = encode_bins(
            [table], rows.weight, features, spec.split, spec.max_bins, self.context
        )
        y = scale_target(self.loss, self.scale, rows.y)
        return EncodedRows(bins, y, rows.weight, np.zeros((len(y), 1)), table), bins

    def _grow_and_prune(
        self, rows: EncodedRows, monitor: Monitor
    ) -> tuple[Tree, npt.NDArray[np.float64] | None]:
        if self.spec.pruning == "cost_complexity":
            grown = self._linked(self._grow(rows), rows)
            return self._prune_by_alpha(grown, rows, monitor)
        tree = self._grow(rows)
        self.pruned = PrunedTree(_n_leaves(tree))
        if self.spec.pruning == "reduced_error":
            return self._prune_by_errors(tree, monitor), None
        if self.spec.pruning == "early_stopping":
            return self._stop_early(tree, monitor), None
        return tree, None

    def _grow(self, rows: EncodedRows) -> Tree:
        (bins,) = rows.table
        tree = bind_tree(self.spec, self.data.features, rows, self.loss, self.scale)
        grower = forest_grower(tree, self.spec.bag, rows, bins, self.loss, self.data, self.context)
        ((grown, _, _),) = grower.grow(self.context.seed, 0, 1, False)
        return self.imputation.set_missing_sides(tree_of(grown))

    # ---- costs of nodes --------------------------------------------------------------------------

    def _leaves(self, tree: Tree, columns: Any) -> Indices:
        """Return the leaf that each row reaches."""
        width = self.loss.n_outputs
        categories = self.data.features.n_categories_per_column()
        alone = Ensemble(columns.n_features, np.zeros(width), [tree], categories, width)
        out = np.empty(columns.n_rows, dtype=np.int32)
        alone.forest.leaves(self.context.workers, columns, out)
        return out.astype(np.intp)

    def _costs(self, tree: Tree, criterion: str, y: npt.NDArray[Any]) -> RowCosts:
        """Return the costs of rows, in units of the scaled target."""
        predicted = self.loss.mean(squeeze_outputs(tree.value.reshape(len(tree.feature), -1)))
        if isinstance(self.loss, ClassTargetsLoss):
            each = enumerate(self.loss.split(predicted))
            return mean_costs([IMPURITIES[criterion](own, y[:, k]) for k, own in each])
        return IMPURITIES[criterion](predicted, y)

    def _unit(self) -> float:
        """Return the unit of costs, a power of two, in units of the target."""
        return self.scale.loss_unit(self.loss.degree or 0)

    def _criterion(self) -> str:
        """Return the impurity that the tree lowers."""
        name = self.spec.tree.criterion
        is_number = not self.data.of_classes and name == "gini"
        return "squared_error" if is_number else name

    def _error(self) -> str:
        """Return the error of held-out rows: of classes, the fraction of wrong predictions."""
        return "misclassification" if self.data.of_classes else self._criterion()

    def _linked(self, tree: Tree, rows: EncodedRows) -> _Grown:
        costs = self._costs(tree, self._criterion(), rows.y)
        leaf = self._leaves(tree, rows.source)
        cost = node_costs(tree, leaf, costs, rows.weight) / rows.total_weight
        return _Grown(tree, cost, weakest_links(tree, cost))

    # ---- pruning ---------------------------------------------------------------------------------

    def _prune_by_alpha(
        self, grown: _Grown, rows: EncodedRows, monitor: Monitor
    ) -> tuple[Tree, npt.NDArray[np.float64] | None]:
        """Return T(α), for the α that was passed or for the one that the folds choose."""
        tree, unit = grown.tree, self._unit()
        path, oof_scores = pruning_path(tree, grown.cost, grown.strength), None
        if self.data.folds is None:
            alpha = self.spec.ccp_alpha / unit
        else:
            path, alpha, oof_scores = self._cross_validate(self.data.folds, path, rows)
            assert path.errors is not None
            monitor.record_losses((unit * path.errors).tolist())
        self.pruned = PrunedTree(_n_leaves(tree), alpha * unit, path.in_units(unit))
        return prune(tree, (tree.feature >= 0) & (grown.strength <= alpha)), oof_scores

    def _prune_by_errors(self, tree: Tree, monitor: Monitor) -> Tree:
        """Return the tree without the splits that do not lower the error of held-out rows."""
        held = self._held_out()
        costs = self._costs(tree, self._error(), held.y)
        cost = node_costs(tree, self._leaves(tree, held.source), costs, held.weight)
        at = reduced_error_nodes(tree, cost)
        small = prune(tree, at)
        kept = pruned_node_of(tree, at) == np.arange(len(at))
        leaf = kept & (at | (tree.feature < 0))
        monitor.record_losses([self._unit() * float(cost[leaf].sum()) / held.total_weight])
        return small

    def _stop_early(self, tree: Tree, monitor: Monitor) -> Tree:
        """Return the tree before the splits that no longer lower the loss of held-out rows."""
        held, loss, value = self._held_out(), self.loss, tree.value.reshape(len(tree.feature), -1)
        unit, stopping = self._unit(), self.spec.stopping
        cost = node_costs(
            tree,
            self._leaves(tree, held.source),
            lambda some, nodes: unit * loss.loss(held.y[some], squeeze_outputs(value[nodes])),
            held.weight,
        )
        order = split_order(tree)
        change = cost[tree.left[order]] + cost[tree.right[order]] - cost[order]
        curve = (cost[0] + np.append(0.0, np.cumsum(change))) / held.total_weight
        early = EarlyStopping(stopping.n_iter_no_change, stopping.tol)
        stop = next(
            (s for s, loss in enumerate(curve.tolist()) if early.should_stop(s + 1, loss)), None
        )
        if stop is not None:
            splits = stopping.n_iter_no_change
            monitor.stop_reason = f"no better validation loss for {splits} splits"
            curve = curve[: stop + 1]
        monitor.record_losses(curve.tolist())
        at = np.zeros(len(tree.feature), dtype=bool)
        at[order[early.best_round - 1 :]] = True
        return prune(tree, at)

    def _held_out(self) -> EncodedRows:
        valid = self.data.valid
        assert valid is not None
        y = scale_target(self.loss, self.scale, valid.y)
        return EncodedRows([], y, valid.weight, np.zeros((len(y), 1)), valid.table())

    # ---- the choice of α -------------------------------------------------------------------------

    def _cross_validate(
        self, folds: Folds, path: PruningPath, rows: EncodedRows
    ) -> tuple[PruningPath, float, npt.NDArray[np.float64]]:
        """Choose α by the held-out rows of the folds; return the path, α, and their scores.

        Between α_k and α_(k+1) the tree of all rows is T(α_k). The trees of the folds are pruned by
        the geometric mean of both, as typical of that range (Breiman et al. 1984, section 3.4.2).
        """
        train = self.data.train
        last = np.finfo(np.float64).max  # beyond the last α only roots are left
        typical = np.append(np.sqrt(path.alphas[:-1]) * np.sqrt(path.alphas[1:]), last)
        sums, found = np.zeros((2, len(typical))), []
        for learned, held in folds:
            fold, _ = self._encode(train.part(learned))
            other = train.part(held)
            grown = self._linked(self._grow(fold), fold)
            leaf = self._leaves(grown.tree, other.table())
            y = scale_target(self.loss, self.scale, other.y)
            costs = self._costs(grown.tree, self._error(), y)
            sums += path_costs(grown.tree, grown.strength, leaf, costs, other.weight, typical)
            found.append((grown, leaf))
        n = rows.total_weight
        error = sums[0] / n
        spread = np.sqrt(np.maximum(sums[1] / n - error**2, 0.0) / n)
        best = _last_within(error, float(error.min()))
        if self.spec.one_standard_error:
            best = _last_within(error, float(error[best] + spread[best]))
        scores = []
        for grown, leaf in found:
            node = pruned_node_of(grown.tree, grown.strength <= typical[best])[leaf]
            scores.append(grown.tree.value.reshape(len(grown.strength), -1)[node])
        chosen = replace(path, errors=error, standard_errors=spread)
        return chosen, float(path.alphas[best]), out_of_fold(folds, scores, len(train.y))


def _n_leaves(tree: Tree) -> int:
    return int((tree.feature < 0).sum())


def _last_within(error: Vector, limit: float) -> int:
    """Return the last of some errors that is not above a limit by more than rounding."""
    return int(np.flatnonzero(error <= limit + 1e-12 * abs(limit))[-1])
