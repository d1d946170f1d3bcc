"""How a model got better, round by round.

The one idea: what a fit wrote down while it ran is all there is; nothing is predicted again, so a
model from a file has its curves as well. Must not know how rounds are run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stagewise.bagging.base import BaseBagging
from stagewise.estimators.forest_base import BaseForest
from stagewise.estimators.scores import ModelScores
from stagewise.estimators.tree_base import BaseDecisionTree
from stagewise.inspection.fitted import Vector
from stagewise.inspection.quality.plots import plot_learning

__all__ = ["LearningCurves", "learning_curves"]


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """Losses after every round of a fit.

    Attributes
    ----------
    loss : str
        What was measured.
    train, validation, out_of_bag : float64 arrays of shape (n_rounds,), or None
        The loss of the rows that were learned from, of held-out rows (or the mean over folds), and
        of rows outside the bags. Of boosting only the change of the last one is known: it begins
        at the training loss of the first round.
    chosen : int
        How many rounds predictions use.
    unit : str
        What is counted: rounds, trees or members.
    """

    loss: str
    train: Vector | None
    validation: Vector | None
    out_of_bag: Vector | None
    chosen: int
    unit: str = "rounds"

    @property
    def curves(self) -> dict[str, Vector]:
        """The curves that there are, by their names."""
        names = {
            "training": self.train,
            "held-out": self.validation,
            "out of bag": self.out_of_bag,
        }
        return {name: curve for name, curve in names.items() if curve is not None}

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each round, with the curves that there are."""
        n = max(map(len, self.curves.values()))
        return [
            {self.unit: i + 1}
            | {name: float(c[i]) for name, c in self.curves.items() if i < len(c)}
            for i in range(n)
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draw the curves, with the number of rounds that was chosen; return the axes."""
        return plot_learning(self.curves, (self.unit, self.loss), self.chosen, ax)


def learning_curves(model: Any) -> LearningCurves:
    """Return the losses that a fit wrote down, round by round.

    Parameters
    ----------
    model : estimator
        A fitted boosting estimator; a forest or a committee that was fitted with rows outside its
        bags, or a forest with held-out rows.

    Returns
    -------
    LearningCurves

    Raises
    ------
    ValueError
        If the fit wrote nothing down; with what would have made it do so.

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
    kind = model.__name__ if isinstance(model, type) else type(model).__name__
    if isinstance(model, BaseBagging):
        return _of_committee(model, kind)
    if not isinstance(model, ModelScores) or isinstance(model, BaseDecisionTree):
        raise TypeError(
            f"learning_curves is about models that are made round by round, and {kind} is not. "
            "Pass a boosting estimator, a forest or a committee."
        )
    model.fingerprint()  # raises where nothing was fitted
    learned = model.model_
    train, validation = (c if len(c) else None for c in (learned.train_loss, learned.valid_loss))
    chosen, unit, out_of_bag = model.best_iteration_, "rounds", None
    if isinstance(model, BaseForest):
        unit = "trees"
        # A file does not say whose losses these are; bags are what forests are judged by.
        report = getattr(model, "fit_report_", {})
        if not report.get("used_validation_rows", not model.oob_score):
            out_of_bag, validation = validation, None
    elif len(improvement := getattr(model, "oob_improvement_", ())) and train is not None:
        gained = np.cumsum(improvement)
        out_of_bag = train[0] + gained[0] - gained
    if train is None and validation is None and out_of_bag is None:
        raise ValueError(
            f"This {kind} has no history. Fit it with oob_score=True or pass X_val and y_val to "
            "fit."
        )
    loss = "half the squared error" if learned.loss == "squared_error" else learned.loss
    return LearningCurves(loss, train, validation, out_of_bag, chosen, unit)


def _of_committee(model: BaseBagging, kind: str) -> LearningCurves:
    n = len(getattr(model, "estimators_", ()))
    path = getattr(model, "oob_errors_", None)
    if not n or path is None:
        raise ValueError(
            f"This {kind} has no history: {'its members left no rows out' if n else 'not fitted'}. "
            "Fit it with oob_score=True."
        )
    loss = "share of wrong rows" if hasattr(model, "classes_") else "squared error"
    return LearningCurves(loss, None, None, path, n, "members")
