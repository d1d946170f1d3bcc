"""The history of losses and metrics, the progress display, callbacks and early stopping.

After each round the loop passes what was measured to the monitor, which returns whether to stop.
The monitor does not read scores or trees.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stagewise.boosting.progress import ProgressDisplay
from stagewise.boosting.stopping import EarlyStopping, TimeLimit
from stagewise.cluster.peers import ALONE, Peers
from stagewise.metrics import Metric
from stagewise.metrics.choice import LOSS

__all__ = ["HELD_OUT", "OUT_OF_BAG", "TRAIN", "Callback", "Evals", "Monitor", "Progress"]

TRAIN, HELD_OUT, OUT_OF_BAG = "train", "valid", "oob"
"""The names of the training rows, of the rows that are held out (a fraction, folds, or X_val), and
of the out-of-bag rows. No other set has them."""
Evals = Mapping[str, Mapping[str, float]]
"""The loss and the metrics of a round, by the name of the set and of the metric."""
ENVIRONMENT = {
    "iteration": "round, which counts from 1",
    "end_iteration": "n_rounds",
    "evaluation_result_list": "metrics, such as metrics['valid']['loss']",
}
"""Attributes of the environment of LightGBM's callbacks, and ours."""
WORDS = {HELD_OUT: "validation", OUT_OF_BAG: "out-of-bag", TRAIN: "training"}


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
    metrics : mapping
        The loss and the metrics of every set, such as {"valid": {"loss": 0.4, "auc": 0.9}}.
    """

    round: int
    n_rounds: int
    train_loss: float | None
    valid_loss: float | None
    best_round: int
    seconds: float
    metrics: Evals = field(default_factory=dict)

    if not TYPE_CHECKING:  # for a type checker, an unknown attribute is an error

        def __getattr__(self, name: str) -> object:
            """Raise AttributeError; for a name of LightGBM's callbacks, with what replaces it."""
            ours = ENVIRONMENT.get(name, "")
            hint = f" Here it is {ours}." if ours else ""
            raise AttributeError(f"'Progress' object has no attribute {name!r}.{hint}")


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
    loss_start : float
        What is added to the loss then, such as the log-likelihood of the scale of the target.
    history : dict
        The loss and the metrics of the fit that is continued, as `evals`.
    peers : Peers
        The ranks of a fit on a cluster. Only rank 0 measures time and calls the callbacks; the
        others stop when it does.
    save : callable or None
        Called with the number of each round after which the fit goes on, on every rank.
    decides : str
        The name of the set by which the fit stops.
    metric : Metric or None
        The metric that decides when to stop; None: the loss.

    Attributes
    ----------
    evals : dict
        The loss and the metrics after every round: {set: {metric: [values]}}.
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
        loss_start: float = 0.0,
        history: dict[str, dict[str, list[float]]] | None = None,
        peers: Peers = ALONE,
        save: Callable[[int], None] | None = None,
        decides: str = HELD_OUT,
        metric: Metric | None = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.early_stopping = early_stopping
        self.time_limit = time_limit
        self.evals = history or {}
        self.metric, self.decides = metric, decides
        self.last_round = len(self.train_loss)
        self.oob_improvement: list[float] = []
        self.ended = False
        self.stop_reason = ""
        self._callbacks = callbacks
        self._display = display
        self._loss_scale, self._loss_start = loss_scale, loss_start
        self._peers, self._save = peers, save
        self._begin = time.perf_counter()
        if early_stopping is not None:
            for number, loss in enumerate(self.valid_loss, start=1):
                early_stopping.should_stop(number, loss)

    @property
    def train_loss(self) -> list[float]:
        """The training loss after every round."""
        return self._values(TRAIN)

    @property
    def valid_loss(self) -> list[float]:
        """The loss of the set that decides, after every round."""
        return self._values(self.decides)

    def _values(self, name: str) -> list[float]:
        return self.evals.get(name, {}).get(LOSS, [])

    @property
    def best_round(self) -> int:
        """The round whose model is kept."""
        if self.early_stopping is not None and self.valid_loss:
            return self.early_stopping.best_round
        return self.last_round

    def rounds_at_once(self, most: int) -> int:
        """Return how many of the next rounds may run before they are recorded, at most `most`.

        There is one if something is done between rounds. A fit that may stop early runs the rounds
        before it can stop, or a sixteenth of its rounds so far if these are more: the rounds after
        its last one are in vain.
        """
        acts = self._callbacks or self._save is not None or self.time_limit is not None
        if acts or self._display.shows or self._peers is not ALONE:
            return 1
        if self.early_stopping is None:
            return most
        left = self.early_stopping.rounds_left(self.last_round)
        return max(1, min(most, max(left, self.last_round // 16)))

    def after_round(self, round_number: int, evals: Evals) -> bool:
        """Record a round; return True to stop."""
        self.last_round = round_number
        measured = self._scaled(round_number, evals)
        for name, values in measured.items():
            for metric, value in values.items():
                self.evals.setdefault(name, {}).setdefault(metric, []).append(value)
        stop = self.decides in measured and self._stops_early(round_number, measured[self.decides])
        progress = Progress(
            round_number,
            self.n_rounds,
            measured.get(TRAIN, {}).get(LOSS),
            measured.get(self.decides, {}).get(LOSS),
            self.best_round,
            time.perf_counter() - self._begin,
            measured,
        )
        self._display.show(progress)
        for reason in self._reasons(progress):
            stop, self.stop_reason = True, reason
        if not stop and self._save is not None:
            self._save(round_number)
        return stop

    def after_block(self, first: int, losses: Mapping[str, Sequence[float]]) -> bool:
        """Record the losses after each round of a block; return True to stop.

        Nothing is done between these rounds (`rounds_at_once`). Those after the one that stops the
        fit are left out.
        """
        measured = {name: self._scaled_losses(first, name, own) for name, own in losses.items()}
        n = len(next(iter(measured.values())))
        stop = False
        for i, loss in enumerate(measured.get(self.decides, ())):
            stop = self._stops_early(first + i, {LOSS: loss})
            if stop:
                n = i + 1
                break
        for name, own in measured.items():
            self.evals.setdefault(name, {}).setdefault(LOSS, []).extend(own[:n])
        self.last_round = first + n - 1
        return stop

    def _stops_early(self, round_number: int, values: Mapping[str, float]) -> bool:
        """Return whether the fit has had no better round for some time."""
        cost, name = values[LOSS], LOSS
        if self.metric is not None:
            name = f"{self.metric.name} or {LOSS}"
            cost = self.metric.cost(values[self.metric.name])
        rule = self.early_stopping
        if rule is None or not rule.should_stop(round_number, cost, values[LOSS]):
            return False
        rows = WORDS.get(self.decides, self.decides)
        self.stop_reason = f"no better {rows} {name} for {rule.rounds} rounds"
        return True

    def scaled_loss(self, loss: float) -> float:
        """Return a loss in units of the target."""
        return self._loss_start + self._loss_scale * loss

    def _scaled(self, round_number: int, evals: Evals) -> dict[str, dict[str, float]]:
        """Return the values with losses in units of the target; raise if one is not finite."""
        measured = {name: dict(values) for name, values in evals.items()}
        for name, values in measured.items():
            values[LOSS] = self._scaled_losses(round_number, name, [values[LOSS]])[0]
        return measured

    def _scaled_losses(self, first: int, name: str, losses: Sequence[float]) -> list[float]:
        """Return losses after rounds in units of the target; raise if one is not finite."""
        if not all(map(math.isfinite, losses)):
            i = next(i for i, loss in enumerate(losses) if not math.isfinite(loss))
            which = WORDS.get(name, repr(name))
            raise ValueError(
                f"the {which} loss became {losses[i]} in round {first + i}: the fit diverged. "
                "Lower learning_rate, raise l2_regularization, or set max_step."
            )
        return [self.scaled_loss(loss) for loss in losses]

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

    def replace_round(self, round_number: int, evals: Evals) -> None:
        """Record the values of a round whose terms were changed after it."""
        for name, values in self._scaled(round_number, evals).items():
            for metric, value in values.items():
                self.evals[name][metric][round_number - 1] = value

    def take_search(self, search: Monitor) -> None:
        """Record what the folds that chose the number of rounds have measured."""
        values = search.evals.get(search.decides, {})
        self.evals = {
            **{name: own for name, own in self.evals.items() if name == TRAIN},
            **({search.decides: values} if values else {}),
            **{name: own for name, own in self.evals.items() if name != TRAIN},
        }
        self.stop_reason = self.stop_reason or search.stop_reason

    def record_losses(self, losses: list[float]) -> None:
        """Record losses of the set that decides which are not those of rounds."""
        self.evals.setdefault(self.decides, {})[LOSS] = losses

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
