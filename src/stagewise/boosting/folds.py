"""How many rounds, by cross-validation.

The one idea: the folds' models are grown side by side, a round of each at a time, so that the mean
loss of the held-out rows is known after every round and patience can be asked as of one model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from stagewise.boosting.loop import Boosting
from stagewise.boosting.monitor import Monitor

__all__ = ["boost_side_by_side"]


def boost_side_by_side(models: Sequence[Boosting], rounds: Iterable[int], monitor: Monitor) -> None:
    """Run rounds of every model until they or the monitor end; keep the best.

    Losses are weighted means.

    Parameters
    ----------
    models : sequence of Boosting
        One for each fold, with the rows that it holds out.
    rounds : iterable of int
        The numbers of the rounds.
    monitor : Monitor
        Is told the mean losses, says when to stop.
    """
    weights = [0.0 if m.valid is None else m.valid.total_weight for m in models]
    ended: dict[int, tuple[float, float]] = {}
    for m in rounds:
        losses = []
        for fold, model in enumerate(models):
            if fold in ended:
                losses.append(ended[fold])
                continue
            outcome = model.round(m)
            losses.append((outcome.train_loss, outcome.valid_loss or 0.0))
            if outcome.last:
                ended[fold] = losses[-1]
        train, valid = np.average(losses, axis=0, weights=weights)
        stop = monitor.after_round(m + 1, float(train), float(valid))
        for model in models:
            model.remember(monitor.best_round)
        if stop:
            break
        if len(ended) == len(models):
            monitor.end("no fold has another round to take")
            break
    for model in models:
        model.rewind(monitor.best_round)
