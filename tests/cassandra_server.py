"""A real Cassandra of the test session; the launcher itself is `deploy.cluster.ring`."""

from __future__ import annotations

from collections.abc import Iterator

from deploy.cluster.ports import free_ports
from deploy.cluster.ring import CassandraFailed, Node, Ring, Tuning

__all__ = ["CassandraFailed", "Node", "Ring", "Tuning", "free_ports", "session"]


def session() -> Iterator[Ring]:
    """For a fixture of scope session: one node, whose reads fail at few tombstones so that tests of that are quick."""
    with Ring(tuning=Tuning(tombstones_max=2_000, is_brief=True)) as ring:
        yield ring
