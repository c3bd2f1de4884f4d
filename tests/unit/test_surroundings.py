"""What a server says of what it stands on, and how often it says it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from structlog.testing import capture_logs

from cqs.backends import CacheServers
from cqs.config import Config
from cqs.service.membership import Membership
from cqs.store.coordination import MemoryCluster, MemoryCoordination, Node
from cqs.store.interface import Store
from cqs.surroundings import Surroundings
from cqs.testing.clock import ManualClock


class Place:
    """A node on a store whose clock differs, and on Redis servers with these problems."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.ahead_ms = 0
        self.problems: dict[str, list[str]] = {}
        self.coordination = MemoryCoordination(MemoryCluster(self.clock))
        self.coordination.now_ms = self.store_ms  # type: ignore[method-assign]
        self.membership = Membership(self.coordination, self.clock, Node(name="here", started_ms=0, beat_ms=0))
        cache = cast(CacheServers, SimpleNamespace(reports=self.reports))
        self.surroundings = Surroundings(Config(), cast(Store, object()), cache, self.membership)

    async def store_ms(self) -> int:
        return self.clock.now_ms() - self.ahead_ms

    async def reports(self) -> dict[str, SimpleNamespace]:
        return {name: SimpleNamespace(problems=problems) for name, problems in self.problems.items()}

    async def look(self, **problems: str) -> list[tuple[str, str]]:
        """What it logs of a look, with these Redis servers and what each has to say."""
        self.problems = {name: [text] for name, text in problems.items()}
        with capture_logs() as logs:
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
