"""Any amount of bytes that are not HTTP costs no more than its error response."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp.http_exceptions import HttpProcessingError

from tests.collector import collector_off, lives
from tests.protocol.wire import POLL, answer
from tests.protocol.world import ANSWER_S_MAX, eventually, make_world, until_waiting

PIECE = bytes(100_000)


@pytest.mark.parametrize("is_fast", [True, False])
async def test_error_that_was_answered_is_let_go_of_without_garbage_collection(is_fast: bool) -> None:
    world = await make_world()
    async with world.listening(is_fast=is_fast) as door:
        reader, writer = await door.connect()
        with collector_off():
            writer.write(PIECE)
            assert b" 400 " in (await answer(reader)).splitlines()[0]
            writer.close()
            await eventually(lambda: len(door.app.connections) == 0)

            await eventually(lambda: not lives(HttpProcessingError))


async def test_what_follows_an_error_is_not_parsed() -> None:
    world = await make_world(waits=True)
    async with world.listening(is_fast=False) as door:
        reader, writer = await door.connect()
        writer.write(POLL)
        await until_waiting(world)
        (connection,) = door.app.connections
        for _ in range(20):
            writer.write(PIECE)
            await asyncio.wait_for(writer.drain(), ANSWER_S_MAX)
        messages = connection._messages  # type: ignore[attr-defined]
        await eventually(lambda: len(messages) > 0)

        assert [len(problem.message) < 1_000 for problem, _ in messages] == [True]
        world.bench.engine.waiters.end_all()
        assert b" 200 " in (await answer(reader)).splitlines()[0]
        assert b" 400 " in (await answer(reader)).splitlines()[0]
        writer.close()
