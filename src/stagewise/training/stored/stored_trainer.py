"""The trainer of boosted models whose rows are in a dataset.

The rows are encoded batch by batch into a `RowStore`, which keeps in memory what the limit permits
and the rest in a file. Then the one loop boosts them. The model is that of the same rows in memory,
to the byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import BinLayout, RowStore
from stagewise.boosting import responses
from stagewise.boosting.loop import Boosting, boost
from stagewise.boosting.monitor import Monitor
from stagewise.boosting.recipe import BoundRecipe
from stagewise.boosting.sampling import RowFraction
from stagewise.boosting.stored_rows import StoredRows, StoredTable, StoredTreeLearner
from stagewise.data import TargetScale
from stagewise.errors import InvalidParameterError
from stagewise.exact_sums import mean_of_blocks
from stagewise.losses import Loss
from stagewise.model.model import Model
from stagewise.training.adapters.tree_adapter import TreeAdapter
from stagewise.training.fit_report import warn_if_constant
from stagewise.training.preparation import make_monitor, scale_target
from stagewise.training.reading.training_data import TrainingData
from stagewise.training.results import FitResult
from stagewise.training.specs import BoostingSpec, FitContext
from stagewise.training.stored.checkpoint import Rounds, binned_tree
from stagewise.training.stored.dataset_rows import DatasetRows
from stagewise.training.stored.fill_store import fill_store
from stagewise.training.target_encoder import chosen_encoding

__all__ = ["train_stored", "unsupported_part"]

Vector = npt.NDArray[np.float64]

CHUNK_ROWS = 1 << 16
LEAST_CHUNK_ROWS = 1 << 10


def train_stored(
    spec: BoostingSpec,
    loss: Loss,
    data: TrainingData,
    context: FitContext,
    previous: Model | None = None,
) -> FitResult:
    """Fit a boosted model to the rows of a dataset; see `train_boosting`."""
    _refuse_unsupported(spec, loss, data, previous)
    return _StoredTrainer(spec, loss, data, context).train()


def _refuse_unsupported(
    spec: BoostingSpec, loss: Loss, data: TrainingData, previous: Model | None
) -> None:
    """Raise if the fit needs rows in memory, with the parameter and the remedy."""
    encoded = chosen_encoding(spec.category_encoding, data.features, loss.n_outputs) == "target"
    what = unsupported_part(spec, loss)
    if previous is not None:
        what = "warm_start=True"
    elif encoded and what is None:
        what = "target encoding of categories (category_encoding='sets' is supported)"
    if what is not None:
        raise InvalidParameterError(
            f"A Dataset cannot be trained on with {what} yet. Change the parameter, or pass a "
            "table in memory (dataset.to_table())."
        )


def unsupported_part(spec: BoostingSpec, loss: Loss) -> str | None:
    """Return the first part of a specification that needs rows in memory; None: there is none."""
    recipe, learner = spec.recipe, spec.learner
    trees = learner.trees if isinstance(learner, TreeAdapter) else ()
    unsupported = {
        f"loss={loss.name!r}": loss.kernel is None or loss.leaf_quantile is not None,
        "a response other than 'newton'": recipe.response is not responses.newton,
        "a learner other than trees": not isinstance(learner, TreeAdapter),
        "split other than 'histogram'": isinstance(learner, TreeAdapter)
        and learner.split != "histogram",
        "leaves='linear'": isinstance(learner, TreeAdapter) and learner.linear_l2 is not None,
        "leaves='vector'": learner.vector_leaves,
        "grow_policy='symmetric'": any(tree.grow_policy == "symmetric" for tree in trees),
        f"sampling, {recipe.sampling.description}": not isinstance(recipe.sampling, RowFraction),
        "dropout": recipe.dropout.rate > 0,
        "oob_score=True": recipe.out_of_bag,
    }
    return next((what for what, is_used in unsupported.items() if is_used), None)


@dataclass(frozen=True)
class ConstantFeatures:
    """Which features have one value only, of rows that are not in memory.

    Parameters
    ----------
    layout : BinLayout
        The bins of the features.
    has_values : bool array
        Whether each feature has a value that is not missing.
    """

    layout: BinLayout
    has_values: npt.NDArray[np.bool_]

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.layout.n_features

    def value_bins(self, feature: int) -> int:
        """Return the number of bins, without that of missing values."""
        return self.layout.value_bins(feature)

    def has_missing(self, feature: int) -> bool:
        """Return whether a feature has missing values."""
        return self.layout.has_missing(feature)

    def is_constant(self, feature: int) -> bool:
        """Return whether all rows are in one bin; that of missing values counts."""
        if not self.has_values[feature]:
            return True
        return self.value_bins(feature) <= 1 and not self.has_missing(feature)


class _StoredTrainer:
    def __init__(
        self, spec: BoostingSpec, loss: Loss, data: TrainingData, context: FitContext
    ) -> None:
        self.spec, self.loss, self.data, self.context = spec, loss, data, context
        self.learner: Any = spec.learner
        train: Any = data.train
        self.train_rows: DatasetRows = train
        self.scale = (
            TargetScale(0.0, 1.0, 1.0)
            if loss.degree is None
            else TargetScale.learn_in_blocks(train.target.blocks, context.peers)
        )

    def train(self) -> FitResult:
        data, loss, features = self.data, self.loss, self.data.features
        low, high = self._check_targets()
        layout = self._layout()
        sample = self.train_rows.sample
        assert sample is not None
        constant, missing = warn_if_constant(
            ConstantFeatures(layout, sample.has_values),
            features,
            np.array([low, high]),
            data.classes,
        )
        base = self._base()
        ensemble = self.learner.new_ensemble(features, base)
        memory = self.train_rows.dataset.memory_bytes()
        valid_rows: Any = data.valid
        shares = self._shares(valid_rows)
        rows = self._store(self.train_rows, layout, base, int(memory * shares[0]), grows=True)
        valid = None
        if valid_rows is not None:
            # Other rows may have missing values where the training rows have none.
            everywhere = BinLayout(self.codings, [1] * layout.n_features)
            valid = self._store(valid_rows, everywhere, base, int(memory * shares[1]), grows=False)
        self._finish_reading()
        history = self._resume(ensemble, [rows, *([] if valid is None else [valid])])
        monitor = self._boost(features, ensemble, rows, valid, history)
        model = self.learner.model(loss, data, features, ensemble, self.scale, monitor)
        return FitResult(
            model,
            monitor.stop_reason,
            monitor.last_round,
            monitor.ended,
            constant,
            missing,
            monitor.oob_improvement,
        )

    def _check_targets(self) -> tuple[float, float]:
        """Raise unless the loss is defined for all targets; return the least and the largest."""
        own = [(y.min(), y.max()) for y, _ in self.train_rows.target.blocks()]
        blocks = [pair for pairs in self.context.peers.gather(own) for pair in pairs]
        low, high = min(low for low, _ in blocks), max(high for _, high in blocks)
        valid: Any = self.data.valid
        for rows in (self.train_rows, *([] if valid is None else [valid])):
            for y, _ in rows.target.blocks():
                self.loss.check(np.append(y, y.dtype.type(high)))
        return float(low), float(high)

    def _layout(self) -> BinLayout:
        sample = self.train_rows.sample
        assert sample is not None
        codings = sample.codings(
            self.context.workers, self.data.features, self.learner.max_bins, self.context.seed
        )
        self.codings = codings
        sample.release()
        return BinLayout(codings, sample.has_missing.astype(int).tolist())

    def _base(self) -> Vector:
        """Return the scores before the first round."""
        loss, target = self.loss, self.train_rows.target
        if self.spec.recipe.from_zero or (loss.degree is not None and loss.mean_is_best):
            return np.zeros(loss.n_outputs)
        # The best constant depends on the classes' weights, or on the mean, alone.
        if target.classes is not None:
            codes = np.arange(len(target.classes), dtype=np.int32)
            return loss.checked_best_constant(codes, target.class_weights())
        mean = mean_of_blocks(target.blocks(), self.context.peers)
        return loss.checked_best_constant(np.array([mean]), None)

    def _shares(self, valid: DatasetRows | None) -> tuple[float, float]:
        """Return the shares of the memory of the training and of the validation rows."""
        n = self.train_rows.target.placement.n_stored
        all_rows = n if valid is None else n + valid.target.placement.n_stored
        all_rows = max(1, all_rows)
        return n / all_rows, (all_rows - n) / all_rows

    def _store(
        self, rows: DatasetRows, layout: BinLayout, base: Vector, memory: int, *, grows: bool
    ) -> StoredRows:
        """Return the rows in a store."""
        workers, target = self.context.workers, rows.target
        outputs = self.loss.n_outputs
        widths = [
            layout.row_bytes,
            4 if target.classes is not None else 8,
            0 if target.weight is None else 8,
            8 * outputs,
            8 if outputs > 1 else 0,
            8 if grows or outputs == 1 else 0,
            4 if grows else 0,
        ]
        chunk = CHUNK_ROWS
        while chunk > LEAST_CHUNK_ROWS and 8 * workers.threads * chunk * sum(widths) > memory:
            chunk //= 2
        memory = max(memory, workers.threads * chunk * sum(widths))  # a chunk for every thread
        folder, placement = rows.dataset.cache_folder(), target.placement
        store = RowStore(
            placement.n_stored,
            placement.n_all,
            chunk,
            widths,
            memory,
            folder,
            workers.threads,
            placement.blocks,
        )
        scale = partial(scale_target, self.loss, self.scale)
        fill_store(store, rows, layout, scale, workers)
        store.set_scores(workers, base)
        total, whole = target.total_weight()
        table = StoredTable(store, layout, whole, total, self.context.peers)
        return StoredRows(table, placement.n_stored)

    def _finish_reading(self) -> None:
        """Add up the unknown categories of all ranks; release the rows as they were read."""
        unknown = self.context.peers.gather(Counter(self.data.unknown))
        self.data.unknown.clear()
        for counts in unknown:
            self.data.unknown.update(counts)
        if self.context.checkpoints is not None:
            self.context.checkpoints.rows_are_stored()

    def _resume(self, ensemble: Any, stored: Sequence[StoredRows]) -> Rounds:
        """Add the rounds of a checkpoint to the ensemble and to the scores; return them."""
        checkpoints = self.context.checkpoints
        rounds = None if checkpoints is None else checkpoints.load()
        if rounds is None:
            return Rounds(0, [], [], [])
        for number, tree in enumerate(rounds.trees[: rounds.n * ensemble.trees_per_round]):
            ensemble.append(tree)
            grown, value = binned_tree(stored[0].table.layout, tree)
            for rows in stored:
                rows.table.store.add_tree(
                    self.context.workers,
                    rows.table.layout,
                    grown,
                    value,
                    number % ensemble.trees_per_round,
                )
        return rounds

    def _recipe(self, features: Any) -> BoundRecipe:
        """Return the recipe of this fit: the store draws the rows of a round."""
        recipe, loss = self.spec.recipe, self.loss
        unit = 1.0 if loss.degree is None else self.scale.spread
        rules = self.learner.learner(features, loss, unit, ()).rules
        assert isinstance(recipe.sampling, RowFraction)
        return BoundRecipe(
            replace(recipe, sampling=RowFraction()),
            loss,
            StoredTreeLearner(rules, recipe.sampling.share),  # type: ignore[arg-type]
            recipe.step(loss, self.learner.max_step * unit),
            joint=False,
            unit=unit,
        )

    def _boost(
        self,
        features: Any,
        ensemble: Any,
        rows: StoredRows,
        valid: StoredRows | None,
        before: Rounds,
    ) -> Monitor:
        """Add rounds to the ensemble."""
        checkpoints = self.context.checkpoints

        def save(n: int) -> None:
            if checkpoints is not None:
                checkpoints.save(Rounds(n, ensemble.trees, monitor.train_loss, monitor.valid_loss))

        monitor = make_monitor(
            self.spec.stopping,
            self.loss,
            self.scale,
            self.context,
            stops_early=valid is not None,
            history=(before.train_loss[: before.n], before.valid_loss[: before.n]),
            save=save,
        )
        last = 0 if self.data.one_class else self.spec.stopping.n_estimators
        try:
            recipe, context = self._recipe(features), self.context
            fit = Boosting(recipe, ensemble, rows, valid, context.workers, context.seed)
            boost([fit], range(before.n, last), monitor)
        finally:
            monitor.close()
        return monitor
