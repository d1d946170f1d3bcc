"""Learning curves: the losses that were recorded during a fit.

Nothing is predicted again, so a model loaded from a file has its curves too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stagewise.bagging.base import BaseBagging
from stagewise.display import Displayed, Summary, spread
from stagewise.estimators.auto.base import BaseAuto
from stagewise.estimators.bases.forest import BaseForest
from stagewise.estimators.bases.scores import ModelScores
from stagewise.estimators.bases.tree import BaseDecisionTree
from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quality.plots import plot_learning
from stagewise.validation.arguments import suggests_arguments

__all__ = ["LearningCurves", "learning_curves"]


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurves(Displayed):
    """The loss after each round of a fit.

    Attributes
    ----------
    loss : str
        The name of the loss.
    train, validation, out_of_bag : float64 arrays of shape (n_rounds,), or None
        The loss on the training rows, on validation rows (or the mean over folds), and on
        out-of-bag rows. Boosting records only the change of the out-of-bag loss; its curve starts
        at the training loss of the first round.
    chosen : int
        The number of rounds that predictions use.
    unit : str
        The unit of the x axis: rounds, trees or members.
    """

    loss: str
    train: Vector | None
    validation: Vector | None
    out_of_bag: Vector | None
    chosen: int
    unit: str = "rounds"

    @property
    def curves(self) -> dict[str, Vector]:
        """The recorded curves, by name."""
        names = {
            "training": self.train,
            "validation": self.validation,
            "out-of-bag": self.out_of_bag,
        }
        return {name: curve for name, curve in names.items() if curve is not None}

    def _summary(self) -> Summary:
        table = self.table()
        best = {
            f"least {name} loss": f"{np.nanmin(c):.6g} after {int(np.nanargmin(c)) + 1} {self.unit}"
            for name, c in self.curves.items()
            if np.isfinite(c).any()
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
def learning_curves(estimator: Any) -> LearningCurves:
    """Return the losses that were recorded during a fit, round by round.

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator; a forest or bagging ensemble that was fitted with
        ``oob_score=True``; or a forest that was fitted with validation rows.

    Returns
    -------
    LearningCurves

    Raises
    ------
    ValueError
        If the fit recorded no losses.

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
        return _of_bagging(estimator, kind)
    if not isinstance(estimator, ModelScores) or isinstance(estimator, BaseDecisionTree):
        raise TypeError(
            f"learning_curves needs a model that is fitted in rounds, and {kind} is not. "
            "Pass a boosting estimator, a forest or a bagging ensemble."
        )
    estimator.fingerprint()  # raises if the estimator is not fitted
    learned = estimator.model_
    train, validation = (c if len(c) else None for c in (learned.train_loss, learned.valid_loss))
    chosen, unit, out_of_bag = estimator.best_iteration_, "rounds", None
    if isinstance(estimator, BaseForest):
        unit = "trees"
        # A model file does not record which rows the losses are of; forests use out-of-bag rows.
        report = getattr(estimator, "fit_report_", {})
        if not report.get("used_validation_rows", not estimator.oob_score):
            out_of_bag, validation = validation, None
    elif len(improvement := getattr(estimator, "oob_improvement_", ())) and train is not None:
        known = ~np.isnan(improvement)  # of earlier rounds there may be no measurement
        gained, first = np.nancumsum(improvement), int(np.argmax(known))
        out_of_bag = np.where(known, train[first] + gained[first] - gained, np.nan)
    if train is None and validation is None and out_of_bag is None:
        if isinstance(estimator, BaseAuto):
            raise ValueError(
                f"This {kind} is a sum of models, which has no losses of rounds. Use its "
                "leaderboard_, which has the losses of held-out rows."
            )
        raise ValueError(
            f"This {kind} recorded no losses. Fit it with oob_score=True or pass X_val and "
            "y_val to fit."
        )
    loss = "half squared error" if learned.loss == "squared_error" else learned.loss
    return LearningCurves(loss, train, validation, out_of_bag, chosen, unit)


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
