"""Slow, silent and too many clients, with limits short enough for a test. No test here depends on its speed."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from cqs.api.http.bounds import Bounds
from cqs.api.http.connection import Connection
from cqs.api.lane import Lane
from tests.protocol.world import ANSWER_S_MAX, Door, eventually, make_world, read_answer

pytestmark = pytest.mark.usefixtures("looks_often")
SHORT_S = 0.05
HEAD_S = 60.0
HEAD = b"POST / HTTP/1.1\r\nHost: a\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nx-amzn-query-mode: true\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"


async def everything(reader: asyncio.StreamReader) -> bytes:
    """Returns everything received until the server closes the connection."""
    async with asyncio.timeout(ANSWER_S_MAX):
        return await reader.read()


async def until_open(door: Door, count: int) -> None:
    await eventually(lambda: len(door.app.connections) == count)


async def long_after(door: Door, reader: asyncio.StreamReader) -> bytes:
    """Returns everything received if HEAD_S pass, again and again: only the server's clock runs ahead."""
    loop = asyncio.get_running_loop()
    end = asyncio.ensure_future(everything(reader))
    while not end.done():
        door.app.connections.sweep(loop.time() + HEAD_S + 1)
        await asyncio.wait([end], timeout=SHORT_S / 5)
    return end.result()


def has_begun(guest: object) -> bool:
    """Whether a part of a request has arrived."""
    if isinstance(guest, Lane):
        return guest._size > 0
    assert isinstance(guest, Connection)
    return guest._has_heard


async def test_silent_connection_is_closed_without_a_word() -> None:
    world = await make_world()
    async with world.listening(Bounds(header_s_max=SHORT_S)) as door:
        reader, writer = await door.connect()

        assert await everything(reader) == b""
        writer.close()
        await until_open(door, 0)


@pytest.mark.parametrize("part", [b"P", b"POST / HTTP/1.1\r\nHost: a\r\nX-", HEAD])
async def test_half_a_head_is_answered_with_408(part: bytes) -> None:
    world = await make_world()
    async with world.listening(Bounds(header_s_max=HEAD_S)) as door:
        reader, writer = await door.connect()

        writer.write(part)
        await eventually(lambda: any(map(has_begun, door.app.connections)))

        assert (await long_after(door, reader)).startswith(b"HTTP/1.1 408 ")
        writer.close()


async def test_dripping_head_does_not_move_the_deadline() -> None:
    world = await make_world()
    async with world.listening(Bounds(header_s_max=1.0)) as door:
        reader, writer = await door.connect()
        end = asyncio.ensure_future(everything(reader))

        writer.write(HEAD)
        while not end.done():
            writer.write(b"X")
            await asyncio.wait([end], timeout=SHORT_S / 5)

        with suppress(ConnectionResetError):
            assert (await end).startswith(b"HTTP/1.1 408 ")
        writer.close()
        await until_open(door, 0)


async def test_second_request_of_a_connection_has_the_same_deadline() -> None:
    world = await make_world()
    async with world.listening(Bounds(header_s_max=HEAD_S)) as door:
        reader, writer = await door.connect()
        writer.write(HEALTH)
        assert (await read_answer(reader)).status == 200

        writer.write(HEAD)

        assert (await long_after(door, reader)).startswith(b"HTTP/1.1 408 ")
        writer.close()


@pytest.mark.parametrize(
    ("sent", "bounds"),
    [
        (b"Content-Length: 20\r\n\r\n{}", Bounds(body_grace_s=SHORT_S)),
        (b"Content-Length: 20\r\n\r\n", Bounds(body_grace_s=SHORT_S)),
        (b"Transfer-Encoding: chunked\r\n\r\n5\r\n{}", Bounds(body_grace_s=SHORT_S)),
        (b"Transfer-Encoding: chunked\r\n\r\n2;" + b"a" * 9_000, Bounds(body_grace_s=SHORT_S)),
        (b"Content-Length: 90000\r\n\r\n" + b" " * 80_000, Bounds(body_s_max=SHORT_S, body_grace_s=60)),
    ],
)
async def test_body_that_does_not_come_is_answered_with_408(sent: bytes, bounds: Bounds) -> None:
    world = await make_world()
    async with world.listening(bounds) as door:
        reader, writer = await door.connect()

        writer.write(HEAD + sent)
        answer = await read_answer(reader)
        writer.close()

    assert (answer.status, answer.code) == (408, "RequestTimeout")


async def test_idle_connection_is_closed_after_a_while() -> None:
    world = await make_world()
    async with world.listening(Bounds(idle_s_max=SHORT_S)) as door:
        reader, writer = await door.connect()
        writer.write(HEALTH)
        assert (await read_answer(reader)).status == 200

        assert await everything(reader) == b""
        writer.close()


@pytest.mark.parametrize("bounds", [Bounds(connections_max=2), Bounds(connections_per_address_max=2)])
async def test_connection_beyond_the_bound_is_turned_away_until_another_leaves(bounds: Bounds) -> None:
    world = await make_world()
    async with world.listening(bounds) as door:
        first, second = await door.connect(), await door.connect()
        await until_open(door, 2)

        third = await door.connect()
        assert (await everything(third[0])).startswith(b"HTTP/1.1 503 ")
        first[1].close()
        await until_open(door, 1)
        answer = await door.exchange(HEALTH)

        assert answer.status == 200
        for _, writer in (second, third):
            writer.close()


@pytest.mark.parametrize("length", [b"Content-Length: 1001", b"Content-Length: 99999999999"])
async def test_too_large_body_is_refused_before_it_is_sent(length: bytes) -> None:
    world = await make_world()
    async with world.listening(Bounds(body_bytes_max=1_000, linger_s_max=SHORT_S)) as door:
        answer = await door.exchange(HEAD + length + b"\r\nExpect: 100-continue\r\n\r\n")

    assert (answer.status, answer.code) == (413, "RequestEntityTooLarge")


async def test_too_large_chunked_body_is_refused_while_it_comes() -> None:
    world = await make_world()
    async with world.listening(Bounds(body_bytes_max=1_000, linger_s_max=SHORT_S)) as door:
        chunk = b"190\r\n" + b" " * 400 + b"\r\n"
        answer = await door.exchange(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 3)

    assert (answer.status, answer.code) == (413, "RequestEntityTooLarge")


async def test_body_of_exactly_the_bound_is_read() -> None:
    world = await make_world()
    async with world.listening(Bounds(body_bytes_max=1_000)) as door:
        plain = await door.exchange(HEAD + b"Content-Length: 1000\r\n\r\n{" + b" " * 998 + b"}")
        chunked = await door.exchange(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n3e8\r\n{" + b" " * 998 + b"}\r\n0\r\n\r\n"
        )

    assert (plain.status, chunked.status) == (200, 200)


async def test_client_that_leaves_in_the_middle_of_a_body_leaves_nothing_behind() -> None:
    world = await make_world()
    before = world.state()
    async with world.listening() as door:
        _, writer = await door.connect()
        writer.write(HEAD.replace(b"ListQueues", b"CreateQueue") + b'Content-Length: 18\r\n\r\n{"QueueName":"n"')
        await writer.drain()
        await until_open(door, 1)
        writer.close()
        await until_open(door, 0)

    assert world.state() == before
