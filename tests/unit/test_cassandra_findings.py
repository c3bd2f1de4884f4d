"""What the doctor concludes about a Cassandra cluster: a node that does not answer hides no findings on the others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cassandra import ReadTimeout

from cqs.doctor.cassandra_checks import findings_of
from cqs.doctor.finding import Finding
from cqs.store.cassandra import Options
from cqs.store.cassandra.failures import reason_of
from cqs.store.cassandra.probe import Look, NodeLook

NODES = [NodeLook(f"10.0.0.{number}", "", "dc1", "5.0.6", "batch") for number in (1, 2, 3)]
COPIES = {"class": "org.apache.cassandra.locator.NetworkTopologyStrategy", "dc1": "3"}
UNREAD = "Cassandra at 10.0.0.1:9042: 2 replicas are needed and 1 are alive."


def found(look: Look, datacenter: str = "dc1") -> list[Finding]:
    return findings_of("cassandra", Options(datacenter=datacenter), look)


def silent(count: int) -> list[NodeLook]:
    """Returns nodes, of which the last ones do not answer."""
    gone = [NodeLook(node.address, "there is no connection to it.", "dc1") for node in NODES[3 - count :]]
    return [*NODES[: 3 - count], *gone]


def test_all_in_order() -> None:
    (one,) = found(Look(NODES, COPIES))

    assert (one.level, one.text) == ("ok", "Cassandra 5.0.6, 3 nodes, keyspace cqs in order")


def test_a_silent_node_does_not_hide_that_the_rest_is_in_order() -> None:
    node, cluster = found(Look(silent(1), COPIES))

    assert (node.level, node.part) == ("warning", "cassandra 10.0.0.3")
    assert (cluster.level, cluster.text) == ("ok", "Cassandra 5.0.6, 2 of 3 nodes answer, keyspace cqs in order")


@pytest.mark.parametrize(
    ("copies", "words"),
    [({"dc1": "4"}, "4 copies are wanted and there are 3 nodes"), ({"dc2": "3"}, "has no copies in dc1")],
)
def test_a_silent_node_does_not_hide_copies_that_are_wrong(copies: dict[str, str], words: str) -> None:
    texts = [one.text for one in found(Look(silent(1), {"class": COPIES["class"], **copies})) if one.level == "error"]

    assert any(words in text for text in texts), texts


def test_a_data_centre_whose_nodes_are_silent_is_still_one() -> None:
    away = replace(NODES[2], datacenter="dc2", problem="there is no connection to it.")

    told = found(Look([*NODES[:2], away], {**COPIES, "dc1": "2", "dc2": "1"}), "dc2")

    assert not [one for one in told if one.level == "error"]


@pytest.mark.parametrize(
    ("nodes", "unread", "words"),
    [
        (silent(2), UNREAD, "start the nodes that do not answer"),
        (NODES, UNREAD, "check whether enough nodes are up for its copies"),
        (NODES, "User eve has no SELECT permission on <table cqs.meta>", "GRANT"),
    ],
)
def test_a_schema_that_cannot_be_read_is_not_said_to_be_wrong(nodes: list[NodeLook], unread: str, words: str) -> None:
    (one,) = [one for one in found(Look(nodes, COPIES, unread=unread)) if one.level == "error"]

    assert one.text == unread
    assert one.to_do.startswith(words)
    assert "schema apply" not in one.to_do


def test_a_wrong_schema_is_told_with_the_command_that_makes_it() -> None:
    (one,) = found(Look(NODES, COPIES, schema_problem="no schema in keyspace cqs"))

    assert one.to_do.startswith("cqs schema apply")


def test_a_keyspace_of_an_earlier_version_is_told_with_what_it_lacks() -> None:
    (one,) = found(Look(NODES, COPIES, outstanding=["ALTER TABLE a WITH gc_grace_seconds = 60"]))

    assert (one.level, one.to_do) == ("warning", "cqs schema apply")
    assert "ALTER TABLE a " in one.text


def test_replicas_that_are_late_are_told_in_words() -> None:
    late = ReadTimeout("Error from server: code=1200", required_responses=2, received_responses=1)

    assert reason_of(late) == "2 replicas are needed and 1 answered in time."
