"""A fitted estimator with the same trees, and leaf values of other rows."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from stagewise.boosting.recipe import BY_RESPONSE, Recipe
from stagewise.data import TargetScale, TargetScales
from stagewise.data.bins import core_columns
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.estimator import FACTS_OF_A_FIT
from stagewise.estimators.bases.model_access import fit_loss, fit_spec, is_average, several_scores
from stagewise.estimators.parameters.round_parameters import RoundParameters
from stagewise.model.model import Model
from stagewise.training.adapters.tree_adapter import TreeAdapter
from stagewise.training.preparation import check_counts, scale_target
from stagewise.training.reading.class_weights import class_weighted
from stagewise.training.refit import FitRounds, RefitRows, refit_average, refit_sum
from stagewise.training.specs import BoostingSpec
from stagewise.validation.arguments import check_argument
from stagewise.validation.rules import Number
from stagewise.workers import make_workers

__all__ = ["refit_estimator"]


def refit_estimator(
    estimator: Any, X: Any, y: Any, sample_weight: Any, decay: Any, offset: Any, exposure: Any
) -> Any:
    """Return a copy of a fitted estimator with new leaf values; see `TreeAttributes.refit`."""
    model: Model = estimator._fitted()  # noqa: SLF001
    several = several_scores(estimator)
    if several is not None and several.n_outputs > 1:
        raise ValueError(
            f"refit is for one score per target, and loss={several.name!r} has "
            f"{several.n_outputs}. Fit a new model, or continue this one with warm_start=True."
        )
    share = float(check_argument("decay", Number(0.0, 1.0), decay))
    fits = _specs_by_fit(estimator, model)
    for _, spec in fits:
        _check_trees(estimator, model, spec)
    columns = core_columns(estimator._match(model, X))  # noqa: SLF001
    if columns.n_rows == 0:
        raise ValueError("X of refit has no rows.")
    columns = model.features.append_derived(columns)
    codes, weight = _read_target(estimator, model, y, sample_weight, columns.n_rows)
    scale = _scale(model)
    loss = fit_loss(estimator).in_units(scale.unit)
    loss.check(codes)
    if getattr(estimator, "criterion", "") == "poisson":
        check_counts(codes, "y of refit")
    workers = make_workers(estimator.n_jobs)
    given = estimator._offset_score(model, X, columns.n_rows, offset, exposure)  # noqa: SLF001
    targets = scale_target(loss, scale, codes)
    if given is not None and loss.degree is not None:  # the offset of a loss of y - F
        targets, given = targets - given.reshape(targets.shape), None
    n_classes = 0 if model.classes is None else len(model.classes)
    rows = RefitRows(targets, weight, columns, given, n_classes)
    losses: list[float] = []
    if is_average(estimator):
        ensemble = refit_average(model.ensemble, rows, loss, share, workers)
    else:
        rounds = [
            FitRounds(
                n,
                spec.recipe,
                spec.learner.learner(model.features, loss, scale.unit, ()).rules,
                spec.learner.max_step(scale),
            )
            for n, spec in fits
        ]
        ensemble, losses = refit_sum(model.ensemble, rows, loss, rounds, share, workers)
    if not all(np.isfinite(tree.value).all() for tree in ensemble.trees):
        raise ValueError(
            "The leaf values of refit are not finite: y or the offset is too large beside the "
            "targets of the first fit. Fit a new model."
        )
    unit = scale.loss_unit(loss.degree or 0)
    again = copy.copy(estimator)
    for name in FACTS_OF_A_FIT:
        again.__dict__.pop(name, None)
    again._adopt(  # noqa: SLF001
        replace(
            model,
            ensemble=ensemble,
            train_loss=unit * np.array(losses),
            valid_loss=np.empty(0),
            fold_ensembles=(),
            learned={n: a for n, a in model.learned.items() if n.startswith("loss.")},
        )
    )
    return again


def _specs_by_fit(estimator: Any, model: Any) -> list[tuple[int, Any]]:
    """Return the number of rounds and the specification of every fit; warm_start adds fits."""
    fits = getattr(estimator, "_fits", ()) or (RoundParameters(model.ensemble.n_rounds, {}),)
    specs = []
    for fit in fits:
        one = copy.copy(estimator)
        vars(one).update(fit.params)
        specs.append((fit.n_rounds, fit_spec(one)))
    return specs


def _check_trees(estimator: Any, model: Any, spec: Any) -> None:
    """Raise InvalidParameterError unless leaf values follow from the rows of the leaves."""
    name = type(estimator).__name__
    reason = ""
    if not isinstance(model, Model):
        reason = "its terms are not trees"
    elif estimator._is_median:  # noqa: SLF001
        reason = "its predictions are weighted medians; refit one of its estimators_"
    elif estimator._start is not None:  # noqa: SLF001
        reason = "it starts from an estimator (init), which would have to be fitted again"
    elif any(tree.linear_leaves is not None for tree in model.ensemble.trees):
        reason = "its leaves are linear models; fit with leaves='constant'"
    elif getattr(estimator, "monotonic_cst", None) is not None:
        reason = "new leaf values would not keep monotonic_cst"
    elif model.class_targets is not None:
        reason = "it has several targets of classes; fit it again"
    elif "loss.thresholds" in model.learned:
        reason = "its thresholds are those of the rows of the fit; fit it again"
    elif str(getattr(estimator, "class_weight", None)) == "balanced_subsample":
        reason = "class_weight='balanced_subsample' weighs the bags of the first fit"
    elif getattr(estimator, "missing_strategy", "learned") == "probability":
        reason = "rows with missing values reach several leaves (missing_strategy='probability')"
    elif isinstance(spec, BoostingSpec):
        recipe = spec.recipe
        if recipe.dropout.rate > 0:
            reason = "with dropout, the value of a tree depends on the rounds that were dropped"
        elif recipe.correction is not None:
            reason = "with corrective, the coefficients of all terms are fitted jointly"
        elif not _is_by_leaf(recipe) or not isinstance(spec.learner, TreeAdapter):
            reason = "its leaf values are no Newton steps; use gradient boosting or a forest"
    elif not is_average(estimator):
        reason = "it is a sum of models; refit gradient boosting, a forest or a tree"
    if reason:
        raise InvalidParameterError(f"refit of this {name} is not defined: {reason}.")


def _is_by_leaf(recipe: Recipe) -> bool:
    """Return whether the values of a recipe follow from the rows of each leaf alone."""
    parts = {(known.response, known.step_name) for known in BY_RESPONSE.values()}
    return (recipe.response, recipe.step_name) in parts


def _read_target(estimator: Any, model: Model, y: Any, sample_weight: Any, n_rows: int) -> Any:
    """Return the targets and the weights, class weights included."""
    reader = estimator._target_reader()  # noqa: SLF001
    classes = model.classes
    try:
        found, weight = reader.read_validation(y, sample_weight, n_rows, classes)
    except ValueError as error:
        raise ValueError(f"In the rows of refit: {error}") from None
    n_targets = 1 if found.ndim == 1 else found.shape[1]
    if classes is None and n_targets != model.ensemble.n_outputs:
        raise ValueError(
            f"y of refit has {n_targets} target{'s' * (n_targets > 1)}, and the model has "
            f"{model.ensemble.n_outputs}."
        )
    class_weight = getattr(estimator, "class_weight", None)
    if classes is not None and class_weight is not None:
        present, codes = np.unique(found, return_inverse=True)
        weight = class_weighted(class_weight, classes[present], codes.astype(np.int32), weight)
    return found, np.ones(n_rows) if weight is None else weight


def _scale(model: Model) -> TargetScale | TargetScales:
    if isinstance(model.offset, np.ndarray):
        return TargetScales(model.offset, np.asarray(model.scale))
    return TargetScale(float(model.offset), float(np.asarray(model.scale)))
