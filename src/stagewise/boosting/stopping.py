"""Rules that stop a fit before the last round: early stopping and a time limit."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

__all__ = ["EarlyStopping", "TimeLimit"]

FALL = 0.9
"""The share of the fall of the loss that the best round has, at least."""


@dataclass
class EarlyStopping:
    """Stops a fit whose validation loss and metric have not improved for some rounds.

    The best round is the one with the least cost (the loss, or a metric that is smaller where it is
    better). Of equal costs it is the one with the lowest loss: few rows have few different values
    of a metric such as the AUC. A metric does not choose a round before the loss has fallen by nine
    tenths of its whole fall: with few rows it is the best by chance there, while the model still
    predicts about the same for all rows. `min_delta` decides only when to stop.

    Parameters
    ----------
    rounds : int
        The number of rounds without an improvement after which the fit stops.
    min_delta : float
        A loss or a cost is an improvement if it is below its last improvement by more than this.

    Attributes
    ----------
    best, best_loss : float
        The cost and the loss of the best round.
    best_round : int
        Its number.
    """

    rounds: int
    min_delta: float = 0.0
    best: float = math.inf
    best_loss: float = math.inf
    best_round: int = 0
    _first_loss: float | None = None
    _lowest: float = math.inf  # of all losses
    _lowest_at_best: float = math.inf  # of the losses up to the best round
    _improved: tuple[float, float] = (math.inf, math.inf)
    _improved_round: int = 0

    def should_stop(self, round_number: int, cost: float, loss: float | None = None) -> bool:
        """Record a round; return whether to stop.

        Parameters
        ----------
        round_number : int
            The round, from 1.
        cost : float
            What decides.
        loss : float or None
            The loss of the same rows; None: the cost is the loss.
        """
        loss = cost if loss is None else loss
        if self._first_loss is None:
            self._first_loss = loss
        self._lowest = min(self._lowest, loss)
        most = self._first_loss - FALL * (self._first_loss - self._lowest)
        too_early = self._lowest_at_best > most
        if too_early or (cost, loss) < (self.best, self.best_loss):
            self.best, self.best_loss, self.best_round = cost, loss, round_number
            self._lowest_at_best = self._lowest
        least, least_loss = self._improved
        if cost < least - self.min_delta:
            least, self._improved_round = cost, round_number
        if loss < least_loss - self.min_delta:
            least_loss, self._improved_round = loss, round_number
        self._improved = least, least_loss
        return round_number - self._improved_round >= self.rounds

    def rounds_left(self, round_number: int) -> int:
        """Return the least number of rounds after this one that a fit has before it stops."""
        return max(1, self._improved_round + self.rounds - round_number)


@dataclass
class TimeLimit:
    """Stops a fit if a round as long as the longest one so far would end after the limit.

    Parameters
    ----------
    seconds : float
        The limit.
    began : float
        When the fit began, by `time.perf_counter`.
    """

    seconds: float
    began: float
    last: float = field(default_factory=time.perf_counter)
    longest: float = 0.0

    def should_stop(self) -> bool:
        """Record the end of a round; return whether to stop."""
        now = time.perf_counter()
        self.longest = max(self.longest, now - self.last)
        self.last = now
        return now + self.longest > self.began + self.seconds
