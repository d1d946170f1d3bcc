"""The results of trainers: a fitted model, and facts about the fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.boosting.forest_loop import GrownTrees
from stagewise.boosting.monitor import HELD_OUT
from stagewise.metrics.choice import LOSS
from stagewise.model.model import Model
from stagewise.model.terms import TermModel
from stagewise.training.start_model import StartModel
from stagewise.trees.pruning import PruningPath

__all__ = ["CrossFit", "FitResult", "ForestResult", "PrunedTree", "RoundChoice", "TreeResult"]


@dataclass(frozen=True)
class RoundChoice:
    """How folds chose the number of rounds.

    Attributes
    ----------
    folds : int
        The number of folds.
    held_out_rows : int
        The number of rows that they held out, together.
    best_round : int
        The round with the least mean loss of the held-out rows.
    validation_loss : float
        That loss.
    rounds : int
        The number of rounds of the model of all rows.
    """

    folds: int
    held_out_rows: int
    best_round: int
    validation_loss: float
    rounds: int


@dataclass(frozen=True)
class CrossFit:
    """The models of folds.

    Attributes
    ----------
    models : list of Model
        The model of the training rows of each fold.
    oof_scores : float64 array of shape (n_rows, n_outputs)
        The scores of training rows by the model of the fold that held them out; NaN for others.
    best_round : int
        The number of rounds of each model.
    stop_reason : str
        As of `FitResult`.
    """

    models: list[Any]
    oof_scores: npt.NDArray[np.float64]
    best_round: int
    stop_reason: str


@dataclass(frozen=True)
class FitResult:
    """A fitted model, and facts about the fit.

    Attributes
    ----------
    model : Model or TermModel
        The model.
    stop_reason : str
        Why the fit ended before the last round; empty: it did not.
    rounds_run : int
        The number of the last round.
    method_ended : bool
        Whether the method itself had no further round.
    constant_features, missing_features : list of str
        The features with one value, and those with missing values and at most one other value.
    oob_improvement : list of float
        The decrease of the loss of the out-of-bag rows in every round, if it was measured.
    oof_scores : float64 array of shape (n_rows, n_outputs) or None
        The scores of training rows by the model of the fold that held them out.
    chosen : RoundChoice or None
        How folds chose the number of rounds.
    start : StartModel or None
        Predicts F before the first round; None: it is a constant.
    evals : dict
        The loss and the metrics of every set after every round: {set: {metric: [values]}}.
    fold_ensembles : tuple of Ensemble
        The models of the folds, if they have the columns of the model.
    oof_learned : tuple of dict
        What the loss learned in each fold, as in `Model.learned`; empty if it learns nothing.
    rounds_given : bool
        Whether the folds have a given number of rounds, and `chosen` is no choice: their rows are
        for conformity scores.
    """

    model: Model | TermModel
    stop_reason: str = ""
    rounds_run: int = 0
    method_ended: bool = False
    constant_features: list[str] = field(default_factory=list)
    missing_features: list[str] | None = None
    oob_improvement: list[float] = field(default_factory=list)
    oof_scores: npt.NDArray[np.float64] | None = None
    chosen: RoundChoice | None = None
    start: StartModel | None = None
    evals: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    fold_ensembles: tuple[Any, ...] = ()
    oof_learned: tuple[dict[str, npt.NDArray[np.float64]], ...] = ()
    rounds_given: bool = False

    @property
    def held_out_rows_chose(self) -> bool:
        """Whether folds chose the number of rounds."""
        return self.chosen is not None and not self.rounds_given

    def best_scores(self, n_rounds: int) -> dict[str, dict[str, float]]:
        """Return the loss and the metrics of every set at the last of the rounds that are kept.

        Those of folds are of the round that they chose.
        """
        scores: dict[str, dict[str, float]] = {}
        for name, values in self.evals.items():
            last, kept = self.rounds_run, n_rounds
            if self.chosen is not None and name == HELD_OUT:
                last, kept = len(values[LOSS]), self.chosen.best_round
            if kept:  # the first trees of a forest may have no out-of-bag rows
                scores[name] = {m: v[kept - 1 - last + len(v)] for m, v in values.items()}
        return scores

    @property
    def completion(self) -> str:
        """The reason for the end of a fit that nothing stopped."""
        return f"all {self.rounds_run:,} rounds"

    def report(self) -> dict[str, Any]:
        """Return the facts, by the names of `fit_report_`."""
        missing, choice = {}, None if self.rounds_given else self.chosen
        if self.missing_features is not None:
            missing = {"constant_or_missing_features": self.missing_features}
        return {
            "constant_features": self.constant_features,
            **missing,
            "stop_reason": self.stop_reason or self.completion,
            "rounds_run": self.rounds_run,
            "method_ended": self.method_ended,
            **({} if choice is None else {"round_choice": asdict(choice)}),
        }


@dataclass(frozen=True)
class ForestResult(FitResult):
    """The result of a forest.

    Attributes
    ----------
    grown : GrownTrees or None
        The trees before the division by their number, and their averages over the out-of-bag rows;
        None: y has one class.
    used_validation_rows : bool
        Whether the history of losses is that of held-out rows.
    """

    grown: GrownTrees | None = None
    used_validation_rows: bool = False

    @property
    def completion(self) -> str:
        """The reason for the end of a fit that nothing stopped."""
        return f"all {self.rounds_run:,} trees"

    def report(self) -> dict[str, Any]:
        """Return the facts, by the names of `fit_report_`."""
        return {**super().report(), "used_validation_rows": self.used_validation_rows}


@dataclass(frozen=True)
class PrunedTree:
    """The result of pruning.

    Attributes
    ----------
    leaves_grown : int
        The number of leaves before pruning.
    alpha : float or None
        The α of cost-complexity pruning.
    path : PruningPath or None
        The trees of all α.
    """

    leaves_grown: int
    alpha: float | None = None
    path: PruningPath | None = None


@dataclass(frozen=True)
class TreeResult(FitResult):
    """The result of a single tree; `pruned` is None if y has one class."""

    pruned: PrunedTree | None = None

    @property
    def completion(self) -> str:
        """The reason for the end of a fit that nothing stopped."""
        return "the tree is complete"

    def report(self) -> dict[str, Any]:
        """Return the facts, by the names of `fit_report_`."""
        leaves = 1 if self.pruned is None else self.pruned.leaves_grown
        return {**super().report(), "leaves_grown": leaves}
