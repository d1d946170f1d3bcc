"""The steps that trainers share: the scale of the target, bins, the monitor and the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Bins, Columns, SparseColumns
from stagewise.boosting.monitor import HELD_OUT, TRAIN, Monitor
from stagewise.boosting.progress import ProgressDisplay
from stagewise.boosting.recipe import Recipe
from stagewise.boosting.stopping import EarlyStopping, TimeLimit
from stagewise.data import TargetScale, TargetScales
from stagewise.data.bins import learn_codings, rank_values
from stagewise.losses import Loss
from stagewise.losses.formula import FormulaLoss
from stagewise.losses.scores import squeeze_outputs
from stagewise.losses.words import loss_words
from stagewise.metrics.choice import LOSS
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model
from stagewise.training.bound_metrics import BoundMetrics
from stagewise.training.reading.folds import refit_rounds
from stagewise.training.reading.row_set import RowSet
from stagewise.training.reading.training_data import TrainingData
from stagewise.training.results import RoundChoice
from stagewise.training.specs import FitContext, HoldOutSpec, StoppingSpec
from stagewise.training.target_encoder import few_cuts
from stagewise.validation.messages import short_repr

__all__ = [
    "Encode",
    "Scale",
    "check_counts",
    "check_targets",
    "choose_rounds",
    "encode_bins",
    "exact_scale",
    "given_base",
    "learn_scale",
    "make_model",
    "make_monitor",
    "named_numbers",
    "new_ensemble",
    "scale_target",
    "score_rows",
    "start_at",
]

Vector = npt.NDArray[np.float64]
Scale = TargetScale | TargetScales
Encode = Callable[[Any], Any]

LARGEST_EXPONENT = 400
"""Squares of numbers between 2^-400 and 2^400 neither overflow nor vanish, nor do their sums."""


def check_targets(loss: Loss, data: TrainingData) -> None:
    """Raise ValueError unless the loss is defined for all targets, held-out ones included."""
    y = data.train.y
    if data.classes is not None and not data.one_class:
        _check_class_loss(loss, len(data.classes))
    loss.check(y)
    sets = [(own.name, own.rows) for own in data.eval_sets if own.rows is not data.train]
    if data.valid is not None:
        sets.append((data.valid_name, data.valid))
    for name, rows in sets:
        try:
            n, known = (1 if t.ndim == 1 else t.shape[1] for t in (rows.y, y))
            if n != known:
                raise ValueError(f"there must be as many targets as in y, {known}; got {n}.")
            loss.check(rows.y)
        except ValueError as error:
            where = "y_val" if name == HELD_OUT else f"y of eval_set {name!r}"
            raise ValueError(f"In {where}: {error}") from None


def _check_class_loss(loss: Loss, n_classes: int) -> None:
    """Raise ValueError unless a loss has scores and probabilities for so many classes."""
    name, allowed = type(loss).__name__, {n_classes, *([1] if n_classes == 2 else [])}
    if loss.n_outputs not in allowed and not loss.ordered:
        raise ValueError(
            f"y has {n_classes} classes, but the loss {name} has {loss.n_outputs} score"
            f"{'' if loss.n_outputs == 1 else 's'} per row; expected "
            f"{' or '.join(map(str, sorted(allowed)))}. Use another loss, or set its n_outputs."
        )
    shape = np.shape(loss.mean(squeeze_outputs(np.zeros((2, loss.n_outputs)))))
    if shape != (2, n_classes):
        if isinstance(loss, FormulaLoss):
            raise ValueError(
                f"The formula {loss.formula!r} has targets y={loss.y!r}, and a classifier needs a "
                "formula of two classes: Loss.from_formula(formula, y='±1') with y of -1 and 1, or "
                "y='0/1'. For numbers use a regressor."
            )
        raise ValueError(
            f"{name}.mean returned the shape {shape} for two rows; a classifier needs the "
            f"probabilities of the classes, {(2, n_classes)}. Define `mean` of the loss."
        )


def learn_scale(
    loss: Loss, train: RowSet, previous: Model | None, start: Vector | None = None
) -> Scale:
    """Return the offset and scale of the target, or those of the model that is continued.

    With `start`, the offset is F before the first round, so that it is exact. A loss of degree 0
    has the information 1/σ² about its location: its targets have the standard deviation 1, since a
    power of two as scale would change the ratio of λ to the information with the unit of y.
    """
    if train.y.ndim > 1 and train.y.dtype.kind == "i":
        return TargetScale(0.0, 1.0, 1.0)  # codes of classes
    if train.y.ndim > 1:
        if previous is not None:
            return TargetScales(np.asarray(previous.offset), np.asarray(previous.scale))
        if loss.degree is None:
            return TargetScales.none(train.y.shape[1])
        return start_at(TargetScales.learn(train.y, train.weight), start)
    if loss.degree is None:
        return TargetScale(0.0, 1.0, loss.sampling_unit(train.y, train.weight))
    learned = TargetScale.learn(train.y, train.weight)
    if loss.degree == 0:
        learned = learned.with_deviation()
    if previous is not None:
        return TargetScale(float(previous.offset), float(previous.scale), learned.spread)
    return start_at(learned, start)


def start_at(scale: Scale, start: Vector | None) -> Scale:
    """Return a scale whose offset is F before the first round; None: the offset it has."""
    if start is None:
        return scale
    if isinstance(scale, TargetScale):
        return replace(scale, offset=float(start[0]))
    return replace(scale, offset=start)


def given_base(recipe: Recipe, loss: Loss, *, of_all_rows: bool) -> Vector | None:
    """Return the scaled scores before the first round; None: the best constant of the rows.

    They are 0 if the offset of the target has F already: a start that is given, or the mean of all
    rows with squared error, where a second constant would only add rounding.
    """
    start = recipe.start_of(loss)
    if start is not None:
        scaled = np.zeros(loss.n_outputs) if loss.degree is not None else start
        return recipe.dropout.round_values(scaled)
    is_mean = of_all_rows and loss.degree is not None and loss.mean_is_best
    return np.zeros(loss.n_outputs) if is_mean else None


def exact_scale(loss: Loss, train: RowSet, criterion: str, previous: Model | None = None) -> Scale:
    """Return a scale that is undone without rounding: a mean of targets stays in their range.

    The Poisson deviance is one of targets as they are, unless their squares would overflow or
    vanish. A fit that continues a model has its scale.
    """
    if loss.degree is None:
        return TargetScale(0.0, 1.0, 1.0)
    several = train.y.ndim > 1
    if previous is not None:
        offset, scale = np.asarray(previous.offset), np.asarray(previous.scale)
        return (
            TargetScales(offset, scale, shared=True)
            if several
            else TargetScale(float(offset), float(scale))
        )
    if criterion == "poisson":
        exponent = math.frexp(float(train.y.max(initial=0.0)))[1]
        unit = math.ldexp(1.0, exponent - 1) if abs(exponent) > LARGEST_EXPONENT else 1.0
        if not several:
            return TargetScale(0.0, unit)
        k = train.y.shape[1]
        return TargetScales(np.zeros(k), np.full(k, unit), shared=True)
    learn = TargetScales.learn_exact if several else TargetScale.learn_exact
    return learn(train.y, train.weight)


def check_counts(y: npt.NDArray[Any], name: str) -> None:
    """Raise ValueError unless targets of criterion="poisson" are not negative.

    In the rows of a fit, `name` "y", each target must have a value above 0, too.
    """
    if (y < 0).any():
        row = int(np.argmax((y < 0).reshape(len(y), -1).any(axis=1)))
        raise ValueError(
            f"criterion='poisson' needs targets that are not negative, but {name} holds "
            f"{short_repr(y[row].tolist())} at row {row}. Set criterion='squared_error'."
        )
    if name == "y" and not (y > 0).any(axis=0).all():
        raise ValueError(
            "criterion='poisson' needs a target above 0, but all are 0. Set "
            "criterion='squared_error'."
        )


def scale_target(loss: Loss, scale: Scale, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return targets in the units of the loss."""
    return y if loss.degree is None else scale.standardise(y)


def encode_bins(
    tables: Sequence[Columns | SparseColumns],
    weight: Vector | None,
    features: Any,
    split: str,
    max_bins: int,
    context: FitContext,
) -> tuple[list[Bins], Encode]:
    """Return the bins of tables that have the same rows, and a function that encodes other rows.

    Parameters
    ----------
    tables : sequence of Columns or SparseColumns
        The training rows; several if their target encodings differ.
    weight : float64 array or None
        Their weights.
    features : Features
        The description of the columns.
    split : {"histogram", "exact", "approx"}
        Without "histogram" every value has a code of its own.
    max_bins : int
        The largest number of bins of a feature.
    context : FitContext
        Threads and seed.
    """
    categories = features.n_categories_per_column()
    if split != "histogram":
        dense = [table for table in tables if isinstance(table, Columns)]  # sparse: refused before
        return [rank_values(context.workers, t, categories) for t in dense], lambda other: other
    tables = [table.by_columns() for table in tables]
    codings = learn_codings(context.workers, tables[0], weight, max_bins, context.seed, categories)
    first = features.n + len(features.crosses)
    codings = [*codings[:first], *few_cuts(codings[first:])]

    def encode(other: Columns | SparseColumns) -> Bins:
        return Bins(context.workers, other.by_columns(), codings)

    return [encode(table) for table in tables], encode


def new_ensemble(features: Any, base: Vector, *, joint: bool = False) -> Ensemble:
    """Return an ensemble without trees; if `joint`, a tree has a value for each output."""
    categories = features.n_categories_per_column()
    width = len(base) if joint else 1
    return Ensemble(len(categories), base, n_categories=categories, outputs_per_tree=width)


def score_rows(ensemble: Ensemble, source: Any, context: FitContext) -> Vector:
    """Return the scores of rows, shape (n_rows, n_outputs)."""
    return ensemble.score(source, context.workers)


def make_monitor(
    stopping: StoppingSpec,
    loss: Loss,
    scale: Scale,
    context: FitContext,
    *,
    stops_early: bool,
    previous: Model | None = None,
    folds: int | None = None,
    history: tuple[list[float], list[float]] | None = None,
    save: Callable[[int], None] | None = None,
    decides: str = HELD_OUT,
    metrics: BoundMetrics | None = None,
) -> Monitor:
    """Return the monitor of a fit; with folds, they leave time for the final fit.

    `history` are the training and validation losses of the rounds before the first one; None: those
    of `previous`. `save` is called after every round that is not the last one. `decides` is the
    name of the set by which the fit stops, and the first of `metrics` decides; None: the loss.
    """
    limit = stopping.time_limit
    if limit is not None and folds is not None:
        limit = limit * folds / (folds + 1)
    if history is None:
        first = 0 if previous is None else previous.ensemble.n_rounds
        history = (
            ([], [])
            if previous is None
            else (
                previous.train_loss[:first].tolist(),
                previous.valid_loss[:first].tolist(),
            )
        )
    return Monitor(
        stopping.n_estimators,
        early_stopping=(
            EarlyStopping(stopping.n_iter_no_change, stopping.tol) if stops_early else None
        ),
        time_limit=None if limit is None else TimeLimit(limit, context.began),
        callbacks=stopping.callbacks,
        display=ProgressDisplay(stopping.verbose, loss=loss_words(loss.name)),
        loss_scale=scale.loss_unit(loss.degree or 0),
        loss_start=_log_scale(loss, scale),
        history={
            name: {LOSS: losses}
            for name, losses in zip((TRAIN, decides), history, strict=True)
            if losses
        },
        peers=context.peers,
        save=save,
        decides=decides,
        metric=metrics.metrics[0] if metrics is not None and metrics.metrics else None,
    )


def _log_scale(loss: Loss, scale: Scale) -> float:
    """Return log of the scale, for densities of scaled targets; 0 for other losses."""
    is_density = loss.has_distribution and loss.degree is not None
    return math.log(scale.scale) if is_density and isinstance(scale, TargetScale) else 0.0


def named_numbers(learned: Mapping[str, Vector]) -> dict[str, Vector]:
    """Return the numbers that a loss learned by their names in a model."""
    return {f"loss.{name}": np.asarray(x, np.float64) for name, x in learned.items()}


def choose_rounds(hold_out: HoldOutSpec, data: TrainingData, monitor: Monitor) -> RoundChoice:
    """Return the number of rounds of the model of all rows, from the monitor of the folds."""
    best, folds = monitor.best_round, data.fold_sizes
    extends = hold_out.extends and hold_out.chooses
    rounds = refit_rounds(best, folds, data.train.n_rows) if extends else best
    loss = monitor.valid_loss[best - 1] if best else math.nan
    return RoundChoice(len(folds), sum(fold.held for fold in folds), best, loss, rounds)


def make_model(
    loss: Loss, data: TrainingData, features: Any, ensemble: Any, scale: Scale, monitor: Monitor
) -> Model:
    """Return the model of trees."""
    offset, units = scale.offset, scale.scale
    several = not data.of_classes and np.size(offset) < ensemble.n_outputs
    if several and loss.location is None:  # scores of one target that are all equal
        offset, units = (np.full(ensemble.n_outputs, value) for value in (offset, units))
    return Model(
        task=loss.task or ("classification" if data.of_classes else "regression"),
        loss=loss.name,
        features=features,
        ensemble=ensemble,
        offset=offset,
        scale=units,
        classes=data.classes,
        train_loss=np.array(monitor.train_loss),
        valid_loss=np.array(monitor.valid_loss),
        targets=data.target_names,
        class_targets=data.class_targets,
        row_offset=data.row_offset,
    )
