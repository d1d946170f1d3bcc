"""The collective operations and the exchange of threads."""

from __future__ import annotations

import time

import numpy as np
import pytest

from cluster.thread_exchange import run_ranks
from stagewise.cluster.exchange import (
    EpochError,
    Exchange,
    LocalExchange,
    all_gather,
    max_int64,
    reduce_scatter,
    sum_int64,
)


def values_of(rank: int, length: int) -> np.ndarray:
    return np.random.default_rng(rank).integers(-(2**63), 2**63 - 1, length)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("length", [0, 1, 7, 50_000])
def test_sum_of_ranks_is_the_sum_of_their_vectors(size: int, length: int) -> None:
    expected = sum((values_of(r, length) for r in range(size)), np.zeros(length, np.int64))
    for result in run_ranks(size, lambda x: sum_int64(x, values_of(x.rank, length))):
        assert result.tobytes() == expected.tobytes()


def test_reduce_scatter_returns_the_chunk_of_the_rank() -> None:
    total = sum(values_of(r, 10) for r in range(3))
    chunks = run_ranks(3, lambda x: reduce_scatter(x, values_of(x.rank, 10)))
    assert [chunk.tolist() for chunk in chunks] == [c.tolist() for c in np.split(total, [4, 7])]


def test_maximum_is_taken_element_by_element() -> None:
    expected = np.max([values_of(r, 9) for r in range(4)], axis=0)
    for result in run_ranks(4, lambda x: max_int64(x, values_of(x.rank, 9))):
        assert (result == expected).all()


def test_all_gather_keeps_rank_order_and_lengths() -> None:
    for gathered in run_ranks(3, lambda x: [bytes(b) for b in all_gather(x, b"ab" * x.rank)]):
        assert gathered == [b"", b"ab", b"abab"]


def test_one_rank_needs_no_peers() -> None:
    values = values_of(0, 5)
    assert (sum_int64(LocalExchange(), values) == values).all()


def test_a_failed_rank_ends_all_others_with_one_reason() -> None:
    reasons: dict[int, str] = {}

    def function(exchange: Exchange) -> None:
        if exchange.rank == 1:
            time.sleep(0.05)
            raise ValueError("on purpose")
        try:
            all_gather(exchange, b"")
        except EpochError as ended:
            reasons[exchange.rank] = str(ended)
            raise

    with pytest.raises(ValueError, match="on purpose"):
        run_ranks(4, function)
    assert len(reasons) == 3
    assert len(set(reasons.values())) == 1
