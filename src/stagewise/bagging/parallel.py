"""A parallel map for fitting and prediction of base estimators, which can be cancelled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from threading import Condition
from typing import Any

import joblib

from stagewise._native import Cancellation, set_cancellation

__all__ = ["parallel_map"]

CANCEL_TIMEOUT = 1.0
"""Seconds to wait for cancelled tasks to end."""


def parallel_map(
    task: Callable[[Any], Any], items: Iterable[Any], threads: int
) -> Iterator[tuple[Any, Any]]:
    """Yield (item, task(item)) in the order of the items; tasks run in parallel.

    The tasks run in threads, unless ``joblib.parallel_config`` names another backend.

    Parameters
    ----------
    task : callable
        Is called with one item.
    items : iterable
        Is read in batches of two items per thread.
    threads : int
        The largest number of tasks that run at the same time.
    """
    if threads == 1:
        yield from ((item, task(item)) for item in items)
        return
    left, tasks = iter(items), _Cancellable(task)
    job = joblib.delayed(tasks)
    try:
        with joblib.Parallel(n_jobs=threads, prefer="threads") as parallel:
            while batch := list(islice(left, 2 * threads)):
                yield from zip(batch, parallel(job(item) for item in batch), strict=True)
    except BaseException:
        tasks.cancel()  # joblib does not wait for running threads
        raise


class _Cancellable:
    """A task that runs in many threads and can be cancelled in all of them."""

    def __init__(self, task: Callable[[Any], Any]) -> None:
        self._task = task
        self._cancellation = Cancellation()
        self._running = 0
        self._changed = Condition()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._task,)  # in another process, which joblib ends

    def __call__(self, item: Any) -> Any:
        with self._changed:
            if self._cancellation.cancelled():
                return None
            self._running += 1
        outer = set_cancellation(self._cancellation)
        try:
            return self._task(item)
        except BaseException:
            if self._cancellation.cancelled():
                return None  # the result is not read
            raise
        finally:
            set_cancellation(outer)
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def cancel(self) -> None:
        """Cancel the native work of all threads and wait until none runs the task.

        Code of other libraries cannot be cancelled, so the wait ends after `CANCEL_TIMEOUT`.
        """
        self._cancellation.cancel()
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0, timeout=CANCEL_TIMEOUT)
