"""All data of a report page.

A report combines the results of `stagewise.inspection` for one model and one table. The scripts in
page/ display them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stagewise.errors import InvalidParameterError, UnknownCategoryWarning
from stagewise.inspection.fitted_model import FittedModel, check_argument
from stagewise.inspection.importances.importance import importance
from stagewise.inspection.quality.learning import LearningCurves, learning_curves
from stagewise.inspection.quality.round_choice import deciding_metric, describe_choice
from stagewise.metrics.choice import LOSS
from stagewise.report.dependence_facts import DependenceFacts, dependence_facts
from stagewise.report.evaluation.evaluate import evaluate
from stagewise.report.evaluation.evaluated_rows import (
    CONFIDENCE_LEVEL,
    GivenRows,
    Quality,
    ScoreGroup,
)
from stagewise.report.exported_model import ExportedModel, export_model
from stagewise.report.importance_facts import ImportanceFacts, importance_facts
from stagewise.report.row_facts import RowFacts, row_facts
from stagewise.report.subgroup_facts import SubgroupFacts, no_subgroups, subgroup_facts
from stagewise.report.table_facts import TableFacts, table_facts
from stagewise.training.fit_report import VERSION
from stagewise.validation.messages import collect_warnings, short_repr, warn_caller
from stagewise.validation.rules import Number

__all__ = ["Overview", "ReportFacts", "report_facts"]


@dataclass(frozen=True, eq=False)
class Overview:
    """The model, its parameters and scores.

    Attributes
    ----------
    title, estimator, task, target, subject, loss, recipe : str
        Title of the page, class, task, target, loss and algorithm; `subject` is the target, or in
        words what is predicted if it has no name.
    features, outputs, score_outputs : tuple of str
        The names of the features, of the classes or targets, and of the scores.
    explained_outputs : tuple of int
        The prediction that each score explains: of two classes with one score the second.
    n_rows, n_used, n_trees, n_leaves, depth : int
        Rows of the table; used features, trees, leaves and depth of the model.
    weighted : bool
        Whether sample weights were passed.
    scores : tuple of (str, tuple of Score)
        Scores with confidence limits, by target; the name is empty if there is one target.
    prediction : str
        The name of a prediction: the target, or what is predicted of it.
    baseline, baseline_note : str
        The predictions that the baselines of the scores are of, and what these are.
    confidence_level : float
        The confidence level of these limits.
    fingerprint, version : str
        The fingerprint of the model, and the version of the library.
    parameters : tuple of (str, str, bool)
        Names, values, and whether they are defaults.
    notes : tuple of str
        Warnings raised while the report was computed.
    round_choice : mapping or None
        How held-out rows chose the number of rounds, as in `fit_report_`; None: they did not, or
        the model was loaded from a file.
    leaderboard : list of dict
        The candidates of an automatic model.
    """

    title: str
    estimator: str
    task: str
    target: str
    subject: str
    loss: str
    recipe: str
    features: tuple[str, ...]
    outputs: tuple[str, ...]
    score_outputs: tuple[str, ...]
    explained_outputs: tuple[int, ...]
    n_rows: int
    n_used: int
    n_trees: int
    n_leaves: int
    depth: int
    weighted: bool
    scores: tuple[ScoreGroup, ...]
    prediction: str
    baseline: str
    baseline_note: str
    confidence_level: float
    fingerprint: str
    version: str
    parameters: tuple[tuple[str, str, bool], ...]
    notes: tuple[str, ...]
    round_choice: Mapping[str, Any] | None
    leaderboard: list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class ReportFacts:
    """The data of a report; each attribute is a section or the model."""

    overview: Overview
    table: TableFacts
    learning: LearningCurves | None
    learning_metric: LearningCurves | None
    """The curves of the metric that chose the number of rounds, if it is not the loss."""
    rounds_note: str
    quality: Quality
    subgroups: SubgroupFacts
    importance: tuple[ImportanceFacts, ...]
    dependence: DependenceFacts
    rows: RowFacts
    exported_model: ExportedModel


def report_facts(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    title: str | None = None,
    target: str | None = None,
    random_state: int = 0,
    progress: Callable[[str], None] = lambda text: None,
    offset: Any = None,
    exposure: Any = None,
) -> ReportFacts:
    """Compute the data of a report; see `write_report` for the parameters.

    Parameters
    ----------
    estimator, X, y, sample_weight, title, target, random_state, offset, exposure
        As in `write_report`.
    progress : callable
        Called with a message before each step.
    """
    fitted = FittedModel.of(estimator, "report", offsets=True, of_targets=True)
    fitted.check_leaves("report")
    seed = check_argument("random_state", Number(0, whole=True), random_state)
    name = _target_name(fitted, y, target)
    with warnings.catch_warnings(record=True) as caught, collect_warnings() as own:
        warnings.simplefilter("always")
        passed = {"offset": offset, "exposure": exposure}
        passed = {argument: value for argument, value in passed.items() if value is not None}
        given = GivenRows(fitted, X, y, sample_weight, name, seed, passed)
        computation = _Computation(given, sample_weight is not None, progress, title)
        first = list(own)
        facts = computation.facts()
    # Later steps use some of the same rows, and would repeat this warning.
    later = [found for found in own[len(first) :] if found[1] is not UnknownCategoryWarning]
    # Overflow is displayed as infinity; the user cannot do anything about it.
    others = [(str(w.message), w.category) for w in caught]
    noticed = {
        text: category
        for text, category in [*first, *later, *others]
        if category is not RuntimeWarning
    }
    for text, category in noticed.items():
        warn_caller(text, category)
    return replace(facts, overview=replace(facts.overview, notes=tuple(noticed)))


def _target_name(fitted: FittedModel, y: Any, target: Any) -> str:
    if target is not None and not isinstance(target, str):
        raise InvalidParameterError(f"target must be a name; got {short_repr(target)}.")
    listed = ", ".join(fitted.model.targets or ())
    return target or listed or str(getattr(y, "name", None) or "")


def _explained_outputs(fitted: FittedModel) -> tuple[int, ...]:
    """Return the index of the prediction that each score explains."""
    targets, n_scores = fitted.model.class_targets, fitted.model.ensemble.n_outputs
    n_outputs = len(fitted.outputs("mean"))
    if n_scores == n_outputs:
        return tuple(range(n_scores))
    if targets is not None:
        return tuple((np.cumsum([len(classes) for classes in targets]) - 1).tolist())
    return (n_outputs - 1,) * n_scores


class _Computation:
    """Computes the sections one after the other."""

    def __init__(
        self, given: GivenRows, weighted: bool, progress: Callable[[str], None], title: str | None
    ) -> None:
        self.given, self.fitted, self.title = given, given.fitted, title
        self.weighted, self.progress = weighted, progress
        progress("predicting")
        self.rows = evaluate(given)
        passed = {name: given.passed.get(name) for name in ("offset", "exposure")}
        self.offset = self.fitted.offset(given.X, len(self.rows.weight), **passed)

    def facts(self) -> ReportFacts:
        given, rows = self.given, self.rows
        fitted, X, seed = self.fitted, given.X, given.seed
        self.progress("exporting the model")
        exported = export_model(fitted.estimator)
        ranking = importance(fitted.estimator, "gain")
        self.progress("describing the table")
        named = rows.first_target, ranking.order, seed
        table = table_facts(fitted, X, rows.described, *named, associated=rows.has_associations)
        self.progress("computing scores")
        quality, scored, errors = rows.quality(), rows.scores(), rows.row_errors()
        subgroups = (
            no_subgroups(rows.first_target)
            if errors is None
            else subgroup_facts(fitted, X, errors, *named)
        )
        self.progress("explaining rows")
        known = rows.shown, rows.weight, rows.errors
        drawn, shap = row_facts(fitted, X, *known, seed, self.offset)
        self.progress("computing importances")
        own_rows = X, rows.target, rows.weight
        rankings = importance_facts(fitted, *own_rows, shap, seed, self.offset)
        self.progress("computing partial dependence")
        own = rows.weight, ranking.order, seed, self.offset
        dependence = dependence_facts(fitted, X, *own)
        return ReportFacts(
            self._overview(scored),
            table,
            *self._learning(),
            quality,
            subgroups,
            rankings,
            dependence,
            drawn,
            exported,
        )

    def _overview(self, scored: tuple[ScoreGroup, ...]) -> Overview:
        fitted, rows, target = self.fitted, self.rows, self.given.target
        estimator, model = fitted.estimator, fitted.model
        flat = model.ensemble.flat()
        defaults = type(estimator)().get_params(deep=False)
        parameters = tuple(
            (name, short_repr(value), repr(value) == repr(defaults.get(name)))
            for name, value in estimator.get_params(deep=False).items()
        )
        subject = target or rows.subject
        return Overview(
            title=self.title or f"Predicting {subject}",
            estimator=type(estimator).__name__,
            task=rows.task,
            target=target or "target",
            subject=subject,
            loss=model.loss,
            recipe=estimator.recipe(),
            features=fitted.names,
            outputs=fitted.outputs("mean"),
            score_outputs=fitted.outputs("score"),
            explained_outputs=_explained_outputs(fitted),
            n_rows=int(np.count_nonzero(rows.weight)),
            n_used=len(fitted.used),
            n_trees=len(model.ensemble.trees),
            n_leaves=int(np.count_nonzero(flat["feature"] < 0)),
            depth=max((int(t.depths.max()) for t in model.ensemble.trees), default=0),
            weighted=self.weighted,
            scores=scored,
            prediction=rows.prediction,
            baseline=rows.baseline,
            baseline_note=rows.baseline_note,
            confidence_level=CONFIDENCE_LEVEL,
            fingerprint=estimator.fingerprint(),
            version=VERSION,
            parameters=parameters,
            notes=(),
            round_choice=getattr(estimator, "fit_report_", {}).get("round_choice"),
            leaderboard=(
                estimator.leaderboard_.records() if hasattr(estimator, "leaderboard_") else []
            ),
        )

    def _learning(self) -> tuple[LearningCurves | None, LearningCurves | None, str]:
        """Return the curves of the loss and of the metric that decided, and what they chose."""
        estimator = self.fitted.estimator
        try:
            losses = learning_curves(estimator)
        except (TypeError, ValueError):  # no losses were recorded
            return None, None, ""
        name, metric = deciding_metric(estimator), None
        measured = getattr(estimator, "evals_result_", {}).values()
        if name != LOSS and any(name in values for values in measured):
            metric = learning_curves(estimator, name)
        return losses, metric, describe_choice(estimator, losses)
