"""A real Cassandra for the test session. The launcher itself is `deploy.cluster.ring`."""

from __future__ import annotations

from collections.abc import Iterator

from cqs.store.cassandra import Options
from deploy.cluster.jars import CassandraFailed
from deploy.cluster.ports import free_ports
from deploy.cluster.ring import Node, Ring, Tuning

__all__ = ["CassandraFailed", "Node", "Ring", "Tuning", "free_ports", "options_of", "session"]
_ANSWER_MS = 30_000
"""A node that shares two cores with all tests may take more than 5 s to connect to, and more than 3 s to answer."""


def options_of(ring: Ring, keyspace: str = "cqs") -> Options:
    """Options to connect to the ring, with long timeouts."""
    hosts = tuple(ring.contact_points)
    return Options(hosts=hosts, port=ring.port, keyspace=keyspace, connect_ms=_ANSWER_MS, request_ms=_ANSWER_MS)


def session() -> Iterator[Ring]:
    """For a session-scoped fixture: one node, with a low tombstone failure threshold to keep those tests quick."""
    with Ring(tuning=Tuning(tombstones_max=2_000, is_brief=True, is_started_once=True)) as ring:
        yield ring
