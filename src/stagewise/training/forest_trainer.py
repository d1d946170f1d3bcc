"""The trainer of forests: scale the target, bin, grow trees in parallel, average them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stagewise._native import Bins, ForestGrower
from stagewise.boosting.forest_loop import GrownTrees, grow_forest
from stagewise.boosting.loop import EncodedRows, MeasuredRows
from stagewise.boosting.monitor import OUT_OF_BAG
from stagewise.errors import ModelFormatError
from stagewise.learners.histogram_tree import HistogramTree, feature_share, native_rules
from stagewise.losses import BinarySquaredError, Loss
from stagewise.model.model import Model
from stagewise.training.bound_metrics import bind_metrics
from stagewise.training.feature_rules import FeatureRules
from stagewise.training.fit_report import warn_if_constant
from stagewise.training.preparation import (
    Encode,
    Scale,
    check_targets,
    encode_bins,
    exact_scale,
    make_model,
    make_monitor,
    new_ensemble,
    scale_target,
)
from stagewise.training.reading.eval_sets import WatchedRows
from stagewise.training.reading.row_set import RowSet
from stagewise.training.reading.training_data import TrainingData
from stagewise.training.results import ForestResult
from stagewise.training.specs import BagSpec, FitContext, ForestSpec, SingleTreeSpec

__all__ = ["bind_tree", "check_averages", "forest_grower", "train_forest"]


def train_forest(
    spec: ForestSpec,
    loss: Loss,
    data: TrainingData,
    context: FitContext,
    previous: Model | None = None,
    earlier: GrownTrees | None = None,
) -> ForestResult:
    """Fit a forest.

    Parameters
    ----------
    spec : ForestSpec
        The trees, their bags and when to stop.
    loss : Loss
        Squared or absolute error; of classes, of their indicator variables.
    data : TrainingData
        The rows.
    context : FitContext
        Threads, seed, start time, and the ranks that share the work; all of them have all rows.
    previous, earlier : Model and GrownTrees, or None
        The forest that is continued, and its trees.
    """
    check_targets(loss, data)
    train, features = data.train, data.features
    scale = exact_scale(loss, train, spec.tree.criterion, previous)
    y = scale_target(loss, scale, train.y)
    table = train.table()
    bins, encode = encode_bins([table], train.weight, features, spec.split, spec.max_bins, context)
    constant, missing = warn_if_constant(
        bins[0], features, train.y, data.classes, warns=previous is None
    )
    ensemble = new_ensemble(features, np.zeros(loss.n_outputs), joint=loss.n_outputs > 1)
    zeros = np.zeros((len(y), loss.n_outputs))
    rows = EncodedRows(bins, y, train.weight, zeros, table)
    eval_metric = spec.stopping.eval_metric
    measured = _measured_rows(eval_metric, encode, loss, scale, data)
    oob_metrics = bind_metrics(eval_metric, train, loss, scale, data.classes, OUT_OF_BAG)
    monitor = make_monitor(
        spec.stopping,
        loss,
        scale,
        context,
        stops_early=data.valid is not None or spec.stops_by_bags,
        previous=previous,
        decides=OUT_OF_BAG if data.valid is None else data.valid_name,
        metrics=oob_metrics,
    )
    monitor.last_round = 0 if earlier is None else len(earlier.trees)
    grown: GrownTrees | None = None
    try:
        if not data.one_class:
            tree = bind_tree(spec, features, rows, loss, scale)
            grown = grow_forest(
                forest_grower(tree, spec.bag, rows, bins[0], loss, data, context),
                ensemble,
                loss,
                rows,
                measured,
                monitor,
                workers=context.workers,
                seed=context.seed,
                out_of_bag=spec.out_of_bag,
                peers=context.peers,
                oob_metrics=oob_metrics,
                earlier=earlier,
            )
    finally:
        monitor.close()
    return ForestResult(
        make_model(loss, data, features, ensemble, scale, monitor),
        monitor.stop_reason,
        monitor.last_round,
        monitor.ended,
        constant,
        missing,
        evals=monitor.evals,
        grown=grown,
        used_validation_rows=data.valid is not None,
    )


def _measured_rows(
    eval_metric: Any, encode: Encode, loss: Loss, scale: Scale, data: TrainingData
) -> list[MeasuredRows]:
    """Return the sets that are measured after every tree."""
    deciding = [] if data.valid is None else [WatchedRows(data.valid_name, data.valid)]
    return [
        MeasuredRows(
            own.name,
            _encode_rows(own.rows, encode, loss, scale),
            bind_metrics(eval_metric, own.rows, loss, scale, data.classes, own.name),
        )
        for own in (*deciding, *data.eval_sets)
    ]


def _encode_rows(rows: RowSet, encode: Encode, loss: Loss, scale: Scale) -> EncodedRows:
    """Return rows that are not trained on, encoded for the trees."""
    table, y = rows.table(), scale_target(loss, scale, rows.y)
    return EncodedRows(encode(table), y, rows.weight, np.zeros((len(y), loss.n_outputs)), table)


def forest_grower(
    tree: HistogramTree,
    bag: BagSpec,
    rows: EncodedRows,
    bins: Bins,
    loss: Loss,
    data: TrainingData,
    context: FitContext,
) -> ForestGrower:
    """Return the native grower of independent trees.

    By the Gini index, two classes are the numbers -1 and 1; other classes are counted.
    """
    as_numbers = isinstance(loss, BinarySquaredError) and tree.criterion == "gini"
    by_class = data.of_classes and (bag.balanced or not as_numbers)
    each = data.class_targets or (() if data.classes is None else (data.classes,))
    n_targets = 1 if rows.y.ndim == 1 else rows.y.shape[1]
    target = None
    if not by_class:
        target = rows.y.ravel() if n_targets > 1 else loss.target(rows.y, 0)
        target = np.asarray(target, dtype=np.float64)
    return ForestGrower(
        context.workers,
        bins,
        rows.weight,
        target,
        rows.y.ravel() if by_class else None,
        [len(classes) for classes in each] if by_class else [],
        n_targets,
        native_rules(tree, bins, hessian_bound=1.0, hessian_is_weight=not by_class),
        bag.bootstrap,
        bag.share(len(rows.y)),
        bag.balanced,
        bag.min_weight_fraction_leaf,
    )


def bind_tree(
    spec: ForestSpec | SingleTreeSpec,
    features: Any,
    rows: EncodedRows,
    loss: Loss,
    scale: Scale,
) -> HistogramTree:
    """Return the rules of a tree for these features, with a gain in the units of the native core.

    There a gain is the decrease of the impurity times the weight of all rows: in units of the
    scaled target, and half of it for squared error.
    """
    tree = spec.tree
    degree = 1 if tree.criterion == "poisson" else loss.degree or 0  # of the impurity
    min_gain = tree.min_gain * rows.total_weight * (0.5 if degree == 2 else 1.0)
    for _ in range(degree):  # a power of a huge scale is an OverflowError, this is not
        min_gain /= float(np.max(scale.scale))
    share = feature_share(tree.max_features, features.n)
    directed = FeatureRules(spec.monotonic_cst).of(features, tree).get("monotone", ())
    monotone = directed if any(directed) else ()
    return replace(tree, min_gain=min_gain, max_features=share, monotone=monotone)


def check_averages(model: Model, name: str) -> None:
    """Raise ModelFormatError unless a model is an average of trees."""
    ensemble = model.ensemble
    if model.loss not in ("squared_error", "absolute_error"):
        raise ModelFormatError(f"a {name} does not have the loss {model.loss!r}.")
    if ensemble.trees and ensemble.outputs_per_tree != ensemble.n_outputs:
        raise ModelFormatError(f"a leaf of a {name} must have the shares of all classes.")
    largest = max((float(np.abs(tree.value).max()) for tree in ensemble.trees), default=0.0)
    with np.errstate(over="ignore"):
        reached = np.abs(model.offset) + model.scale * len(ensemble.trees) * largest
    if not np.isfinite(reached).all():
        raise ModelFormatError("a leaf has a value that is beyond the range of a float64.")
