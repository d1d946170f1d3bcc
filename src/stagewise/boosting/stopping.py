"""When to stop before the last round."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Patience"]


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
