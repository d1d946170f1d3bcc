"""Learning curves: the losses and metrics that were recorded during a fit.

Nothing is predicted again, so a model loaded from a file has its curves of losses, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from stagewise.bagging.base import BaseBagging
from stagewise.boosting.monitor import HELD_OUT, OUT_OF_BAG, TRAIN
from stagewise.display import Summary, Tabled, spread
from stagewise.estimators.auto.base import BaseAuto
from stagewise.estimators.bases.predictions.scores import ModelScores
from stagewise.estimators.bases.trees.forest import BaseForest
from stagewise.estimators.bases.trees.tree import BaseDecisionTree
from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quality.plots import plot_learning
from stagewise.losses.words import loss_words
from stagewise.metrics import METRICS, find_metrics
from stagewise.metrics.choice import LOSS
from stagewise.validation.arguments import suggests_arguments

__all__ = ["LearningCurves", "learning_curves"]

NAMES = (TRAIN, HELD_OUT, OUT_OF_BAG)
"""The sets that are not those of `eval_set`."""


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurves(Tabled):
    """The loss, or a metric, after each round of a fit.

    Attributes
    ----------
    loss : str
        The name of the loss, or of the metric.
    train, validation, out_of_bag : float64 arrays of shape (n_rounds,), or None
        The values on the training rows, on held-out rows (X_val, a fraction, or the mean over
        folds), and on out-of-bag rows. Boosting records only the change of the out-of-bag
        loss; its curve starts at the training loss of the first round.
    chosen : int
        The number of rounds that predictions use.
    unit : str
        The unit of the x axis: rounds, trees or members.
    sets : dict
        The values on the sets of `eval_set`, by name.
    larger_is_better : bool
        Whether larger values are better.
    """

    loss: str
    train: Vector | None
    validation: Vector | None
    out_of_bag: Vector | None
    chosen: int
    unit: str = "rounds"
    sets: dict[str, Vector] = field(default_factory=dict)
    larger_is_better: bool = False

    @property
    def curves(self) -> dict[str, Vector]:
        """The recorded curves, by name."""
        names = {
            "training": self.train,
            "validation": self.validation,
            "out-of-bag": self.out_of_bag,
            **self.sets,
        }
        return {name: curve for name, curve in names.items() if curve is not None}

    def _summary(self) -> Summary:
        table = self.table()
        sign, word = (-1.0, "largest") if self.larger_is_better else (1.0, "least")
        kind = self.loss if self.larger_is_better else "loss"
        best = {
            f"{word} {name} {kind}": f"{c[i]:.6g} after {i + 1} {self.unit}"
            for name, c in self.curves.items()
            if np.isfinite(c).any() and (i := int(np.nanargmin(sign * c))) >= 0
        }
        facts = {**best, "predictions use": f"{self.chosen:,} {self.unit}"}
        chosen = [table[i] for i in spread(len(table), 8)]
        return Summary(f"Learning curves ({self.loss})", facts, chosen, len(table))

    def table(self) -> list[dict[str, Any]]:
        """Return one row per round, with a column for each recorded curve."""
        n = max(map(len, self.curves.values()))
        return [
            {self.unit: i + 1}
            | {name: float(c[i]) for name, c in self.curves.items() if i < len(c)}
            for i in range(n)
        ]

    def plot(self, ax: Any = None) -> Any:
        """Plot the curves and the chosen number of rounds; return the axes."""
        return plot_learning(self.curves, (self.unit, self.loss), self.chosen, ax)


@suggests_arguments
def learning_curves(estimator: Any, metric: str | None = None) -> LearningCurves:
    """Return the losses, or a metric, that were recorded during a fit, round by round.

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator; a forest or bagging ensemble that was fitted with
        ``oob_score=True``; or a forest that was fitted with validation rows.
    metric : str or None, default=None
        A metric of the `eval_metric` of the fit, on all sets that have it (`evals_result_`); None:
        the loss. Files keep only losses.

    Returns
    -------
    LearningCurves

    Raises
    ------
    ValueError
        If the fit recorded no losses, or not this metric.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import GradientBoostingRegressor
    >>> from stagewise.inspection import learning_curves
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=30, early_stopping=True).fit(X, y)
    >>> curves = learning_curves(model)
    >>> len(curves.validation) >= curves.chosen
    True
    """
    kind = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
    if isinstance(estimator, BaseBagging):
        if metric is not None:
            raise ValueError(f"{kind} records only its loss, no metrics; leave metric out.")
        return _of_bagging(estimator, kind)
    if not isinstance(estimator, ModelScores) or isinstance(estimator, BaseDecisionTree):
        raise TypeError(
            f"learning_curves needs a model that is fitted in rounds, and {kind} is not. "
            "Pass a boosting estimator, a forest or a bagging ensemble."
        )
    estimator.fingerprint()  # raises if the estimator is not fitted
    unit = "trees" if isinstance(estimator, BaseForest) else "rounds"
    if metric is not None and metric != LOSS:
        return _of_metric(estimator, metric, unit)
    train, validation, out_of_bag = _losses(estimator)
    if len(improvement := getattr(estimator, "oob_improvement_", ())) and train is not None:
        known = ~np.isnan(improvement)  # of earlier rounds there may be no measurement
        gained, first = np.nancumsum(improvement), int(np.argmax(known))
        out_of_bag = np.where(known, train[first] + gained[first] - gained, np.nan)
    sets = _sets(estimator, LOSS)
    if train is None and validation is None and out_of_bag is None and not sets:
        if isinstance(estimator, BaseAuto):
            raise ValueError(
                f"This {kind} is a sum of models, which has no losses of rounds. Use its "
                "leaderboard_, which has the losses of held-out rows."
            )
        raise ValueError(
            f"This {kind} recorded no losses. Fit it with oob_score=True or pass X_val and "
            "y_val to fit."
        )
    loss = loss_words(estimator.model_.loss)
    chosen = estimator.best_iteration_
    return LearningCurves(loss, train, validation, out_of_bag, chosen, unit, sets)


def _losses(estimator: Any) -> tuple[Vector | None, Vector | None, Vector | None]:
    """Return the losses of training rows, of held-out rows and of out-of-bag rows."""
    if hasattr(estimator, "evals_result_"):
        train, validation, out_of_bag = (_values(estimator, name, LOSS) for name in NAMES)
        return train, validation, out_of_bag
    # A model file does not record which rows the losses are of; forests use out-of-bag rows.
    learned = estimator.model_
    train, held = (c if len(c) else None for c in (learned.train_loss, learned.valid_loss))
    by_bags = isinstance(estimator, BaseForest) and estimator.oob_score
    return (train, None, held) if by_bags else (train, held, None)


def _values(estimator: Any, name: str, metric: str) -> Vector | None:
    """Return what was recorded of a metric on a set; None: nothing."""
    found = getattr(estimator, "evals_result_", {}).get(name, {}).get(metric)
    return None if found is None else np.array(found)


def _sets(estimator: Any, metric: str) -> dict[str, Vector]:
    """Return what was recorded of a metric on the sets of `eval_set`."""
    names = [n for n in getattr(estimator, "evals_result_", {}) if n not in NAMES]
    found = {name: _values(estimator, name, metric) for name in names}
    return {name: own for name, own in found.items() if own is not None}


def _of_metric(estimator: Any, metric: str, unit: str) -> LearningCurves:
    evals = getattr(estimator, "evals_result_", {})
    known = dict.fromkeys(name for values in evals.values() for name in values)
    if metric not in known:
        names = ", ".join(map(repr, known)) or "none (files keep only losses)"
        raise ValueError(
            f"The fit of this {type(estimator).__name__} did not measure {metric!r}; it measured "
            f"{names}. Add it to eval_metric, and fit again."
        )
    task = "classification" if is_classifier(estimator) else "regression"
    own = [each for each in find_metrics(estimator.eval_metric, task) if each.name == metric]
    better = own[0].larger_is_better if own else METRICS[metric].larger_is_better
    train, validation, out_of_bag = (_values(estimator, name, metric) for name in NAMES)
    chosen, sets = estimator.best_iteration_, _sets(estimator, metric)
    return LearningCurves(metric, train, validation, out_of_bag, chosen, unit, sets, better)


def _of_bagging(estimator: BaseBagging, kind: str) -> LearningCurves:
    n = len(getattr(estimator, "estimators_", ()))
    path = getattr(estimator, "oob_loss_", None)
    if not n or path is None:
        raise ValueError(
            f"This {kind} {'has no out-of-bag losses' if n else 'is not fitted'}. "
            "Fit it with oob_score=True."
        )
    loss = "error rate" if hasattr(estimator, "classes_") else "squared error"
    return LearningCurves(loss, None, None, path, n, "members")
