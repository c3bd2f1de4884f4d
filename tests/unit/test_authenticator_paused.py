"""A server whose process was paused for longer than it trusts its access keys reads them again before it refuses."""

from __future__ import annotations

import asyncio
import random

import pytest

from cqs.api.dispatch import Dispatcher
from cqs.api.origins import Origins
from cqs.api.request import Reply
from cqs.api.request_ids import RequestIds
from cqs.api.urls import BaseUrls
from cqs.errors import StoreUnavailable
from cqs.service import credentials
from cqs.service.credentials import STALE_MS_MAX
from tests.engine import until
from tests.unit.people import make_people
from tests.unit.signed_world import SignedWorld, make_signed_world, request_of, said

UNAVAILABLE = 503, "ServiceUnavailableException"


class Looks:
    """A world whose store of identities counts how often it is asked, and may fail or hang."""

    def __init__(self, world: SignedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.store = world.people.store
        self.asked = 0
        self.is_away = False
        self.answers = asyncio.Event()
        self.answers.set()
        self._version = self.store.identities_version
        monkeypatch.setattr(self.store, "identities_version", self._asked)
        self._dispatcher = Dispatcher(
            world.bench.engine,
            world.access,
            RequestIds(random.Random(1)),
            origins=Origins(),
            base_urls=BaseUrls(),
            catch_up=world.people.credentials.catch_up,
        )

    async def call(self) -> Reply:
        return await self._dispatcher.dispatch(request_of(self.world.signed("alice", "ListQueues")))

    def pause(self) -> None:
        self.world.people.clock.advance_ms(STALE_MS_MAX + 1)

    async def _asked(self) -> int:
        self.asked += 1
        await self.answers.wait()
        if self.is_away:
            raise StoreUnavailable("no quorum")
        return await self._version()


@pytest.fixture
async def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(await make_signed_world(), monkeypatch)


async def test_first_calls_after_a_pause_wait_for_one_look(looks: Looks) -> None:
    looks.pause()

    replies = await asyncio.gather(*(looks.call() for _ in range(20)))

    assert {reply.status for reply in replies} == {200}
    assert looks.asked == 1


async def test_a_key_that_was_disabled_meanwhile_is_refused(looks: Looks) -> None:
    looks.pause()
    await make_people(looks.store, looks.world.people.clock).accounts.set_key_enabled("AKIAALICE", False)

    assert said(await looks.call())[:2] == (403, "InvalidClientTokenId")


async def test_while_the_store_fails_only_the_first_call_asks_it(looks: Looks) -> None:
    looks.is_away = True
    looks.pause()

    replies = [await looks.call() for _ in range(3)]

    assert {said(reply)[:2] for reply in replies} == {UNAVAILABLE}
    assert looks.asked == 1

    looks.is_away = False
    await looks.world.people.credentials.refresh()
    assert (await looks.call()).status == 200


async def test_a_store_that_hangs_is_not_waited_for(looks: Looks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "CATCH_UP_S_MAX", 0.01)
    looks.answers.clear()
    looks.pause()

    assert said(await looks.call())[:2] == UNAVAILABLE

    looking = asyncio.create_task(looks.world.people.credentials.refresh())
    await until(lambda: looks.asked == 2)
    looks.pause()
    monkeypatch.setattr(credentials, "CATCH_UP_S_MAX", 600.0)
    assert said(await looks.call())[:2] == UNAVAILABLE

    looks.answers.set()
    await looking
