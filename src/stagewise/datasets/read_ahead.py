"""Runs an iterator ahead of its consumer, on a thread of its own.

A bounded queue connects both: while the consumer works on an item, the next ones are made. An
exception of the iterator is raised in the consumer at its place in the order; a consumer that ends
early ends the thread.
"""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
from collections.abc import Generator, Iterable
from typing import Any, TypeVar

__all__ = ["read_ahead"]

Item = TypeVar("Item")

POLL = 0.05
"""Seconds between two checks whether the consumer has ended."""
_END = object()


class _Failure:
    """An exception of the iterator."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def read_ahead(items: Iterable[Item], depth: int = 2) -> Generator[Item]:
    """Yield the items of an iterable that runs on another thread.

    Parameters
    ----------
    items : iterable
        Its items are made one after another, by one thread.
    depth : int
        The largest number of items that wait. One more is being made.

    Yields
    ------
    item
        In the order of the iterable.
    """
    waiting: queue.Queue[Any] = queue.Queue(depth)
    ended = threading.Event()
    context = contextvars.copy_context()
    arguments = (items, waiting, ended)
    thread = threading.Thread(target=context.run, args=(_produce, *arguments), daemon=True)
    try:
        thread.start()  # an interrupt may arrive while it waits for the thread
        while (item := waiting.get()) is not _END:
            if isinstance(item, _Failure):
                raise item.error
            yield item
    finally:
        ended.set()
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.get_nowait()
        if thread.is_alive():
            thread.join()


def _produce(items: Iterable[Any], waiting: queue.Queue[Any], ended: threading.Event) -> None:
    """Put the items, and then the end or the exception, into a queue."""
    try:
        iterator = iter(items)
        try:
            for item in iterator:
                if not _put(item, waiting, ended):
                    return
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()
    except BaseException as error:
        _put(_Failure(error), waiting, ended)
    else:
        _put(_END, waiting, ended)


def _put(item: Any, waiting: queue.Queue[Any], ended: threading.Event) -> bool:
    """Wait for a place in the queue; return False if the consumer has ended."""
    while not ended.is_set():
        try:
            waiting.put(item, timeout=POLL)
        except queue.Full:
            continue
        return True
    return False
