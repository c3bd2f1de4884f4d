"""The archive of Cassandra's classes, which `make test` writes before the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.cluster import jars
from tests import needs
from tests.cassandra_server import CassandraFailed, Ring


@needs.needs("java", "mvn")
def test_every_node_maps_it(cassandra_ring: Ring) -> None:
    if not jars.CLASSES.exists():
        needs.absent("needs the classes of Cassandra's JVM", "make test")
    (node,) = cassandra_ring.nodes
    assert str(jars.CLASSES) in Path(f"/proc/{node.pid}/maps").read_text(), "of another Java: remove it"


def test_java_that_wrote_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(CassandraFailed, match="no class data sharing"):
        jars.place_classes(tmp_path / "archive")
