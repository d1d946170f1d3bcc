"""The base class of losses of times, and what they predict besides scores.

A target is a structured array with the fields

    entry     the row is observed from this time on (left truncation); -inf: from the beginning
    time      the time of the event, or of the end of the observation
    upper     the end of the interval (time, upper] of an event between two visits; else `time` for
              an event and inf for a censored row
    event     0: censored; 1, 2, …: the code of the event
    stratum   the code of the stratum

Every such loss turns scores into curves: S(t) = P(T > t) at the times of a step function, or at any
time. What it needs for them, such as a baseline hazard, is learned after the last round.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, Workers
from stagewise.exact_sums import sum_rows
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.scores import Matrix, Vector

__all__ = ["ONE_KIND", "RowBoundLoss", "SurvivalLoss", "refuse_fields"]

FIELD_WORDS: Mapping[str, str] = {
    "entry": "entry times (left truncation)",
    "upper": "intervals (lower and upper)",
    "stratum": "strata",
    "event": "several kinds of events",
}

ONE_KIND = (
    "Use loss='cause_specific' or 'fine_gray' for competing risks, or make the codes 0 and 1."
)


class SurvivalLoss(Loss):
    """The base class of losses of times until an event.

    Attributes
    ----------
    supported : frozenset of str
        The fields of a target, besides time and event, that the loss uses.
    larger_is_earlier : bool
        Whether a larger prediction is an earlier event.
    remedies : mapping
        What to use instead, by the name of a field that the loss does not use.
    """

    learns = True
    task: Literal["survival"] = "survival"
    supported: frozenset[str] = frozenset()
    larger_is_earlier: bool = True
    remedies: ClassVar[Mapping[str, str]] = {}

    def of_rows(self, y: npt.NDArray[Any], weight: Vector | None) -> SurvivalLoss:
        """Return the loss for training rows, which may decide about its number of outputs."""
        return self

    def continuing(self, known: SurvivalLoss) -> SurvivalLoss:
        """Return the loss for further rounds of a model, with the outputs of its loss."""
        return self

    @property
    def grid(self) -> Vector:
        """The times at which curves change or are shown; learned."""
        raise NotImplementedError

    @abstractmethod
    def cumulative_hazard(
        self, score: Matrix, stratum: npt.NDArray[Any], times: Vector
    ) -> npt.NDArray[np.float64]:
        """Return -log S(t), shape (n_rows, n_times).

        Parameters
        ----------
        score : float64 array of shape (n_rows, n_outputs)
            F.
        stratum : int array of shape (n_rows,)
            The code of the stratum of each row.
        times : float64 array
            The times t.
        """

    def survival(
        self, score: Matrix, stratum: npt.NDArray[Any], times: Vector
    ) -> npt.NDArray[np.float64]:
        """Return S(t) = P(T > t), shape (n_rows, n_times)."""
        return np.asarray(np.exp(-self.cumulative_hazard(score, stratum, times)))

    def quantile(self, score: Matrix, stratum: npt.NDArray[Any], q: float) -> Vector:
        """Return the least time with S(t) ≤ 1 - q; inf where S stays above it."""
        grid = self.grid
        reached = self.survival(score, stratum, grid) <= 1.0 - q
        first = np.where(reached.any(axis=1), reached.argmax(axis=1), len(grid))
        return np.asarray(np.append(grid, np.inf)[first])

    def restricted_mean(self, score: Matrix, stratum: npt.NDArray[Any], limit: float) -> Vector:
        """Return ∫ S(t) dt from 0 to a limit: the mean of min(T, limit)."""
        grid = self.grid
        times = np.concatenate([[0.0], grid[(grid > 0.0) & (grid < limit)]])
        widths = np.diff(np.append(times, limit))
        return np.asarray(self.survival(score, stratum, times) @ widths)

    def risk(self, predicted: npt.NDArray[np.float64]) -> Vector:
        """Return predictions as numbers that are larger where an event is earlier."""
        own = predicted if predicted.ndim == 1 else predicted.sum(axis=1)
        return own if self.larger_is_earlier else -own

    def check(self, y: npt.NDArray[Any]) -> None:
        refuse_fields(self, y)
        if not (y["event"] > 0).any():
            raise ValueError(
                f"No row has an event (all {len(y)} are censored), so the {self.name!r} loss has "
                "nothing to learn from. Use more rows, or a longer follow-up."
            )


def refuse_fields(loss: SurvivalLoss, y: npt.NDArray[Any]) -> None:
    """Raise ValueError if targets have a field that a loss does not use."""
    for name in FIELD_WORDS:
        if name in loss.supported:
            continue
        rows = _uses(name, y)
        if rows.any():
            row = int(np.argmax(rows))
            raise ValueError(
                f"The {loss.name!r} loss has no {FIELD_WORDS[name]}, but y has them, first at row "
                f"{row}. {loss.remedies[name]}"
            )


def _uses(name: str, y: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return the rows that have more in a field than every row has."""
    own = y[name]
    if name == "entry":
        rows = own > -np.inf
    elif name == "upper":
        rows = np.isfinite(own) & (own > y["time"])
    else:
        rows = own != own[0] if name == "stratum" else own > 1
    return np.asarray(rows)


class RowBoundLoss(BoundLoss):
    """A bound loss of several outputs whose derivatives are computed for all outputs at once."""

    def __init__(self, workers: Workers, n_rows: int, weight: Vector | None) -> None:
        self._workers, self._weight = workers, weight
        self._packed = Gradients(n_rows)
        self._gradient = self._hessian = np.empty((0, 0))

    @abstractmethod
    def _evaluate(self, score: Matrix) -> tuple[float, Matrix, Matrix]:
        """Return the weighted sum of the loss, and the derivatives of rows of weight 1."""

    def _sum(self, losses: Vector) -> float:
        return sum_rows(losses, self._weight)

    def evaluate(self, score: Matrix) -> float:
        value, gradient, hessian = self._evaluate(score)
        shape = score.shape
        self._gradient = np.asfortranarray(gradient.reshape(shape, order="F"))
        self._hessian = np.asfortranarray(hessian.reshape(shape, order="F"))
        return value

    def gradients(self, output: int) -> Gradients:
        own = self._gradient[:, output], self._hessian[:, output]
        self._packed.assign(self._workers, *own, self._weight)
        return self._packed
