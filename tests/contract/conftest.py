"""Fixtures of the contract tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from cqs.store.cassandra import Options
from cqs.testing.clock import ManualClock
from tests import cassandra_server, redis_server
from tests.contract.cassandra_home import make_keyspace
from tests.contract.redis_address import point


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def redis_process() -> Iterator[redis_server.RedisProcess]:
    """One real Redis for all tests; each test leaves it empty."""
    yield from redis_server.session()


@pytest.fixture
def own() -> Iterator[redis_server.RedisProcess]:
    """A Redis that the test may stop or change."""
    with redis_server.RedisProcess() as process:
        yield process


@pytest.fixture
def processes() -> Iterator[list[redis_server.RedisProcess]]:
    """Two Redis servers of the test's own."""
    with redis_server.RedisProcess() as one, redis_server.RedisProcess() as two:
        yield [one, two]


@pytest.fixture
def address(tmp_path: Path, processes: list[redis_server.RedisProcess]) -> Path:
    """An address of one of the two servers, at first the first one; `point` changes it."""
    path = tmp_path / "redis"
    point(path, processes[0])
    return path


@pytest.fixture(scope="session")
def cassandra_ring() -> Iterator[cassandra_server.Ring]:
    """One real Cassandra node for all tests."""
    yield from cassandra_server.session()


@pytest.fixture(scope="session")
def keyspace(cassandra_ring: cassandra_server.Ring) -> Options:
    """A keyspace on it, with the tables."""
    options = cassandra_server.options_of(cassandra_ring, "contract")
    asyncio.run(make_keyspace(options))
    return options
