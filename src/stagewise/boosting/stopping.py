"""When to stop before the last round."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

__all__ = ["Patience", "TimeLimit"]


@dataclass
class Patience:
    """Stop when the validation loss has not improved for some rounds.

    Parameters
    ----------
    rounds : int
        How many rounds in a row may pass without improvement.
    min_delta : float
        How much lower than the best so far counts as improvement.
    """

    rounds: int
    min_delta: float = 0.0
    best: float = math.inf
    best_round: int = 0

    def exhausted(self, round_number: int, loss: float) -> bool:
        """Take note of a round's loss (rounds count from 1) and say whether to stop."""
        if loss < self.best - self.min_delta:
            self.best = loss
            self.best_round = round_number
        return round_number - self.best_round >= self.rounds


@dataclass
class TimeLimit:
    """Stop before a round that would end too late, if it took as long as the longest so far.

    Parameters
    ----------
    seconds : float
        How long a fit may take.
    began : float
        When it began, by `time.perf_counter`.
    """

    seconds: float
    began: float
    last: float = field(default_factory=time.perf_counter)
    longest: float = 0.0

    def exhausted(self) -> bool:
        """Take note that a round has ended and say whether to stop."""
        now = time.perf_counter()
        self.longest = max(self.longest, now - self.last)
        self.last = now
        return now + self.longest > self.began + self.seconds
