"""The fast lane over the life of a connection: hand-over, pipelining, deadlines, backpressure and closing."""

from __future__ import annotations

import asyncio

import pytest

from cqs.api.http.bounds import Bounds
from cqs.api.lane import Lane
from tests.protocol.wire import POLL, PROBE, answer, wire
from tests.protocol.world import ANSWER_S_MAX, Door, json_request, make_world, until_waiting


async def test_pipelined_requests_are_answered_in_order_by_both() -> None:
    for is_fast in (True, False):
        world = await make_world()
        async with world.listening(is_fast=is_fast) as door:
            reader, writer = await door.connect()
            for number in range(5):
                body = b'{"QueueUrl":"/000000000000/orders","MessageBody":"%d"}' % number
                writer.write(wire(json_request("SendMessage", body)))
            answers = [await answer(reader) for _ in range(5)]
            writer.close()

            assert all(b"MD5OfMessageBody" in one for one in answers)
            assert [m.message.body for m in await world.bench.receive(world.standard, count_max=10)] == list("01234")


async def test_a_plain_connection_never_meets_aiohttp() -> None:
    world = await make_world()
    async with world.listening() as door:
        reader, writer = await door.connect()
        for _ in range(3):
            writer.write(PROBE)
            await answer(reader)

        assert [type(guest) for guest in guests(door)] == [Lane]
        writer.close()


async def test_a_connection_is_handed_over_once_and_stays() -> None:
    world = await make_world()
    async with world.listening() as door:
        reader, writer = await door.connect()
        writer.write(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b'"ok"' in await answer(reader)
        writer.write(PROBE)
        assert b"200 OK" in await answer(reader)

        assert Lane not in [type(guest) for guest in guests(door)]
        assert len(door.app.connections) == 1
        writer.close()


@pytest.mark.usefixtures("looks_often")
async def test_an_unfinished_request_gets_the_deadlines_of_aiohttp() -> None:
    world = await make_world()
    async with world.listening(Bounds(body_grace_s=0.2)) as door:
        reader, writer = await door.connect()
        writer.write(PROBE[:-1])

        assert b" 408 " in (await answer(reader)).splitlines()[0]
        writer.close()


async def test_a_silent_and_an_idle_connection_are_closed() -> None:
    world = await make_world()
    async with world.listening(Bounds(header_s_max=0.2, idle_s_max=0.2)) as door:
        silent, silent_writer = await door.connect()
        idle, writer = await door.connect()
        writer.write(PROBE)
        await answer(idle)

        async with asyncio.timeout(ANSWER_S_MAX):
            assert await silent.read() == b""
            assert await idle.read() == b""
        silent_writer.close()
        writer.close()


async def test_a_client_that_does_not_read_is_not_read_from_either() -> None:
    world = await make_world()
    await world.bench.send(world.standard, "." * 1_000_000)
    async with world.listening() as door:
        reader, writer = await door.connect()
        peek, count = b'{"QueueUrl":"/000000000000/orders","VisibilityTimeout":0}', 16
        for _ in range(count):
            writer.write(wire(json_request("ReceiveMessage", peek)))
        bodies = [await answer(reader) for _ in range(count)]
        writer.close()

        assert [len(body) > 1_000_000 for body in bodies] == [True] * count


@pytest.mark.usefixtures("looks_often")
async def test_stopping_answers_what_was_accepted_and_closes_what_is_idle() -> None:
    world = await make_world(waits=True)
    async with world.listening() as door:
        idle, idle_writer = await door.connect()
        poller, writer = await door.connect()
        writer.write(POLL)
        await until_waiting(world)

        world.bench.engine.waiters.end_all()
        await door.app.stop()

        assert b"200 OK" in await answer(poller)
        assert await idle.read() == b""
        writer.close()
        idle_writer.close()


def guests(door: Door) -> list[object]:
    return list(door.app.connections)
