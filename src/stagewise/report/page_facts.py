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

from stagewise.data import match_targets, read_targets
from stagewise.errors import InvalidParameterError, UnknownCategoryWarning
from stagewise.estimators.bases.model_access import (
    has_conformity,
    n_targets,
    without_calibration,
)
from stagewise.inspection.fitted_model import FittedModel, Vector, check_argument
from stagewise.inspection.importances.importance import importance
from stagewise.inspection.quality.confusion import ConfusionMatrix
from stagewise.inspection.quality.coverage import Coverage, coverage
from stagewise.inspection.quality.learning import LearningCurves, learning_curves
from stagewise.inspection.quality.predictions import Predictions, deviance_power, offsets_of
from stagewise.inspection.quality.query_scores import is_ranker, read_ranking
from stagewise.inspection.quality.scores import Score, Scores
from stagewise.report.dependence_facts import DependenceFacts, dependence_facts
from stagewise.report.exported_model import ExportedModel, export_model
from stagewise.report.importance_facts import ImportanceFacts, importance_facts
from stagewise.report.quality_facts import (
    ClassQuality,
    NumberQuality,
    class_quality,
    number_quality,
)
from stagewise.report.query_facts import QueryQuality, query_quality
from stagewise.report.row_facts import RowFacts, row_facts
from stagewise.report.spread_facts import SpreadQuality, spread_quality
from stagewise.report.subgroup_facts import SubgroupFacts, no_subgroups, subgroup_facts
from stagewise.report.table_facts import TableFacts, table_facts
from stagewise.training.fit_report import VERSION
from stagewise.validation.messages import short_repr, warn_caller
from stagewise.validation.rules import Number

__all__ = ["Overview", "Quality", "ReportFacts", "report_facts"]

CONFIDENCE_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Overview:
    """The model, its parameters and scores.

    Attributes
    ----------
    title, estimator, task, target, subject, loss, recipe : str
        Title of the page, class, task, target, loss and algorithm; `subject` is the target, or in
        words what is predicted if it has no name.
    features, outputs : tuple of str
        The names of the features, and of the classes or targets.
    n_rows, n_used, n_trees, n_leaves, depth : int
        Rows of the table; used features, trees, leaves and depth of the model.
    weighted : bool
        Whether sample weights were passed.
    scores : tuple of (str, tuple of Score)
        Scores with confidence limits, by target; the name is empty if there is one target.
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
    n_rows: int
    n_used: int
    n_trees: int
    n_leaves: int
    depth: int
    weighted: bool
    scores: tuple[tuple[str, tuple[Score, ...]], ...]
    confidence_level: float
    fingerprint: str
    version: str
    parameters: tuple[tuple[str, str, bool], ...]
    notes: tuple[str, ...]
    round_choice: Mapping[str, Any] | None
    leaderboard: list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Quality:
    """The quality of the predictions.

    Attributes
    ----------
    classes : tuple of ClassQuality
        The quality of each class against the rest; for two classes only the second.
    names : tuple of str
        The classes.
    confusion : float64 array of shape (n_classes, n_classes)
        The confusion matrix by weight: true classes (rows) and predicted classes (columns).
    numbers : tuple of NumberQuality
        Regression: the quality of each target.
    queries : QueryQuality or None
        Ranking: the quality of each query.
    spread : SpreadQuality or None
        The quality of predicted quantiles or distributions.
    coverage : Coverage or None
        The coverage of prediction intervals or sets; None: the model has no conformity scores.
    """

    classes: tuple[ClassQuality, ...]
    names: tuple[str, ...]
    confusion: Vector
    numbers: tuple[NumberQuality, ...]
    queries: QueryQuality | None = None
    spread: SpreadQuality | None = None
    coverage: Coverage | None = None


@dataclass(frozen=True, eq=False)
class ReportFacts:
    """The data of a report; each attribute is a section or the model."""

    overview: Overview
    table: TableFacts
    learning: LearningCurves | None
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
    fitted = FittedModel.of(estimator, "report", offsets=True)
    fitted.check_leaves("report")
    seed = check_argument("random_state", Number(0, whole=True), random_state)
    name = _target_name(fitted, y, target)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given = {"offset": offset, "exposure": exposure}
        computation = _Computation(fitted, X, y, sample_weight, name, seed, progress, given)
        # Later steps use some of the same rows, and would repeat the warning.
        warnings.simplefilter("ignore", UnknownCategoryWarning)
        facts = computation.facts(title)
    # Overflow is displayed as infinity; the user cannot do anything about it.
    noticed = {str(w.message): w.category for w in caught if w.category is not RuntimeWarning}
    for text, category in noticed.items():
        warn_caller(text, category)
    return replace(facts, overview=replace(facts.overview, notes=tuple(noticed)))


def _target_name(fitted: FittedModel, y: Any, target: Any) -> str:
    if target is not None and not isinstance(target, str):
        raise InvalidParameterError(f"target must be a name; got {short_repr(target)}.")
    listed = ", ".join(fitted.model.targets or ())
    return target or listed or str(getattr(y, "name", None) or "")


def _subject(fitted: FittedModel, power: float | None) -> str:
    """Return in words what a model predicts whose target has no name."""
    classes = fitted.outputs("mean")
    if fitted.model.task == "ranking":
        return "the order of the rows of a query"
    if fitted.model.classes is not None:
        several = f"one of {len(classes)} classes"
        return f"class {classes[0]} or {classes[1]}" if len(classes) == 2 else several
    if len(classes) > 1:
        return f"{len(classes)} numbers"
    return "a number" if power is None else "a count" if power == 1.0 else "an amount"


class _Computation:
    """Computes the sections one after the other."""

    def __init__(
        self,
        fitted: FittedModel,
        X: Any,
        y: Any,
        sample_weight: Any,
        target: str,
        seed: int,
        progress: Callable[[str], None],
        given: dict[str, Any],
    ) -> None:
        self.fitted, self.X, self.y, self.seed, self.progress = fitted, X, y, seed, progress
        self.weighted = sample_weight is not None
        progress("predicting")
        passed = {name: value for name, value in given.items() if value is not None}
        self.passed = passed
        self.predictions = _predict(fitted, X, y, sample_weight, passed)
        self.queries, self.spread = None, None
        first = self.predictions.get("")
        if first is not None and first.classes is None and not is_ranker(fitted.estimator):
            known_rows = X, first.y, first.weight
            self.spread = spread_quality(fitted.estimator, *known_rows, passed, seed)
        if is_ranker(fitted.estimator):
            score = self.predictions[""].y_pred
            known, names, own = read_ranking(fitted.estimator, y, sample_weight, len(score))
            self.queries = query_quality(known, names, score, own, CONFIDENCE_LEVEL, seed)
        power = next(iter(self.predictions.values())).deviance_power
        self.target, self.subject = target or "target", target or _subject(fitted, power)
        self.weight = next(iter(self.predictions.values())).weight
        self.offset = fitted.offset(X, len(self.weight), **given)

    def facts(self, title: str | None) -> ReportFacts:
        fitted, X, seed = self.fitted, self.X, self.seed
        self.progress("exporting the model")
        exported = export_model(fitted.estimator)
        ranking = importance(fitted.estimator, "gain")
        self.progress("describing the table")
        target = next(iter(self.predictions)) or self.target
        table = table_facts(fitted, X, self._target_column(), target, ranking.order, seed)
        self.progress("computing scores")
        quality, scored = self._quality(), self._scores()
        first = next(iter(self.predictions.values()))
        subgroups = (
            subgroup_facts(fitted, X, first, target, ranking.order, seed)
            if self.queries is None
            else no_subgroups(target)
        )
        self.progress("explaining rows")
        known = self._true_targets(), self.weight, self._errors()
        rows, shap = row_facts(fitted, X, *known, seed, self.offset)
        self.progress("computing importances")
        own_rows = X, self._target(), self.weight
        rankings = importance_facts(fitted, *own_rows, shap, seed, self.offset)
        self.progress("computing partial dependence")
        own = self.weight, ranking.order, seed, self.offset
        dependence = dependence_facts(fitted, X, *own)
        return ReportFacts(
            self._overview(title, scored),
            table,
            self._learning(),
            quality,
            subgroups,
            rankings,
            dependence,
            rows,
            exported,
        )

    # ---- targets -------------------------------------------------------------------------------

    def _true_targets(self) -> Any:
        """Return the true targets for display: labels, or a column of numbers per target."""
        first = next(iter(self.predictions.values()))
        if first.classes is not None:
            return [first.names[k] for k in first.y.tolist()]
        return np.column_stack([predictions.y for predictions in self.predictions.values()])

    def _target(self) -> Any:
        """Return the true targets in the form of the argument y."""
        first = next(iter(self.predictions.values()))
        if self.queries is not None:
            return self.y
        if first.classes is not None:
            return np.asarray(self.fitted.model.classes)[first.y]
        return first.y if len(self.predictions) == 1 else self._true_targets()

    def _target_column(self) -> Any:
        """Return the targets as a column to describe; of several targets the first."""
        first = next(iter(self.predictions.values()))
        known = self._true_targets()
        return np.array(known, dtype=object) if first.classes is not None else first.y

    def _errors(self) -> Vector:
        """Return the error of each row: 1 - probability of the true class, or |residual|.

        It is 0 for rankings, whose rows have none.
        """
        first = next(iter(self.predictions.values()))
        if self.queries is not None:
            return np.zeros(len(first.y))
        if first.classes is not None:
            return np.asarray(1.0 - first.y_pred[np.arange(len(first.y)), first.y])
        return np.abs(first.y - first.y_pred)

    # ---- sections ------------------------------------------------------------------------------

    def _overview(
        self, title: str | None, scored: tuple[tuple[str, tuple[Score, ...]], ...]
    ) -> Overview:
        fitted = self.fitted
        estimator, model = fitted.estimator, fitted.model
        flat = model.ensemble.flat()
        defaults = type(estimator)().get_params(deep=False)
        parameters = tuple(
            (name, short_repr(value), repr(value) == repr(defaults.get(name)))
            for name, value in estimator.get_params(deep=False).items()
        )
        return Overview(
            title or f"Predicting {self.subject}",
            type(estimator).__name__,
            model.task,
            self.target,
            self.subject,
            model.loss,
            estimator.recipe(),
            fitted.names,
            fitted.outputs("mean"),
            int(np.count_nonzero(self.weight)),
            len(fitted.used),
            len(model.ensemble.trees),
            int(np.count_nonzero(flat["feature"] < 0)),
            max((int(t.depths.max()) for t in model.ensemble.trees), default=0),
            self.weighted,
            scored,
            CONFIDENCE_LEVEL,
            estimator.fingerprint(),
            VERSION,
            parameters,
            (),
            getattr(estimator, "fit_report_", {}).get("round_choice"),
            estimator.leaderboard_.records() if hasattr(estimator, "leaderboard_") else [],
        )

    def _scores(self) -> tuple[tuple[str, tuple[Score, ...]], ...]:
        if self.queries is not None:
            return (("", self.queries.scores),)
        return tuple(
            (
                name,
                Scores.of(
                    predictions, confidence_level=CONFIDENCE_LEVEL, random_state=self.seed
                ).scores,
            )
            for name, predictions in self.predictions.items()
        )

    def _quality(self) -> Quality:
        first = next(iter(self.predictions.values()))
        if self.queries is not None:
            return Quality((), (), np.zeros((0, 0)), (), self.queries)
        if first.classes is not None:
            counts = ConfusionMatrix.of(first).counts
            each = class_quality(first, self._before_calibration())
            return Quality(each, first.names, counts, (), coverage=self._coverage())
        numbers = tuple(
            number_quality(predictions, name or self.target, self.seed)
            for name, predictions in self.predictions.items()
        )
        none, found = np.zeros((0, 0)), self._coverage()
        return Quality((), (), none, numbers, spread=self.spread, coverage=found)

    def _before_calibration(self) -> Predictions | None:
        """Return the predictions without the calibration map; None: the model has none."""
        plain = without_calibration(self.fitted.estimator)
        if plain is None:
            return None
        return Predictions.of(plain, self.X, self.y, self.weight, **self.passed)

    def _coverage(self) -> Coverage | None:
        """Return the coverage of intervals or sets; None: the model has no conformity scores."""
        if not has_conformity(self.fitted.estimator):
            return None
        own = self.fitted.estimator, self.X, self.y
        return coverage(*own, sample_weight=self.weight, **self.passed)

    def _learning(self) -> LearningCurves | None:
        try:
            return learning_curves(self.fitted.estimator)
        except (TypeError, ValueError):  # no losses were recorded
            return None


def _predict(
    fitted: FittedModel, X: Any, y: Any, sample_weight: Any, passed: dict[str, Any]
) -> dict[str, Predictions]:
    """Return the predictions beside the true targets, by the name of the target."""
    if is_ranker(fitted.estimator):
        score = fitted.estimator.predict(X, **passed)
        known, _, weight = read_ranking(fitted.estimator, y, sample_weight, len(score))
        own = np.ones(len(score)) if weight is None else weight
        return {"": Predictions("ranking", known["relevance"], score, None, own)}
    n = n_targets(fitted.estimator)
    if fitted.model.classes is not None or n == 1:
        return {"": Predictions.of(fitted.estimator, X, y, sample_weight, **passed)}
    y_pred = fitted.estimator.predict(X, **passed)
    known = read_targets(match_targets(y, fitted.model.targets), len(y_pred), caller="report")
    if known.ndim != 2 or known.shape[1] != n:
        raise ValueError(
            f"The model predicts {n} targets, and y has shape {known.shape}. Pass one column per "
            f"target: {', '.join(fitted.outputs('mean'))}."
        )
    power = deviance_power(fitted.estimator)
    offsets = offsets_of(fitted.estimator, X, len(known), **passed)
    return {
        name: Predictions.from_arrays(
            known[:, k],
            y_pred[:, k],
            None,
            sample_weight,
            deviance_power=power,
            offsets=None if offsets is None else offsets.of_target(k),
        )
        for k, name in enumerate(fitted.outputs("mean"))
    }
