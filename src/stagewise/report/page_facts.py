"""All that a report page says of a model, as facts that need no page to be read.

The one idea: a report is made of the same facts that `stagewise.inspection` gives one by one, of
one model on one table; nothing is computed for the page alone. How facts look is decided in page/.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stagewise.data import match_targets, read_targets
from stagewise.errors import InvalidParameterError, UnseenLevelWarning
from stagewise.inspection.encoded_rows import drawn_rows
from stagewise.inspection.fitted_model import Fitted, Vector, checked
from stagewise.inspection.importances.importance import credit_importance, importance
from stagewise.inspection.importances.permutation import permutation_importance
from stagewise.inspection.importances.split_importance import Importance
from stagewise.inspection.quality.confusion import Confusion
from stagewise.inspection.quality.learning import LearningCurves, learning_curves
from stagewise.inspection.quality.predictions import Answers
from stagewise.inspection.quality.scores import Score, Scores
from stagewise.inspection.shap.values import ShapValues
from stagewise.report.dependence_facts import DependenceFacts, dependence_facts
from stagewise.report.exported_model import Carried, carry
from stagewise.report.quality_facts import (
    ClassQuality,
    NumberQuality,
    class_quality,
    number_quality,
)
from stagewise.report.row_budget import patience
from stagewise.report.row_facts import RowFacts, row_facts, take
from stagewise.report.table_facts import TableFacts, table_facts
from stagewise.training.report import VERSION
from stagewise.validation.messages import shown, warn_caller
from stagewise.validation.rules import Number

__all__ = ["ImportanceFacts", "Overview", "Quality", "ReportFacts", "report_facts"]

ROWS_OF_PERMUTATION = 2000
REPEATS = 5
CONFIDENCE = 0.95
FEATURES = 60
"""How many features a ranking has."""
KINDS = {
    "squared_improvement": "Friedman's relative importance",
    "gain": "Gain of splits",
    "shap": "Mean |Shapley value|",
    "permutation": "Loss without the feature",
    "splits": "Number of splits",
    "cover": "Rows parted",
}


@dataclass(frozen=True, eq=False)
class Overview:
    """What the model is, and how good.

    Attributes
    ----------
    title, estimator, task, target, loss, recipe : str
        What was fitted, to what end, and how.
    features, outputs : tuple of str
        Names of columns, and of classes or targets.
    n_rows, n_used, n_trees, n_leaves, depth : int
        Of the table and of the model.
    weighted : bool
        Whether rows count differently.
    scores : tuple of (str, tuple of Score)
        Figures with confidence limits, by target; one empty name where there is one.
    confidence : float
        Of these limits.
    fingerprint, version : str
        What the model is known by, and what wrote the page.
    parameters : tuple of (str, str, bool)
        Names, values, and whether they are the defaults.
    notes : tuple of str
        What was noticed on the way.
    """

    title: str
    estimator: str
    task: str
    target: str
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
    confidence: float
    fingerprint: str
    version: str
    parameters: tuple[tuple[str, str, bool], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ImportanceFacts:
    """A ranking of features.

    Attributes
    ----------
    kind, words, unit : str
        How it was measured.
    feature : int64 array
        Places of the features, the most important first.
    value : float64 array
        Their importance.
    low, high : float64 arrays, or None
        Confidence limits.
    outputs : tuple of str
        Classes or targets with importances of their own.
    by_output : float64 array of shape (n_outputs, n_features), or None
        These importances.
    """

    kind: str
    words: str
    unit: str
    feature: Any
    value: Vector
    low: Vector | None
    high: Vector | None
    outputs: tuple[str, ...]
    by_output: Vector | None


@dataclass(frozen=True, eq=False)
class Quality:
    """How good the model is, in detail.

    Attributes
    ----------
    classes : tuple of ClassQuality
        How well each class is told from the rest; of two only the second.
    names : tuple of str
        The classes.
    confusion : float64 array of shape (n_classes, n_classes)
        Which (row) are taken for which (column), by weight.
    numbers : tuple of NumberQuality
        Of a regression, for each target.
    """

    classes: tuple[ClassQuality, ...]
    names: tuple[str, ...]
    confusion: Vector
    numbers: tuple[NumberQuality, ...]


@dataclass(frozen=True, eq=False)
class ReportFacts:
    """A report; each attribute is a section."""

    overview: Overview
    table: TableFacts
    learning: LearningCurves | None
    quality: Quality
    importance: tuple[ImportanceFacts, ...]
    dependence: DependenceFacts
    rows: RowFacts
    carried: Carried


def report_facts(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    title: str | None = None,
    target: str | None = None,
    random_state: int = 0,
    say: Callable[[str], None] = lambda words: None,
) -> ReportFacts:
    """Find all that a report says; see `write_report` for the parameters.

    Parameters
    ----------
    model, X, y, sample_weight, title, target, random_state
        As there.
    say : callable
        Is told what is done next.
    """
    fitted = Fitted.of(model, "report")
    fitted.check_leaves("report")
    seed = checked("random_state", Number(0, whole=True), random_state)
    name = _target_name(fitted, y, target)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gathering = _Gathering(fitted, X, y, sample_weight, name, seed, say)
        # Later parts look at some of the same rows, and would say of them what was said of all.
        warnings.simplefilter("ignore", UnseenLevelWarning)
        facts = gathering.facts(title)
    # Numbers beyond all doubles are shown as what they are; nothing is to be done about them.
    noticed = {str(w.message): w.category for w in caught if w.category is not RuntimeWarning}
    for words, category in noticed.items():
        warn_caller(words, category)
    return replace(facts, overview=replace(facts.overview, notes=tuple(noticed)))


def _target_name(fitted: Fitted, y: Any, target: Any) -> str:
    if target is not None and not isinstance(target, str):
        raise InvalidParameterError(
            f"target must be the name of what is predicted; got {shown(target)}."
        )
    listed = ", ".join(fitted.model.targets or ())
    return target or listed or str(getattr(y, "name", None) or "target")


class _Gathering:
    """Makes the facts, each from what was made before."""

    def __init__(
        self,
        fitted: Fitted,
        X: Any,
        y: Any,
        sample_weight: Any,
        target: str,
        seed: int,
        say: Callable[[str], None],
    ) -> None:
        self.fitted, self.X, self.y, self.seed, self.say = fitted, X, y, seed, say
        self.target, self.weighted = target, sample_weight is not None
        say("predicting")
        self.answers = _answers(fitted, X, y, sample_weight)
        self.weight = next(iter(self.answers.values())).weight

    def facts(self, title: str | None) -> ReportFacts:
        fitted, X, seed = self.fitted, self.X, self.seed
        model = fitted.estimator
        self.say("packing the model")
        carried = carry(model)
        ranking = importance(model, "gain")
        self.say("describing the table")
        aim = next(iter(self.answers)) or self.target
        table = table_facts(fitted, X, self._known_column(), aim, ranking.order, seed)
        self.say("judging predictions")
        quality, scored = self._quality(), self._scores()
        self.say("explaining rows")
        rows, why = row_facts(fitted, X, self._known(), self.weight, self._wrong(), seed)
        self.say("shuffling columns")
        rankings = self._importance(why)
        self.say("following features")
        dependence = dependence_facts(fitted, X, self.weight, ranking.order, seed)
        return ReportFacts(
            self._overview(title, scored),
            table,
            self._learning(),
            quality,
            rankings,
            dependence,
            rows,
            carried,
        )

    # ---- what is known -------------------------------------------------------------------------

    def _known(self) -> Any:
        """Return the answers as rows show them: labels, or a column of numbers for each target."""
        first = next(iter(self.answers.values()))
        if first.classes is not None:
            return [first.names[k] for k in first.y.tolist()]
        return np.column_stack([answers.y for answers in self.answers.values()])

    def _target(self) -> Any:
        """Return the answers as a fit would be given them."""
        first = next(iter(self.answers.values()))
        if first.classes is not None:
            return np.asarray(self.fitted.model.classes)[first.y]
        return first.y if len(self.answers) == 1 else self._known()

    def _known_column(self) -> Any:
        """Return the answers as a column that can be described; of several targets the first."""
        first = next(iter(self.answers.values()))
        known = self._known()
        return np.array(known, dtype=object) if first.classes is not None else first.y

    def _wrong(self) -> Vector:
        """Return how far predictions are off: what the true class was not given, or residuals."""
        first = next(iter(self.answers.values()))
        if first.classes is not None:
            return np.asarray(1.0 - first.said[np.arange(len(first.y)), first.y])
        return np.abs(first.y - first.said)

    # ---- parts ---------------------------------------------------------------------------------

    def _overview(
        self, title: str | None, scored: tuple[tuple[str, tuple[Score, ...]], ...]
    ) -> Overview:
        fitted = self.fitted
        estimator, model = fitted.estimator, fitted.model
        flat = model.ensemble.flat()
        defaults = type(estimator)().get_params(deep=False)
        parameters = tuple(
            (name, shown(value), repr(value) == repr(defaults.get(name)))
            for name, value in estimator.get_params(deep=False).items()
        )
        return Overview(
            title or f"Predicting {self.target}",
            type(estimator).__name__,
            model.task,
            self.target,
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
            CONFIDENCE,
            estimator.fingerprint(),
            VERSION,
            parameters,
            (),
        )

    def _scores(self) -> tuple[tuple[str, tuple[Score, ...]], ...]:
        return tuple(
            (name, Scores.of(answers, confidence=CONFIDENCE, random_state=self.seed).scores)
            for name, answers in self.answers.items()
        )

    def _quality(self) -> Quality:
        first = next(iter(self.answers.values()))
        if first.classes is not None:
            return Quality(class_quality(first), first.names, Confusion.of(first).counts, ())
        numbers = tuple(
            number_quality(answers, name or self.target, self.seed)
            for name, answers in self.answers.items()
        )
        return Quality((), (), np.zeros((0, 0)), numbers)

    def _learning(self) -> LearningCurves | None:
        try:
            return learning_curves(self.fitted.estimator)
        except (TypeError, ValueError):  # nothing was written down
            return None

    def _importance(self, why: ShapValues | None) -> tuple[ImportanceFacts, ...]:
        model = self.fitted.estimator
        every = list(range(len(self.fitted.names)))
        found = {kind: (importance(model, kind), every) for kind in ("squared_improvement", "gain")}
        if why is not None:
            found["shap"] = credit_importance(why, np.ones(len(why.values))), every
        most = patience(self.fitted).of(ROWS_OF_PERMUTATION, 200)
        drawn = drawn_rows(self.weight, most, self.seed)
        if len(drawn) > 1:
            # Of wide tables only the columns that can be among the first are worth the time.
            some = sorted(found["gain"][0].order[:FEATURES])
            shuffled = permutation_importance(
                model,
                take(self.X, drawn),
                self._target()[drawn],
                self.weight[drawn],
                groups={str(j): j for j in some},
                repeats=REPEATS,
                random_state=self.seed,
            )
            found["permutation"] = shuffled, some
        found |= {kind: (importance(model, kind), every) for kind in ("splits", "cover")}
        return tuple(_ranked(kind, own, places) for kind, (own, places) in found.items())


def _answers(fitted: Fitted, X: Any, y: Any, sample_weight: Any) -> dict[str, Answers]:
    """Return what is said beside what is known, by the names of the targets."""
    n = fitted.model.ensemble.n_outputs
    if fitted.model.classes is not None or n == 1:
        return {"": Answers.of(fitted.estimator, X, y, sample_weight)}
    said = fitted.estimator.predict(X)
    known = read_targets(match_targets(y, fitted.model.targets), len(said), caller="report")
    if known.ndim != 2 or known.shape[1] != n:
        raise ValueError(
            f"The model predicts {n} targets, and y has shape {known.shape}. Pass a column for "
            f"each: {', '.join(fitted.outputs('mean'))}."
        )
    return {
        name: Answers.given(said[:, k], known[:, k], None, sample_weight)
        for k, name in enumerate(fitted.outputs("mean"))
    }


def _ranked(kind: str, found: Importance, places: list[int]) -> ImportanceFacts:
    """Return the first of a ranking, given which features it is about."""
    first = found.order[:FEATURES]
    limits = (None if ends is None else ends[first] for ends in (found.low, found.high))
    low, high = limits
    return ImportanceFacts(
        kind,
        KINDS[kind],
        found.unit,
        np.array([places[i] for i in first], dtype=np.int64),
        found.value[first],
        low,
        high,
        found.outputs,
        None if found.by_output is None else found.by_output[:, first],
    )
