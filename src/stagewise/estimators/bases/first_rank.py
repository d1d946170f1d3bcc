"""Fits of a cluster whose rows fit into the memory of one rank: it fits them, the others wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from stagewise.cluster.peers import Peers
from stagewise.training.reading.training_data import FitArguments

if TYPE_CHECKING:
    from stagewise.boosting.monitor import Progress

__all__ = ["fit_on_first_rank"]

Estimator = TypeVar("Estimator", bound=Any)


def fit_on_first_rank(
    estimator: Estimator, arguments: FitArguments | None, peers: Peers
) -> Estimator:
    """Fit an estimator on rank 0 and return it on all ranks.

    After every round the ranks meet, so that a fit that is cancelled, or whose ranks are lost,
    ends.

    Parameters
    ----------
    estimator : estimator
        It has the parameter `callbacks`.
    arguments : FitArguments or None
        The rows in memory; None on the other ranks.
    peers : Peers
        The ranks.
    """
    if arguments is None:
        state: dict[str, Any] | None = None
        while state is None:
            state = peers.gather(state)[0]
        estimator.__dict__.update(state)
        return estimator
    callbacks = estimator.callbacks

    def meet(_: Progress) -> None:
        peers.gather(None)

    estimator.callbacks = [*(callbacks or ()), meet]
    try:
        estimator._fit_rows(arguments)  # noqa: SLF001
    finally:
        estimator.callbacks = callbacks
    given = estimator.get_params(deep=False)  # they may be functions, and all ranks have them
    peers.gather({name: v for name, v in estimator.__dict__.items() if name not in given})
    return estimator
