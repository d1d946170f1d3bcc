"""AdaBoost's quantities of every round: errors, votes, edges, row weights and the error bound.

A model has the votes only. The others are computed again from rows and labels, so they are
available for a loaded model, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.axes import DOTS, LINE, new_axes
from stagewise.display import Summary, Tabled, spread
from stagewise.errors import InvalidParameterError
from stagewise.estimators.ada_boost import AdaBoostClassifier
from stagewise.estimators.bases.model_access import fit_loss, predict_scores
from stagewise.inspection import memory_limits
from stagewise.inspection.fitted_model import FittedModel, Vector
from stagewise.inspection.plots import COLOURS
from stagewise.losses.scores import squeeze_outputs
from stagewise.validation.arguments import suggests_arguments

__all__ = ["AdaBoostPath", "ada_boost_path"]


@dataclass(frozen=True, eq=False, repr=False)
class AdaBoostPath(Tabled):
    """AdaBoost's quantities of every round m, for the rows that were passed.

    Attributes
    ----------
    n_classes : int
        K.
    estimator_errors : float64 array of shape (n_rounds,)
        err_m = Σ w_i [y_i ≠ G_m(x_i)] / Σ w_i with the row weights before the round. NaN for a tree
        whose vote is 0.
    estimator_weights : float64 array of shape (n_rounds,), or None
        ν α_m with α_m = log((1 - err_m) / err_m) + log(K - 1); None for algorithm="real", whose
        trees have no common weight.
    row_weights : float64 array of shape (n_rounds + 1, n_rows)
        The row weights before the first round and after each round; each line sums to 1.
    normalizers : float64 array of shape (n_rounds,)
        Z_m, the sum of the new weights before they are normalised: the exponential loss after the
        round, divided by the loss before it. For two classes, votes and ν = 1 it is
        2 √(err_m (1 - err_m)).
    training_error : float64 array of shape (n_rounds,)
        The weighted share of rows that the model misclassifies after each round.
    """

    n_classes: int
    estimator_errors: Vector
    estimator_weights: Vector | None
    row_weights: Vector
    normalizers: Vector
    training_error: Vector

    @property
    def edges(self) -> Vector:
        """γ_m = 1 - err_m K/(K-1): 0 for chance, 1 without errors; 1 - 2 err_m for two classes."""
        return 1.0 - self.estimator_errors * (self.n_classes / (self.n_classes - 1))

    @property
    def bound(self) -> Vector | None:
        """Π Z_m, an upper bound of `training_error` for two classes; None for more classes.

        Schapire & Singer (1999), Theorem 1. With more classes, a row can be misclassified and have
        an exponential loss below 1.
        """
        return np.asarray(np.cumprod(self.normalizers)) if self.n_classes == 2 else None

    def _summary(self) -> Summary:
        table, n_rows = self.table(), self.row_weights.shape[1]
        title = f"AdaBoost, {len(table):,} rounds, {self.n_classes} classes, {n_rows:,} rows"
        return Summary(title, rows=[table[i] for i in spread(len(table))], n_rows=len(table))

    def table(self) -> list[dict[str, Any]]:
        """Return one row per round."""
        columns: dict[str, Vector | None] = {
            "error": self.estimator_errors,
            "weight": self.estimator_weights,
            "edge": self.edges,
            "normalizer": self.normalizers,
            "bound": self.bound,
            "training_error": self.training_error,
        }
        known = {name: values for name, values in columns.items() if values is not None}
        return [
            {"round": m + 1, **{name: float(values[m]) for name, values in known.items()}}
            for m in range(len(self.training_error))
        ]

    def plot(self, axes: Any = None) -> list[Any]:
        """Plot the errors of the trees, and the training error below its bound; return two axes.

        Parameters
        ----------
        axes : sequence of two matplotlib axes, or None
            Where to draw; None: new axes.
        """
        _, (left, right) = new_axes(2, axes, "plot")
        rounds = np.arange(1, len(self.training_error) + 1)
        chance = 1.0 - 1.0 / self.n_classes
        left.plot(rounds, self.estimator_errors, color=DOTS, lw=1)
        left.axhline(chance, color=LINE, lw=1, ls="--")
        left.set(xlabel="round", ylabel="weighted error of the tree", ylim=(0.0, chance * 1.05))
        if self.bound is not None:
            right.plot(rounds, self.bound, color=COLOURS[1], lw=2, label="bound Π Z")
        right.plot(rounds, self.training_error, color=DOTS, lw=2, label="training error")
        right.set(xlabel="round", ylabel="error rate", ylim=(0.0, None))
        right.legend(frameon=False)
        return [left, right]


@suggests_arguments
def ada_boost_path(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> AdaBoostPath:
    """Return AdaBoost's errors, votes, edges, row weights and error bound, round by round.

    The weight of a row before a round is e^(-margin) of the scores so far, times its sample and
    class weight. For rows that the fit did not use (held-out rows of early stopping, rows outside a
    subsample) these are the weights that AdaBoost would have given them.

    Parameters
    ----------
    estimator : AdaBoostClassifier
        Fitted, or loaded from a file.
    X, y : array-like or data frame, and array-like
        The training rows.
    sample_weight : array-like or None
        The weights of the fit. Class weights of the estimator are applied in addition.

    Returns
    -------
    AdaBoostPath

    References
    ----------
    Freund & Schapire (1997); Schapire & Singer (1999), Theorem 1; Zhu et al. (2009), Algorithm 2.

    Examples
    --------
    >>> from stagewise import AdaBoostClassifier
    >>> from stagewise.datasets import make_nested_spheres
    >>> from stagewise.inspection import ada_boost_path
    >>> X, y = make_nested_spheres(200)
    >>> path = ada_boost_path(AdaBoostClassifier(n_estimators=20).fit(X, y), X, y)
    >>> bool((path.training_error <= path.bound).all())
    True
    """
    if not isinstance(estimator, AdaBoostClassifier):
        name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise TypeError(
            f"ada_boost_path needs a fitted AdaBoostClassifier; got {name}. For other models use "
            "learning_curves and margins."
        )
    fitted = FittedModel.of(estimator, "ada_boost_path")
    assert fitted.model.classes is not None
    n_classes = len(fitted.model.classes)
    if n_classes < 2:
        raise InvalidParameterError("ada_boost_path needs two classes or more; the model has one.")
    path = _Rows(fitted, X, y, sample_weight)
    weights = getattr(estimator, "estimator_weights_", None)
    errors, row_weights, losses, training_errors = path.rounds(weights)
    return AdaBoostPath(
        n_classes,
        errors,
        weights,
        row_weights,
        losses[1:] / losses[:-1],
        training_errors,
    )


class _Rows:
    """Rows with labels, and the scores of the model round by round."""

    def __init__(self, fitted: FittedModel, X: Any, y: Any, sample_weight: Any) -> None:
        self._fitted, self._given = fitted, fitted.rows(X, least=1)
        n_rows, n_rounds = self._given.n, fitted.model.ensemble.n_rounds
        memory_limits.check_size(
            f"Weights of {n_rows} rows in {n_rounds} rounds",
            n_rows,
            8 * (n_rounds + 1),
            memory_limits.RESULT_BYTES,
        )
        target = fitted.training_target(y, sample_weight, n_rows)
        self._y: npt.NDArray[np.intp] = target.y.astype(np.intp)
        weight = np.ones(n_rows) if target.weight is None else target.weight
        self._weight = weight / weight.sum()

    def rounds(self, votes: Vector | None) -> tuple[Vector, Vector, Vector, Vector]:
        """Return the errors of trees, row weights, losses and training errors of all rounds."""
        fitted = self._fitted
        n_rounds = fitted.model.ensemble.n_rounds
        loss = fit_loss(fitted.estimator)
        score = np.tile(fitted.model.ensemble.base, (self._given.n, 1))
        errors, training_errors = np.empty(n_rounds), np.empty(n_rounds)
        row_weights, losses = np.empty((n_rounds + 1, self._given.n)), np.ones(n_rounds + 1)
        row_weights[0] = self._weight
        for m, term in enumerate(self._terms()):
            has_vote = votes is None or votes[m] > 0
            errors[m] = row_weights[m][self._misclassified(term)].sum() if has_vote else np.nan
            score += term
            row_losses = self._weight * loss.loss(self._y, squeeze_outputs(score))
            losses[m + 1] = row_losses.sum()
            row_weights[m + 1] = row_losses / losses[m + 1]
            training_errors[m] = self._weight[self._misclassified(score)].sum()
        return errors, row_weights, losses, training_errors

    def _terms(self) -> Iterator[Vector]:
        """Yield the values that every round adds to the scores."""
        ensemble, workers = self._fitted.model.ensemble, self._fitted.workers
        columns, n = self._given.tree_columns(), ensemble.trees_per_round
        for m in range(ensemble.n_rounds):
            term = np.zeros((self._given.n, ensemble.n_outputs))
            ensemble.forest.add_scores(workers, columns, m * n, (m + 1) * n, term.reshape(-1))
            yield term

    def _misclassified(self, score: Vector) -> npt.NDArray[np.bool_]:
        predicted = predict_scores(self._fitted.estimator, score).argmax(axis=1)
        return np.asarray(predicted != self._y)
