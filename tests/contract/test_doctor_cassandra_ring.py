"""`cqs doctor` on three nodes in two data centres: which nodes answer, and what they report about the others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cassandra import cluster as driver

from cqs.store.cassandra import Options, schema
from tests.cassandra_server import Ring, Tuning, options_of
from tests.integration.doctor_case import Told, doctor
from tests.needs import needs

pytestmark = [needs("java", "mvn"), pytest.mark.slow]
SLOW_S = 1.0


@pytest.fixture
def ring() -> Iterator[Ring]:
    with Ring(("dc1", "dc1", "dc2"), Tuning(is_brief=True, is_started_once=True)) as ring:
        asyncio.run(schema.apply(options_of(ring), {"dc1": 2, "dc2": 1}))
        yield ring


def told(options: Options, folder: Path) -> Told:
    return doctor("--data-dir", str(folder), "--cassandra", "127.0.0.1", "--cassandra-port", str(options.port),
                  "--cassandra-keyspace", options.keyspace, "--cassandra-datacenter", "dc1")  # fmt: skip


def silent(found: Told) -> list[str]:
    return [where for _, where, text, _ in found.findings if "the node does not answer" in text]


def test_all_nodes_answer_however_slowly_they_are_connected_to_and_one_that_is_killed_does_not(
    ring: Ring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = driver.HostConnection

    def slowly(host: driver.Host, *rest: object) -> object:
        if host.address != "127.0.0.1":
            threading.Event().wait(SLOW_S)
        return connect(host, *rest)

    monkeypatch.setattr(driver, "HostConnection", slowly)
    options = options_of(ring)

    whole = told(options, tmp_path)
    ring.nodes[2].kill()
    without_the_far_one = told(options, tmp_path)
    ring.nodes[1].kill()
    without_a_quorum = told(options, tmp_path)

    assert silent(whole) == []
    assert silent(without_the_far_one) == ["cassandra 127.0.0.3"]
    assert (whole.code, without_the_far_one.code) == (0, 0)
    assert silent(without_a_quorum) == ["cassandra 127.0.0.2", "cassandra 127.0.0.3"]
    ((text, to_do),) = [(text, to_do) for level, _, text, to_do in without_a_quorum.findings if level == "error"]
    assert "2 replicas are needed and 1 " in text
    assert to_do.startswith("start the nodes that do not answer")
