"""An iterator on another thread: order, bounds, errors and its end."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from stagewise.datasets.read_ahead import read_ahead


def test_items_keep_their_order():
    assert list(read_ahead(range(100))) == list(range(100))


def test_items_are_made_on_another_thread():
    (name,) = read_ahead(threading.current_thread().name for _ in range(1))
    assert name != threading.current_thread().name


def test_the_number_of_items_that_wait_is_bounded():
    made = []

    def items():
        for k in range(50):
            made.append(k)
            yield k

    ahead = read_ahead(items(), depth=2)
    next(ahead)
    time.sleep(0.1)
    assert len(made) <= 4
    ahead.close()


def test_an_error_is_raised_after_the_items_before_it():
    def items():
        yield 1
        raise ValueError("broken")

    ahead = read_ahead(items())
    assert next(ahead) == 1
    with pytest.raises(ValueError, match="broken"):
        next(ahead)


def test_a_consumer_that_ends_early_ends_the_thread():
    closed = threading.Event()
    before = threading.active_count()

    def items():
        try:
            yield from iter(int, 1)  # without end
        finally:
            closed.set()

    ahead = read_ahead(items())
    next(ahead)
    ahead.close()
    assert closed.is_set()
    assert threading.active_count() == before


def test_an_interrupt_ends_the_wait_for_an_item():
    def items():
        main = threading.main_thread().ident
        signal.pthread_kill(main, signal.SIGINT)  # it waits for the item
        yield time.sleep(0.2)

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        list(read_ahead(items()))
    assert threading.active_count() == before
