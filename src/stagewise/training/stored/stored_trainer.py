"""The trainer of boosted models whose rows are in a dataset.

The rows are encoded batch by batch into a `RowStore`, which keeps in memory what the limit permits
and the rest in a file. Then the one loop boosts them. The model is that of the same rows in memory,
to the byte.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import BinLayout, RowStore
from stagewise.boosting.loop import Boosting, MeasuredRows, boost
from stagewise.boosting.monitor import HELD_OUT, Monitor
from stagewise.boosting.recipe import BoundRecipe
from stagewise.boosting.sampling import RowFraction
from stagewise.boosting.stored_loss import state_bytes
from stagewise.boosting.stored_rows import (
    LEAVES_PER_PASS,
    StoredRows,
    StoredTable,
    StoredTreeLearner,
)
from stagewise.boosting.stored_sampling import StoredSampling, draws_by_importance
from stagewise.data import Features, TargetScale
from stagewise.datasets.memory import format_bytes
from stagewise.errors import InvalidParameterError
from stagewise.exact_sums import mean_of_blocks
from stagewise.losses import Loss
from stagewise.training.fit_report import warn_if_constant
from stagewise.training.preparation import (
    choose_rounds,
    given_base,
    make_monitor,
    named_numbers,
    scale_target,
    start_at,
)
from stagewise.training.reading.folds import MANY_ROWS
from stagewise.training.results import FitResult
from stagewise.training.specs import BoostingSpec, FitContext
from stagewise.training.stored.checkpoint import Rounds, binned_tree
from stagewise.training.stored.coding import Coding, ConstantFeatures
from stagewise.training.stored.dataset_encoder import DatasetEncoder
from stagewise.training.stored.dataset_rows import Codings, DatasetRows
from stagewise.training.stored.dataset_target import DatasetTarget
from stagewise.training.stored.fill_store import Append, fill_store, fill_weights
from stagewise.training.stored.hold_out import DatasetFold
from stagewise.training.stored.needs_memory import NeedsRowsInMemoryError
from stagewise.training.stored.read_dataset import DatasetTrainingData
from stagewise.training.target_encoder import TargetEncoder, single_sources

__all__ = ["train_stored"]

Vector = npt.NDArray[np.float64]

MOST_CHUNK_ROWS, LEAST_CHUNK_ROWS = 1 << 16, 1 << 10
TARGET_NUMBERS = 6
"""The numbers of a row, besides those of each score, from which a best constant is computed."""
CHUNK_BYTES, CACHED_CHUNK_ROWS = 1 << 19, 1 << 12
"""The codes of a chunk stay in a second-level cache: it has at most this many bytes of them, unless
it has so few rows."""


def train_stored(
    spec: BoostingSpec, loss: Loss, data: DatasetTrainingData, context: FitContext
) -> FitResult:
    """Fit a boosted model to the rows of a dataset; see `train_boosting`.

    Raises
    ------
    NeedsRowsInMemoryError
        If categories must be target-encoded in a way that needs all rows.
    """
    return _StoredTrainer(spec, loss, data, context).train()


class _StoredTrainer:
    def __init__(
        self, spec: BoostingSpec, loss: Loss, data: DatasetTrainingData, context: FitContext
    ) -> None:
        self.spec, self.data, self.context = spec, data, context
        self.learner: Any = spec.learner
        train: Any = data.train
        self.train_rows: DatasetRows = train
        self.scale: Any = TargetScale(0.0, 1.0, 1.0)
        if loss.degree is not None:
            learned = TargetScale.learn_in_blocks(train.target.blocks, context.peers)
            learned = learned.with_deviation() if loss.degree == 0 else learned
            self.scale = start_at(learned, spec.recipe.start_of(loss))
        self.loss = loss.in_units(self.scale.unit)

    def train(self) -> FitResult:
        data, fold = self.data, self.data.fold
        self.encoder = self._encoder()
        codings = self._codings()
        coding = self._coding(codings, None)
        low, high = self._target_range()
        sample = self.train_rows.sample
        assert sample is not None
        constant, missing = warn_if_constant(
            ConstantFeatures(coding.layout, sample.has_values),
            coding.features,
            np.array([low, high]),
            data.classes,
        )
        choice, search = None, None
        if fold is None:
            valid: Any = data.valid
            rows, held = self._fill_stores(coding, valid)
        else:
            of_fold = coding if self.encoder is None else self._coding(codings, fold.learned)
            held_out: Any = fold.held
            rows, held = self._fill_stores(of_fold, held_out, reweighted=True)
            assert held is not None
            search = self._search(fold, of_fold, rows, held)
            held = None
            if of_fold is not coding:
                del rows
                rows, _ = self._fill_stores(coding, None)
            choice = choose_rounds(self.spec.hold_out, data, search)
            stopping = replace(self.spec.stopping, n_estimators=choice.rounds)
            self.spec = replace(self.spec, stopping=stopping)
        self._finish_reading()
        ensemble = self.learner.new_ensemble(coding.features, self._base())
        monitor = self._boost("model", coding, ensemble, rows, held)
        if search is not None:
            monitor.take_search(search)
        model = self.learner.model(self.loss, data, coding.features, ensemble, self.scale, monitor)
        return FitResult(
            replace(model, learned=self._learned()) if self.loss.learns else model,
            monitor.stop_reason,
            monitor.last_round,
            monitor.ended,
            constant,
            missing,
            monitor.oob_improvement,
            chosen=choice,
            evals=monitor.evals,
        )

    def _search(
        self, fold: DatasetFold, coding: Coding, rows: StoredRows, held: StoredRows
    ) -> Monitor:
        """Boost the model of the fold: its rows have their weights, and the others weight 0."""
        target, learned, store = self.train_rows.target, fold.learned, rows.table.store
        assert learned.row_parts is not None
        fill_weights(store, self.train_rows, target.flags(learned.row_parts))
        total, whole = learned.total_weight()
        table = replace(rows.table, total_weight=total, whole_weights=whole, has_absent_rows=True)
        ensemble = self.learner.new_ensemble(coding.features, self._fold_base(learned))
        stored = replace(rows, table=table)
        monitor = self._boost("search", coding, ensemble, stored, held, folds=1)
        if target.weight is None:
            store.drop_weights()
        else:
            fill_weights(store, self.train_rows, None)
        return monitor

    def _target_range(self) -> tuple[float, float]:
        """Return the least and the largest target."""
        own = [(y.min(), y.max()) for y, _ in self.train_rows.target.blocks()]
        blocks = [pair for pairs in self.context.peers.gather(own) for pair in pairs]
        low, high = min(low for low, _ in blocks), max(high for _, high in blocks)
        return float(low), float(high)

    def _encoder(self) -> DatasetEncoder | None:
        """Return the target encoder; None: there are no target encodings."""
        spec, loss, context, rows = self.spec, self.loss, self.context, self.train_rows
        alone = single_sources(spec.category_encoding, self.data.features, loss.n_outputs)
        if not alone:
            return None
        if spec.n_orderings > 1 or rows.n_rows <= MANY_ROWS:
            few = f" with at most {MANY_ROWS:,} rows"
            raise NeedsRowsInMemoryError(
                f"target encoding{few if spec.n_orderings == 1 else ' with several orders'}",
                "set category_encoding='sets'",
            )
        return DatasetEncoder.choose(
            TargetEncoder(context.workers, loss, context.seed),
            alone,
            rows,
            self.data.features,
            partial(scale_target, loss, self.scale),
            self._best_constant(rows.target),
            self.learner.max_bins,
        )

    def _codings(self) -> Codings:
        """Return the coding of each feature."""
        sample = self.train_rows.sample
        assert sample is not None
        codings = sample.codings(
            self.context.workers, self.data.features, self.learner.max_bins, self.context.seed
        )
        sample.release()
        return codings

    def _coding(self, codings: Codings, learned: DatasetTarget | None) -> Coding:
        """Return how rows become codes; target encodings are those of some rows (None: all)."""
        features, sample, encoded = self.data.features, self.train_rows.sample, None
        assert sample is not None
        missing = sample.has_missing.astype(int).tolist()
        if self.encoder is not None:
            target = self.train_rows.target if learned is None else learned
            encoded = self.encoder.learn(learned, self._best_constant(target))
            features = features.with_target_encodings(encoded.fitted.encodings())
            codings = [*codings, *encoded.cuts]
            missing += [0] * len(encoded.cuts)
        return Coding(features, codings, BinLayout(codings, missing), encoded)

    def _base(self) -> Vector:
        """Return the scores before the first round."""
        base = given_base(self.spec.recipe, self.loss, of_all_rows=True)
        return self._best_constant(self.train_rows.target) if base is None else base

    def _fold_base(self, learned: DatasetTarget) -> Vector:
        """Return the scores before the first round of a fold: the offset is not its mean."""
        base = given_base(self.spec.recipe, self.loss, of_all_rows=False)
        return self._best_constant(learned) if base is None else base

    def _best_constant(self, target: DatasetTarget) -> Vector:
        """Return the best constant, which depends on the weights of classes, or on the mean."""
        loss = self.loss
        if loss.kernel is None:
            self._check_memory_of_targets(target)
            y, weight = target.everywhere()
            return loss.checked_best_constant(scale_target(loss, self.scale, y), weight)
        if target.classes is not None:
            codes = np.arange(len(target.classes), dtype=np.int32)
            return loss.checked_best_constant(codes, target.class_weights())
        blocks = ((scale_target(loss, self.scale, y), w) for y, w in target.blocks())
        mean = mean_of_blocks(blocks, self.context.peers)
        return loss.checked_best_constant(np.array([mean]), None)

    def _check_memory_of_targets(self, target: DatasetTarget) -> None:
        """Raise unless the targets of all rows fit into the memory of every rank."""
        outputs = self.loss.n_outputs
        needed = target.n_rows * 8 * (TARGET_NUMBERS + outputs * (outputs + 2))
        limit = min(target.peers.gather(self.train_rows.dataset.limit()))
        if needed > limit:
            raise InvalidParameterError(
                f"The best constant of loss={self.loss.name!r} is computed from the targets of all "
                f"rows: about {format_bytes(needed)} for {target.n_rows:,} rows, and the limit is "
                f"{format_bytes(limit)}. Set init='zero', or a larger limit."
            )

    def _learned(self) -> dict[str, Vector]:
        """Return what the loss learns: the rows of such a loss have no part in it."""
        nothing = np.empty(0)
        return named_numbers(self.loss.learn(nothing, None, nothing))

    def _fill_stores(
        self, coding: Coding, others: DatasetRows | None, *, reweighted: bool = False
    ) -> tuple[StoredRows, StoredRows | None]:
        """Return the training rows and the held-out or validation rows in stores.

        With `reweighted`, the training rows get other weights later.
        """
        layout, target = coding.layout, self.train_rows.target
        memory = self.train_rows.dataset.memory_bytes()
        memory = max(memory // 2, memory - self._histogram_bytes(layout))
        n, n_others = target.placement.n_stored, 0
        if others is not None:
            n_others = others.target.placement.n_stored
        share = n / max(1, n + n_others)
        weighted = target.weight is not None or reweighted
        rows = self._store(
            self.train_rows,
            layout,
            coding.append,
            int(memory * share),
            grows=True,
            weighted=weighted,
        )
        if others is None:
            return rows, None
        # Other rows may have missing values where the training rows have none.
        everywhere = BinLayout(coding.codings, [1] * layout.n_features)
        held = self._store(
            others,
            everywhere,
            coding.append_to_others,
            int(memory * (1 - share)),
            grows=False,
            weighted=others.target.weight is not None,
        )
        return rows, held

    def _histogram_bytes(self, layout: BinLayout) -> int:
        """Return the memory of the histograms of a tree, of all its leaves and of the threads."""
        bins = sum(layout.value_bins(f) + 1 for f in range(layout.n_features))
        n = self.train_rows.n_rows
        leaves = max(
            min(
                tree.max_leaf_nodes or n,
                2 ** min(tree.max_depth or 62, 62),
                1 + n // max(1, int(tree.min_samples_leaf)),
            )
            for tree in self.learner.trees
        )
        threads = self.context.workers.threads
        return int(8 * bins * (leaves + LEAVES_PER_PASS * threads))

    def _store(
        self,
        rows: DatasetRows,
        layout: BinLayout,
        append: Append,
        memory: int,
        *,
        grows: bool,
        weighted: bool,
    ) -> StoredRows:
        """Return the rows in a store."""
        workers, target = self.context.workers, rows.target
        outputs, sampling = self.loss.n_outputs, self.spec.recipe.sampling
        widths = [
            layout.row_bytes,
            4 if target.classes is not None else 8,
            8 if weighted else 0,
            8 * outputs,
            state_bytes(self.loss) if grows or self.loss.kernel is not None else 0,
            8 if grows or outputs == 1 else 0,
            4 if grows else 0,
            8 if grows and draws_by_importance(sampling) else 0,
            4 if grows and sampling.multiplies else 0,
        ]
        chunk = MOST_CHUNK_ROWS
        while chunk > CACHED_CHUNK_ROWS and chunk * layout.row_bytes > CHUNK_BYTES:
            chunk //= 2
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
        fill_store(store, rows, layout, scale, append, workers)
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

    def _resume(self, stage: str, ensemble: Any, stored: Sequence[StoredRows]) -> Rounds:
        """Add the rounds of a checkpoint to the ensemble and to the scores; return them."""
        workers, checkpoints = self.context.workers, self.context.checkpoints
        for rows in stored:
            rows.table.store.set_scores(workers, ensemble.base)
        rounds = None if checkpoints is None else checkpoints.load(stage)
        if rounds is None:
            return Rounds(0, [], [], [])
        for number, tree in enumerate(rounds.trees):
            ensemble.append(tree)
            grown, value = binned_tree(stored[0].table.layout, tree)
            output = number % ensemble.trees_per_round
            for rows in stored:
                table = rows.table
                table.store.add_tree(workers, table.layout, grown, value, output)
        return rounds

    def _check_resumed(self, rounds: Rounds, train_loss: float) -> None:
        """Raise ValueError unless the rows have the training loss of the checkpoint."""
        if rounds.n and not math.isclose(train_loss, rounds.train_loss[-1], rel_tol=1e-9):
            raise ValueError(
                f"The rows are not those of the checkpoint: after round {rounds.n} their training "
                f"loss was {rounds.train_loss[-1]:.10g}, and now it is {train_loss:.10g}. A file "
                "has changed. Restore it, or use another folder for the checkpoint."
            )

    def _recipe(self, features: Features, table: StoredTable) -> BoundRecipe:
        """Return the recipe of this fit: the store draws the rows of a round."""
        recipe, loss = self.spec.recipe, self.loss
        rules = self.learner.learner(features, loss, self.scale.unit, ()).rules
        sampling = recipe.sampling
        share = sampling.share if isinstance(sampling, RowFraction) else 1.0
        return BoundRecipe(
            replace(recipe, sampling=StoredSampling(sampling, table)),  # type: ignore[arg-type]
            loss,
            StoredTreeLearner(rules, share, sampling.multiplies),  # type: ignore[arg-type]
            recipe.step(loss, self.learner.max_step(self.scale)),
            joint=False,
            spread=self.scale.spread,
        )

    def _boost(
        self,
        stage: str,
        coding: Coding,
        ensemble: Any,
        rows: StoredRows,
        valid: StoredRows | None,
        folds: int | None = None,
    ) -> Monitor:
        """Add rounds to the ensemble, from the last one of a checkpoint on."""
        checkpoints, stopping = self.context.checkpoints, self.spec.stopping
        before = self._resume(stage, ensemble, [rows, *([] if valid is None else [valid])])

        def save(n: int) -> None:
            if checkpoints is not None:
                # Copies: later rounds are added, and those after the best one removed in the end.
                lists = ensemble.trees, monitor.train_loss, monitor.valid_loss
                checkpoints.save(stage, Rounds(n, *(list(own) for own in lists)))

        monitor = make_monitor(
            stopping,
            self.loss,
            self.scale,
            self.context,
            stops_early=valid is not None,
            folds=folds,
            history=(list(before.train_loss), list(before.valid_loss)),
            save=save,
        )
        last = 0 if self.data.one_class else stopping.n_estimators
        try:
            recipe, context = self._recipe(coding.features, rows.table), self.context
            measured = [] if valid is None else [MeasuredRows(HELD_OUT, valid)]
            fit = Boosting(recipe, ensemble, rows, measured, context.workers, context.seed)
            self._check_resumed(before, monitor.scaled_loss(fit.train_loss))
            boost([fit], range(before.n, last), monitor)
        finally:
            monitor.close()
        return monitor
