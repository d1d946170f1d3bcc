"""What happens between two rounds: history, progress, callbacks, early stopping.

The one idea: the loop tells the monitor the losses of a round and the monitor says whether to stop;
nothing about watching a fit is in the loop. Must not touch scores or trees.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stagewise.boosting.progress import ProgressDisplay
from stagewise.boosting.stopping import Patience, TimeLimit

__all__ = ["Callback", "Monitor", "Progress"]


@dataclass(frozen=True, slots=True)
class Progress:
    """What a callback is told after every round.

    Attributes
    ----------
    round, n_rounds : int
        This round, from 1, and the last one planned.
    train_loss : float or None
        The mean training loss after this round, if it is measured.
    valid_loss : float or None
        The mean loss of the held-out rows, if there are any.
    best_round : int
        The round with the least validation loss so far (without held-out rows: this one).
    seconds : float
        Since the fit began to boost.
    """

    round: int
    n_rounds: int
    train_loss: float | None
    valid_loss: float | None
    best_round: int
    seconds: float


Callback = Callable[[Progress], bool | None]


class Monitor:
    """Watches the rounds of one fit.

    Parameters
    ----------
    n_rounds : int
        The last round planned, counting rounds of an earlier fit that is continued.
    patience : Patience or None
        Early stopping; None: run to the end.
    time_limit : TimeLimit or None
        When the next round would come too late; None: never.
    callbacks : sequence of callable
        Called with a `Progress` after every round; a true answer stops the fit.
    display : ProgressDisplay
        What the user sees.
    loss_scale : float
        What a loss is multiplied by to be in the units of the target.
    train_loss, valid_loss : list of float
        History of the rounds that are continued; extended here.
    """

    def __init__(
        self,
        n_rounds: int,
        *,
        patience: Patience | None,
        time_limit: TimeLimit | None = None,
        callbacks: Sequence[Callback],
        display: ProgressDisplay,
        loss_scale: float = 1.0,
        train_loss: list[float] | None = None,
        valid_loss: list[float] | None = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.patience = patience
        self.time_limit = time_limit
        self.train_loss = train_loss or []
        self.valid_loss = valid_loss or []
        self.last_round = len(self.train_loss)
        self.out_of_bag: list[float] = []
        self.ended = False
        self.stopped_because = ""
        self._callbacks = callbacks
        self._display = display
        self._loss_scale = loss_scale
        self._begin = time.perf_counter()
        if patience is not None:
            for number, loss in enumerate(self.valid_loss, start=1):
                patience.exhausted(number, loss)

    @property
    def best_round(self) -> int:
        """The round whose model is kept."""
        if self.patience is not None and self.valid_loss:
            return self.patience.best_round
        return self.last_round

    def after_round(
        self, round_number: int, train_loss: float | None, valid_loss: float | None
    ) -> bool:
        """Record a round; return True to stop."""
        self.last_round = round_number
        if train_loss is not None:
            self._refuse_nan(round_number, train_loss, "training")
            self.train_loss.append(train_loss * self._loss_scale)
        stop = False
        if valid_loss is not None:
            self._refuse_nan(round_number, valid_loss, "validation")
            self.valid_loss.append(valid_loss * self._loss_scale)
            if self.patience is not None and self.patience.exhausted(
                round_number, self.valid_loss[-1]
            ):
                stop = True
                self.stopped_because = (
                    f"no better validation loss for {self.patience.rounds} rounds"
                )
        if self.time_limit is not None and self.time_limit.exhausted():
            stop = True
            self.stopped_because = f"time_limit of {self.time_limit.seconds:g} s"
        progress = Progress(
            round_number,
            self.n_rounds,
            self.train_loss[-1] if train_loss is not None else None,
            self.valid_loss[-1] if valid_loss is not None else None,
            self.best_round,
            time.perf_counter() - self._begin,
        )
        self._display.show(progress)
        for callback in self._callbacks:
            if callback(progress):
                stop = True
                self.stopped_because = f"callback {callback!r} asked to stop"
        return stop

    def note_out_of_bag(self, improvement: float) -> None:
        """Record by how much a round improved the loss of the rows outside its bag."""
        self.out_of_bag.append(improvement * self._loss_scale)

    def close(self) -> None:
        """End what the user sees."""
        self._display.close()

    def end(self, reason: str) -> None:
        """Take note of why the method has no more rounds."""
        self.stopped_because = reason
        self.ended = True

    def _refuse_nan(self, round_number: int, loss: float, which: str) -> None:
        if not math.isfinite(loss):
            raise ValueError(
                f"the {which} loss became {loss} in round {round_number}: the fit diverged. "
                "Lower learning_rate, raise l2_regularization, or set max_step."
            )
