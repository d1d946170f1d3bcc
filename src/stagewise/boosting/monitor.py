"""The history of losses, the progress display, callbacks and early stopping.

After each round the loop passes the losses to the monitor, which returns whether to stop. The
monitor does not read scores or trees.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stagewise.boosting.progress import ProgressDisplay
from stagewise.boosting.stopping import EarlyStopping, TimeLimit
from stagewise.cluster.peers import ALONE, Peers
from stagewise.metrics import Metric

__all__ = ["Callback", "Monitor", "Progress"]


@dataclass(frozen=True, slots=True)
class Progress:
    """The argument of a callback, which is called after every round.

    Attributes
    ----------
    round, n_rounds : int
        This round, from 1, and the last one planned.
    train_loss : float or None
        The mean training loss after this round, if it is measured.
    valid_loss : float or None
        The mean loss of the held-out rows, if there are any.
    best_round : int
        The round with the best validation metric, or the least validation loss, so far (without
        held-out rows: this one).
    seconds : float
        Since the fit began to boost.
    valid_metric : float or None
        The `eval_metric` of the held-out rows, if there is one.
    """

    round: int
    n_rounds: int
    train_loss: float | None
    valid_loss: float | None
    best_round: int
    seconds: float
    valid_metric: float | None = None


Callback = Callable[[Progress], bool | None]


class Monitor:
    """Records the rounds of one fit and decides when it stops.

    Parameters
    ----------
    n_rounds : int
        The last round planned, counting rounds of an earlier fit that is continued.
    early_stopping : EarlyStopping or None
        None: run all rounds.
    time_limit : TimeLimit or None
        None: no limit.
    callbacks : sequence of callable
        Called with a `Progress` after every round; the fit stops if one returns True.
    display : ProgressDisplay
        The progress bar or lines.
    loss_scale : float
        The factor from the units of the loss to those of the target.
    train_loss, valid_loss : list of float
        The history of the fit that is continued.
    peers : Peers
        The ranks of a fit on a cluster. Only rank 0 measures time and calls the callbacks; the
        others stop when it does.
    save : callable or None
        Called with the number of each round after which the fit goes on, on every rank.
    held_out : str
        Which rows the losses of `valid_loss` are those of.
    metric : Metric or None
        The metric that decides when to stop; None: the loss.
    """

    def __init__(
        self,
        n_rounds: int,
        *,
        early_stopping: EarlyStopping | None,
        time_limit: TimeLimit | None = None,
        callbacks: Sequence[Callback],
        display: ProgressDisplay,
        loss_scale: float = 1.0,
        train_loss: list[float] | None = None,
        valid_loss: list[float] | None = None,
        peers: Peers = ALONE,
        save: Callable[[int], None] | None = None,
        held_out: str = "validation",
        metric: Metric | None = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.early_stopping = early_stopping
        self.time_limit = time_limit
        self.train_loss = train_loss or []
        self.valid_loss = valid_loss or []
        self.valid_metric: list[float] = []
        self.metric = metric
        self.last_round = len(self.train_loss)
        self.oob_improvement: list[float] = []
        self.ended = False
        self.stop_reason = ""
        self._callbacks = callbacks
        self._display = display
        self._loss_scale = loss_scale
        self._peers, self._save, self._held_out = peers, save, held_out
        self._begin = time.perf_counter()
        if early_stopping is not None:
            for number, loss in enumerate(self.valid_loss, start=1):
                early_stopping.should_stop(number, loss)

    @property
    def best_round(self) -> int:
        """The round whose model is kept."""
        if self.early_stopping is not None and self.valid_loss:
            return self.early_stopping.best_round
        return self.last_round

    def after_round(
        self,
        round_number: int,
        train_loss: float | None,
        valid_loss: float | None,
        valid_metric: float | None = None,
    ) -> bool:
        """Record a round; return True to stop."""
        self.last_round = round_number
        if train_loss is not None:
            self._check_finite(round_number, train_loss, "training")
            self.train_loss.append(train_loss * self._loss_scale)
        stop = False
        if valid_loss is not None:
            self._check_finite(round_number, valid_loss, self._held_out)
            self.valid_loss.append(valid_loss * self._loss_scale)
            cost, name = self.valid_loss[-1], "loss"
            if self.metric is not None and valid_metric is not None:
                self.valid_metric.append(valid_metric)
                cost, name = self.metric.cost(valid_metric), self.metric.name
            if self.early_stopping is not None and self.early_stopping.should_stop(
                round_number, cost
            ):
                stop = True
                rounds = self.early_stopping.rounds
                self.stop_reason = f"no better {self._held_out} {name} for {rounds} rounds"
        progress = Progress(
            round_number,
            self.n_rounds,
            self.train_loss[-1] if train_loss is not None else None,
            self.valid_loss[-1] if valid_loss is not None else None,
            self.best_round,
            time.perf_counter() - self._begin,
            valid_metric,
        )
        self._display.show(progress)
        for reason in self._reasons(progress):
            stop, self.stop_reason = True, reason
        if not stop and self._save is not None:
            self._save(round_number)
        return stop

    def _reasons(self, progress: Progress) -> list[str]:
        """Return why the time limit and the callbacks end the fit, as rank 0 decides."""
        if self.time_limit is None and not self._callbacks:
            return []
        reasons = []
        if self._peers.rank == 0:
            if self.time_limit is not None and self.time_limit.should_stop():
                reasons.append(f"time_limit of {self.time_limit.seconds:g} s")
            ended = [callback for callback in self._callbacks if callback(progress)]
            reasons += [f"callback {callback!r} returned True" for callback in ended]
        return self._peers.share(reasons)

    def replace_losses(
        self,
        round_number: int,
        train_loss: float,
        valid_loss: float | None,
        valid_metric: float | None,
    ) -> None:
        """Record the losses of a round whose terms were changed after it."""
        if valid_metric is not None:
            self.valid_metric[round_number - 1] = valid_metric
        self.train_loss[round_number - 1] = train_loss * self._loss_scale
        if valid_loss is not None:
            self.valid_loss[round_number - 1] = valid_loss * self._loss_scale

    def record_oob_improvement(self, improvement: float) -> None:
        """Record the decrease of the loss of the out-of-bag rows in a round."""
        self.oob_improvement.append(improvement * self._loss_scale)

    def close(self) -> None:
        """End the progress display."""
        self._display.close(self.stop_reason)

    def end(self, reason: str) -> None:
        """Record why the method has no further round."""
        self.stop_reason = reason
        self.ended = True

    def _check_finite(self, round_number: int, loss: float, which: str) -> None:
        if not math.isfinite(loss):
            raise ValueError(
                f"the {which} loss became {loss} in round {round_number}: the fit diverged. "
                "Lower learning_rate, raise l2_regularization, or set max_step."
            )
