"""Rules that stop a fit before the last round: early stopping and a time limit."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

__all__ = ["EarlyStopping", "TimeLimit"]


@dataclass
class EarlyStopping:
    """Stops a fit whose validation loss has not improved for some rounds.

    The best round is the one with the lowest loss; `min_delta` decides only when to stop.

    Parameters
    ----------
    rounds : int
        The number of rounds without an improvement after which the fit stops.
    min_delta : float
        A loss is an improvement if it is below the last improvement by more than this.
    """

    rounds: int
    min_delta: float = 0.0
    best: float = math.inf
    best_round: int = 0
    improved: float = math.inf
    improved_round: int = 0

    def should_stop(self, round_number: int, loss: float) -> bool:
        """Record the loss of a round (rounds count from 1); return whether to stop."""
        if loss < self.best:
            self.best, self.best_round = loss, round_number
        if loss < self.improved - self.min_delta:
            self.improved, self.improved_round = loss, round_number
        return round_number - self.improved_round >= self.rounds


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
