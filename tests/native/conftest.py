"""What the tests of the native core share."""

from __future__ import annotations

import pytest

from stagewise._native import Workers


@pytest.fixture(scope="session")
def workers() -> Workers:
    return Workers(2)
