"""`cqs doctor` on a real Cassandra, and a server start while the cluster is not ready."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from cqs.store.cassandra import Options
from tests.cassandra_server import Ring, options_of
from tests.contract.cassandra_home import ask, make_keyspace
from tests.integration.doctor_case import Told, doctor
from tests.integration.process import refused
from tests.needs import needs

pytestmark = [needs("java", "mvn"), pytest.mark.slow]


@pytest.fixture
def options(cassandra_ring: Ring) -> Iterator[Options]:
    """Options with the test's own keyspace, which does not exist yet and is dropped afterwards."""
    options = options_of(cassandra_ring, "examined")
    yield options
    asyncio.run(ask(options_of(cassandra_ring, "system"), "DROP KEYSPACE IF EXISTS examined"))


def flags(options: Options, folder: Path) -> list[str]:
    return ["--data-dir", str(folder), "--cassandra", options.hosts[0], "--cassandra-port", str(options.port),
            "--cassandra-keyspace", options.keyspace]  # fmt: skip


def told(options: Options, folder: Path, *more: str) -> Told:
    return doctor(*flags(options, folder), *more)


def test_schema_that_is_missing(options: Options, tmp_path: Path) -> None:
    found = told(options, tmp_path)
    code, line = refused("--port", "0", *flags(options, tmp_path))

    assert found.code == 1
    ((level, text),) = found.about("cassandra")
    assert level == "error"
    assert "has no schema in keyspace examined: run `cqs schema apply`" in text
    assert (code, line) == (1, f"cqs: {text}\n")


def test_schema_of_another_version(options: Options, tmp_path: Path) -> None:
    asyncio.run(make_keyspace(options))
    asyncio.run(ask(options, "UPDATE meta SET value = '99' WHERE name = 'schema_version'"))

    found = told(options, tmp_path)
    code, line = refused("--port", "0", *flags(options, tmp_path))

    assert [text for level, text in found.about("cassandra") if level == "error" and "schema version 99" in text]
    assert code == 1
    assert "has schema version 99, this cqs-server needs version" in line
    assert line.count("\n") == 1


def test_one_copy_and_the_name_of_a_data_centre(options: Options, tmp_path: Path) -> None:
    asyncio.run(make_keyspace(options))

    in_order = told(options, tmp_path, "--cassandra-datacenter", "dc1")
    elsewhere = told(options, tmp_path, "--cassandra-datacenter", "dc9")

    assert in_order.code == 0
    assert in_order.about("cassandra") == [("warning", "1 copy: a lost node loses messages")]
    assert elsewhere.code == 1
    assert ("error", "there is no data centre dc9, only dc1") in elsewhere.about("cassandra")


@pytest.mark.parametrize(
    ("replication", "words"),
    [
        ("{'class': 'SimpleStrategy', 'replication_factor': 1}", "is not replicated by data centre"),
        ("{'class': 'NetworkTopologyStrategy', 'dc1': 3}", "3 copies are wanted and there is 1 node"),
    ],
)
def test_copies_that_do_not_fit(options: Options, tmp_path: Path, replication: str, words: str) -> None:
    asyncio.run(make_keyspace(options))
    asyncio.run(ask(options, f"ALTER KEYSPACE examined WITH replication = {replication}"))

    assert [text for level, text in told(options, tmp_path).about("cassandra") if level == "error" and words in text]
