"""Definitions in rows that other versions have written, or whose cells are missing."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from cqs.store.coordination import Node
from cqs.store.definitions import Definitions
from cqs.store.interface import Unreadable

GOOD = '{"name":"a","started_ms":1,"beat_ms":2}'
A = Node(name="a", started_ms=1, beat_ms=2)
UNREADABLE = ["", "{", "null", "7", '{"name":"b"}', '{"name":"b","started_ms":"soon","beat_ms":2}', "[" * 100_000]


def test_a_list_has_what_can_be_read_and_nothing_of_rows_without_a_definition() -> None:
    with capture_logs() as logs:
        found = Definitions(Node).all([("ghost", None), ("a", GOOD)])

    assert (found, logs) == ([A], [])


@pytest.mark.parametrize("text", UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_can_not_be_read_is_left_out_and_told_by_name_once(text: str) -> None:
    nodes = Definitions(Node)

    with capture_logs() as logs:
        found = [nodes.all([("b", text), ("a", GOOD)]) for _ in range(3)]

    assert found == [[A]] * 3
    assert [(log["event"], log["log_level"]) for log in logs] == [("definition_not_read", "error")]
    assert "Node b " in logs[0]["reason"]


@pytest.mark.parametrize("text", [*UNREADABLE, None], ids=range(len(UNREADABLE) + 1))
def test_one_that_is_asked_for_by_name_and_can_not_be_read_is_refused_with_it(text: str | None) -> None:
    with pytest.raises(Unreadable, match=r"Node dc1/b can't be read"):
        Definitions(Node).one(text, "dc1", "b")


def test_what_a_newer_version_adds_is_no_matter() -> None:
    assert Definitions(Node).one(GOOD.replace("{", '{"mood":"good",'), "a") == A
