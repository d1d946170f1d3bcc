"""Clusters that tests share, and clusters that a test may destroy."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from distributed import Client

from cluster.clusters import make_cluster, start_threads


@pytest.fixture(scope="session")
def shared_client() -> Iterator[Client]:
    """Return the client of a cluster that tests share; they must leave it whole."""
    with make_cluster(2) as cluster, Client(cluster) as client:
        start_threads(client)
        yield client


@pytest.fixture
def client(shared_client: Client) -> Client:
    """Return the shared client when no task of an earlier test is left.

    Exceptions of earlier tests hold frames, and these hold futures, until they are collected. A
    worker that an earlier test killed was started again.
    """
    gc.collect()
    start_threads(shared_client)
    return shared_client


@pytest.fixture
def fragile() -> Iterator[Client]:
    """Return the client of a cluster of one test, which may destroy it."""
    with make_cluster(3) as cluster, Client(cluster) as client:
        yield client
