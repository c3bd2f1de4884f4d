"""Fixtures of the contract tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import redis_server


@pytest.fixture(scope="session")
def redis_process() -> Iterator[redis_server.RedisProcess]:
    """One real Redis for all tests; each leaves it empty."""
    yield from redis_server.session()
