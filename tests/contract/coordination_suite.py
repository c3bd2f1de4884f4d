"""The contract of every `Coordination`. A backend's test class inherits this and defines `here` and `there` (two nodes
of one data centre) and `abroad` (a node of another). Each test uses new names, so leftovers of other tests don't
matter."""

from __future__ import annotations

import asyncio
import random

import msgspec
import pytest

from cqs.store.coordination import Coordination, DirtyMark, Home, News, Node

LONG_MS = 60_000


class CoordinationContract:
    """Nodes, leadership, homes, dirty marks and news."""

    @pytest.fixture
    def number(self) -> int:
        return random.getrandbits(46)

    @pytest.fixture
    def name(self, number: int) -> str:
        return f"n{number}"

    async def test_a_node_that_beats_is_known_to_its_data_centre(
        self, here: Coordination, there: Coordination, abroad: Coordination, name: str
    ) -> None:
        node = Node(name=name, url="http://10.0.0.1:9324", started_ms=1, beat_ms=2)
        later = msgspec.structs.replace(node, beat_ms=3, lost=("redis-1",))
        await here.beat(node, LONG_MS)
        await here.beat(later, LONG_MS)

        assert later in await there.nodes()
        assert later in await abroad.nodes("dc1")
        assert name not in {one.name for one in await abroad.nodes()}

    async def test_one_leads_until_he_resigns(self, here: Coordination, there: Coordination, name: str) -> None:
        taken = await here.lead(name, "a", LONG_MS)
        refused = await there.lead(name, "b", LONG_MS)
        renewed = await here.lead(name, "a", LONG_MS)
        await there.resign(name, "b")
        still_refused = await there.lead(name, "b", LONG_MS)
        await here.resign(name, "a")

        assert (taken, refused, renewed, still_refused) == (True, False, True, False)
        assert await there.lead(name, "b", LONG_MS)

    async def test_of_many_who_want_to_lead_one_does(self, here: Coordination, there: Coordination, name: str) -> None:
        wishes = [node.lead(name, f"{who}", LONG_MS) for who, node in enumerate([here, there] * 4)]

        assert sum(await asyncio.gather(*wishes)) == 1

    async def test_a_home_is_taken_once_and_changes_hands_with_a_new_epoch(
        self, here: Coordination, there: Coordination, abroad: Coordination, number: int
    ) -> None:
        nobodys = await here.home(number, 0)
        first = await here.take_home(number, 0, None)
        late = await there.take_home(number, 0, None)
        moved = await abroad.take_home(number, 0, first)
        stale = await here.take_home(number, 0, first)

        assert (nobodys, late, stale) == (None, None, None)
        assert first is not None
        assert moved is not None
        assert first == Home(number, 0, "dc1", 1, first.taken_ms)
        assert moved == Home(number, 0, "dc2", 2, moved.taken_ms)
        assert 0 < first.taken_ms <= moved.taken_ms
        assert await here.home(number, 0) == moved
        assert await here.home(number, 1) is None

    async def test_the_store_has_the_time(self, here: Coordination, there: Coordination) -> None:
        before = await here.now_ms()

        assert before > 0
        assert await there.now_ms() >= before

    async def test_a_store_that_answers_is_reached(self, here: Coordination) -> None:
        assert await here.is_reached()

    async def test_a_dirty_mark_stays_until_it_is_repaired(
        self, here: Coordination, there: Coordination, abroad: Coordination, number: int
    ) -> None:
        mark = DirtyMark(storage_id=number, node="a", since_ms=5, low_address=1 << 100, high_address=(1 << 121) + 7)
        wider = msgspec.structs.replace(mark, low_address=3)
        other = msgspec.structs.replace(mark, node="b")
        for one in (mark, wider, other):
            await here.mark_dirty(one)

        def ours(marks: list[DirtyMark]) -> list[DirtyMark]:
            return sorted([one for one in marks if one.storage_id == number], key=lambda one: one.node)

        assert ours(await there.dirty_marks()) == [wider, other]
        assert ours(await abroad.dirty_marks()) == []
        await there.repaired(wider)
        assert ours(await here.dirty_marks()) == [other]

    async def test_a_mark_is_only_for_the_data_centre_that_it_names(
        self, here: Coordination, abroad: Coordination, number: int
    ) -> None:
        mark = DirtyMark(storage_id=number, node="a", since_ms=5, low_address=0, high_address=1 << 100)
        await here.mark_dirty(mark, "dc2")

        assert mark not in await here.dirty_marks()
        assert mark in await abroad.dirty_marks()
        await abroad.repaired(mark)
        assert mark not in await abroad.dirty_marks()

    async def test_news_is_heard_once_by_everybody(self, here: Coordination, there: Coordination, name: str) -> None:
        for node in (here, there):
            await node.news()
        await here.announce(News("queue", name))
        await there.announce(News("queue", name + "-2"))

        def ours(news: list[News] | None) -> set[str]:
            return {one.subject for one in news or [] if one.subject.startswith(name)}

        assert ours(await here.news()) == ours(await there.news()) == {name, name + "-2"}
        assert ours(await here.news()) == ours(await there.news()) == set()
