"""One FIFO group: cases found by random tests."""

from __future__ import annotations

from cqs.cache.entry import Entry
from cqs.cache.fifo_group import Group


def test_a_message_comes_back_though_all_behind_it_were_removed_meanwhile() -> None:
    group = Group("g")
    first, second = (Entry(address=number, sent_ms=0, group="g", sequence=number) for number in (1, 2))
    group.add(first)
    group.add(second)

    group.pop()
    group.discard(second)
    group.add(first)

    assert group.first(None) is first
    group.pop()
    assert group.is_empty
