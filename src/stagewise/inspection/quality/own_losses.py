"""The losses of rows by the loss of the model itself, and by its distributions.

They are for losses whose quality no other metric measures: those of distributions, and custom
ones, such as formulas. The baseline is the best constant of the loss for the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.distributions import Distribution
from stagewise.inspection.fitted_model import Vector
from stagewise.losses import Loss
from stagewise.losses.distributions import DistributionLoss
from stagewise.losses.function import FunctionLoss
from stagewise.losses.scores import squeeze_outputs

__all__ = ["COVERAGE", "OwnRows"]

Matrix = npt.NDArray[np.float64]

COVERAGE = 0.9
"""The coverage of the intervals that are scored."""


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Rows as the loss of a model reads them.

    Attributes
    ----------
    loss : Loss
        The loss of scaled targets.
    y : array of shape (n_rows,)
        The targets, or codes of classes.
    score : float64 array of shape (n_rows, n_outputs)
        The scores, with offsets.
    added : float64 array of shape (n_rows, n_outputs) or None
        The offsets in units of the scores; None: there are none.
    start, scale : float
        Targets are start + scale · z for scaled targets z.
    """

    loss: Loss
    y: npt.NDArray[Any]
    score: Matrix
    added: Matrix | None
    start: float
    scale: float

    @classmethod
    def of(
        cls, estimator: Any, X: Any, y: npt.NDArray[Any], offset: Any = None, exposure: Any = None
    ) -> OwnRows | None:
        """Return the rows of an estimator; None: other metrics measure its loss, or it has none.

        Parameters
        ----------
        estimator : estimator
            Fitted, with one target.
        X : array-like or data frame
            The rows.
        y : array of shape (n_rows,)
            Their targets, or codes of classes.
        offset, exposure
            As of `predict`.
        """
        model = getattr(estimator, "model_", None)
        passed = getattr(estimator, "_passed_loss", None)
        if model is None or not hasattr(estimator, "_prediction_loss"):
            return None
        loss = estimator._prediction_loss(model)  # noqa: SLF001
        if isinstance(loss, FunctionLoss) or not (passed or isinstance(loss, DistributionLoss)):
            return None
        score = estimator._score(X)  # noqa: SLF001
        added = estimator._with_offset(model, np.zeros_like(score), X, offset, exposure)  # noqa: SLF001
        start, scale = float(model.offset), float(np.asarray(model.scale))
        own = loss.in_units(1.0 / scale), y, score + added, added if added.any() else None
        return cls(*own, start, scale)

    def __getitem__(self, rows: Any) -> OwnRows:
        """Return some of the rows."""
        added = None if self.added is None else self.added[rows]
        return replace(self, y=self.y[rows], score=self.score[rows], added=added)

    @property
    def has_distribution(self) -> bool:
        """Whether the model predicts distributions."""
        return self.loss.has_distribution

    def losses(self) -> Vector:
        """Return the losses of the rows, in the unit of the targets."""
        return self._losses(self.score)

    def constant_losses(self, weight: Vector) -> Vector:
        """Return the losses of the constant with the least mean loss; NaN if there is none."""
        return self._of_constant(self._losses, weight)

    def of_distributions(self, measure: Callable[[Distribution, Vector], Vector]) -> Vector:
        """Return a function of the predicted distributions and the targets, for each row."""
        return measure(self._distributions(self.score), self.y)

    def of_constant_distribution(
        self, measure: Callable[[Distribution, Vector], Vector], weight: Vector
    ) -> Vector:
        """Return the same of the one distribution with the least negative log-likelihood."""
        return self._of_constant(lambda f: measure(self._distributions(f), self.y), weight)

    def _distributions(self, score: Matrix) -> Distribution:
        found: Distribution = self.loss.distribution(score, self.start, self.scale)
        return found

    @property
    def _scaled(self) -> npt.NDArray[Any]:
        if self.loss.degree is None:
            return self.y
        return np.asarray((self.y - self.start) / self.scale)

    def _losses(self, score: Matrix) -> Vector:
        found = np.asarray(self.loss.loss(self._scaled, squeeze_outputs(score)))
        return np.asarray(found * self.scale ** (self.loss.degree or 0))

    def _of_constant(self, function: Callable[[Matrix], Vector], weight: Vector) -> Vector:
        """Return a function of the scores of the best constant."""
        loss, y, added = self.loss, self._scaled, self.added
        try:
            if added is None or loss.degree is None:
                best = loss.checked_best_constant(y, weight, added)
            else:  # a loss of y - F
                best = loss.checked_best_constant(y - added[:, loss.location or 0], weight)
        except (NotImplementedError, ValueError):  # a loss without a best constant
            return np.full(len(y), np.nan)
        score = np.tile(best, (len(y), 1))
        return function(score if added is None else score + added)
