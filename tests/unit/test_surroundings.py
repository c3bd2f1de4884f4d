"""What a server logs about its environment, and how often."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import cast

import pytest
from structlog.testing import capture_logs

from cqs.backends import CacheServers
from cqs.config import Config
from cqs.errors import StoreUnavailable
from cqs.journal.journal import Journal
from cqs.service.membership import MISSED_MAX, Membership
from cqs.store.coordination import MemoryCluster, MemoryCoordination, Node
from cqs.store.interface import Store
from cqs.surroundings import Surroundings
from cqs.testing.clock import ManualClock


class Place:
    """A node with a store whose clock differs, and with Redis servers that have these problems."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.ahead_ms = 0
        self.problems: dict[str, list[str]] = {}
        self.coordination = MemoryCoordination(MemoryCluster(self.clock))
        self.coordination.now_ms = self.store_ms  # type: ignore[method-assign]
        self.coordination.is_reached = self.is_reached  # type: ignore[method-assign]
        self.refusal = ""
        self.is_any_part_there = True
        self.membership = Membership(self.coordination, self.clock, Node(name="here", started_ms=0, beat_ms=0))
        cache = cast(CacheServers, SimpleNamespace(reports=self.reports))
        self.journal = SimpleNamespace(trouble="")
        self.surroundings = Surroundings(
            Config(), cast(Store, object()), cache, self.membership, cast(Journal, self.journal)
        )

    async def is_reached(self) -> bool:
        return self.is_any_part_there

    async def store_ms(self) -> int:
        if self.refusal:
            raise StoreUnavailable(self.refusal)
        return self.clock.now_ms() - self.ahead_ms

    async def reports(self) -> dict[str, SimpleNamespace]:
        return {name: SimpleNamespace(problems=problems) for name, problems in self.problems.items()}

    async def look(self, **problems: str) -> list[tuple[str, str]]:
        """Returns what a check logs, with these Redis servers and their problems."""
        self.problems = {name: [text] for name, text in problems.items()}
        with capture_logs() as logs:
            with contextlib.suppress(StoreUnavailable):
                await self.membership.beat()
            await self.surroundings.look()
        return [(log["event"], log["reason"]) for log in logs]


@pytest.fixture
def place() -> Place:
    return Place()


async def test_a_trouble_is_logged_once_while_only_its_numbers_change_and_told_as_it_is_now(place: Place) -> None:
    logs = []
    for ahead_ms in (0, 3_600_000, 3_601_500, 3_700_000, 0, 0):
        place.ahead_ms = ahead_ms
        logs += await place.look()
        if ahead_ms == 3_700_000:
            assert [text.split(" the store's")[0] for text in place.surroundings.troubles] == [
                "This node's clock is 3700 s ahead of"
            ]

    assert [event for event, _ in logs] == ["trouble", "trouble_over"]
    assert place.surroundings.troubles == ()


async def test_troubles_of_two_servers_are_two_and_come_and_go_by_themselves(place: Place) -> None:
    assert await place.look(r1="3 keys too many", r2="3 keys too many") == [
        ("trouble", "Redis r1: 3 keys too many"),
        ("trouble", "Redis r2: 3 keys too many"),
    ]
    assert await place.look(r1="4 keys too many", r2="5 keys too many") == []
    assert await place.look(r2="6 keys too many") == [("trouble_over", "Redis r1: 4 keys too many")]
    assert await place.look(r2="away") == [
        ("trouble", "Redis r2: away"),
        ("trouble_over", "Redis r2: 6 keys too many"),
    ]


async def test_a_store_that_is_lost_as_a_whole_degrades_at_once_and_is_fatal_when_it_lasts(place: Place) -> None:
    place.is_any_part_there = False
    seen = []
    logs = []
    for beat in range(MISSED_MAX + 2):
        place.refusal = f"Cassandra at 10.0.0.1: no quorum ({beat})."
        logs += await place.look()
        seen.append((place.surroundings.fatal, *place.surroundings.troubles))
    place.refusal = ""
    logs += await place.look()

    for beat, (fatal, trouble) in enumerate(seen):
        assert f"no quorum ({beat})" in trouble
        assert fatal == (trouble if beat + 1 >= MISSED_MAX else "")
    assert (place.surroundings.fatal, place.surroundings.troubles) == ("", ())
    assert [event for event, _ in logs] == ["trouble", "trouble_over"]


async def test_a_store_of_which_a_part_answers_is_never_fatal(place: Place) -> None:
    place.refusal = "Cassandra at 10.0.0.1: no quorum."
    for _ in range(2 * MISSED_MAX):
        await place.look()

    assert place.surroundings.fatal == ""
    assert place.surroundings.troubles == (
        "The store is unreachable: sends and receives may fail. Cassandra at 10.0.0.1: no quorum.",
    )


async def test_a_single_beat_that_fails_between_good_ones_is_never_fatal(place: Place) -> None:
    place.is_any_part_there = False
    for beat in range(4 * MISSED_MAX):
        place.refusal = "no quorum" if beat % MISSED_MAX else ""
        await place.look()
        assert place.surroundings.fatal == ""


async def test_a_journal_that_can_not_be_written_is_a_trouble_until_it_can(place: Place) -> None:
    place.journal.trouble = "The event journal can't be written to /journal: No space left on device."

    assert await place.look() == [("trouble", place.journal.trouble)]
    assert place.surroundings.troubles == (place.journal.trouble,)
    assert place.surroundings.fatal == ""

    place.journal.trouble = ""
    assert [event for event, _ in await place.look()] == ["trouble_over"]
