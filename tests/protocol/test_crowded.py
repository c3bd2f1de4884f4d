"""More unfinished requests than the memory limit allows, over real sockets: memory stays bounded, slow clients are told
to retry, and every complete request is served."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import pytest

from cqs.api.http.bounds import Bounds
from cqs.api.http.room import PLACE_FREE
from tests.protocol.world import (
    ANSWER_S_MAX,
    STANDARD,
    Answer,
    Door,
    eventually,
    make_world,
    read_answer,
    until_waiting,
)

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]
ROOM = 1_000_000
BODY = json.dumps({"QueueUrl": STANDARD, "MessageBody": "x" * 200_000}).encode()
SMALL = json.dumps({"QueueUrl": STANDARD, "MessageBody": "x" * 10_000}).encode()
PART = 150_000
MANY = 20
HEAD = b"POST / HTTP/1.1\r\nHost: a\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nx-amzn-query-mode: true\r\n"
BOTH_LANES = pytest.mark.parametrize("is_fast", [True, False])


def request(body: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


async def begin(door: Door, size: int) -> Client:
    """Opens a connection and sends that much of the body."""
    reader, writer = await door.connect()
    whole = request(BODY)
    writer.write(whole[: whole.index(b"\r\n\r\n") + 4 + size])
    await writer.drain()
    return reader, writer


async def crowd(door: Door) -> list[Client]:
    """Opens connections one after another that stop in the middle of a request, more than the limit allows."""
    clients = []
    for number in range(1, MANY + 1):
        clients.append(await begin(door, PART))
        await eventually(lambda number=number: arrived(door, number))  # type: ignore[misc]
    return clients


def arrived(door: Door, number: int) -> bool:
    room = door.app.room
    return room.crowded_out * PART + room.held >= number * PART


async def answers_of(clients: list[Client]) -> list[Answer]:
    return [await read_answer(reader) for reader, _ in clients]


def leave(clients: list[Client]) -> None:
    for _, writer in clients:
        writer.close()


@BOTH_LANES
async def test_slow_clients_make_way_and_are_told_to_come_again(is_fast: bool) -> None:
    world = await make_world()
    async with world.listening(Bounds(requests_bytes_max=ROOM, body_grace_s=ANSWER_S_MAX), is_fast=is_fast) as door:
        clients = await crowd(door)
        room = door.app.room
        assert 0 < room.held <= ROOM

        answers = await answers_of(clients[: room.crowded_out])
        assert len(answers) >= MANY - ROOM // PART
        assert {(answer.status, answer.code) for answer in answers} == {(503, "ServiceUnavailable")}
        leave(clients)
        await eventually(lambda: len(door.app.connections) == 0)

    assert room.held == 0


@BOTH_LANES
async def test_whole_requests_are_served_beside_a_crowd(is_fast: bool) -> None:
    world = await make_world()
    async with world.listening(Bounds(requests_bytes_max=ROOM, body_grace_s=ANSWER_S_MAX), is_fast=is_fast) as door:
        clients = await crowd(door)

        answers = [await door.exchange(request(body)) for body in (BODY, SMALL, BODY)]

        assert [answer.status for answer in answers] == [200, 200, 200]
        leave(clients)


@BOTH_LANES
async def test_small_requests_are_served_when_there_is_no_room_at_all(is_fast: bool) -> None:
    world = await make_world()
    async with world.listening(Bounds(requests_bytes_max=0), is_fast=is_fast) as door:
        large, small = await door.exchange(request(BODY)), await door.exchange(request(SMALL))

    assert (large.status, large.code, small.status) == (503, "ServiceUnavailable", 200)


@BOTH_LANES
async def test_requests_that_were_answered_leave_their_room(is_fast: bool) -> None:
    world = await make_world()
    async with world.listening(Bounds(requests_bytes_max=ROOM), is_fast=is_fast) as door:
        reader, writer = await door.connect()
        for _ in range(MANY):
            writer.write(request(BODY))
            assert (await read_answer(reader)).status == 200

        assert (door.app.room.held, door.app.room.crowded_out) == (0, 0)
        writer.close()


@pytest.mark.usefixtures("looks_often")
async def test_slow_client_with_room_still_times_out() -> None:
    world = await make_world()
    async with world.listening(Bounds(requests_bytes_max=ROOM, body_grace_s=0.05, body_rate_min=10**9)) as door:
        client = await begin(door, PART)

        (answer,) = await answers_of([client])

        assert (answer.status, answer.code) == (408, "RequestTimeout")
        leave([client])
        await eventually(lambda: door.app.room.held == 0)


async def test_what_waits_behind_an_unanswered_request_takes_room_too() -> None:
    world = await make_world(waits=True)
    poll = json.dumps({"QueueUrl": STANDARD, "WaitTimeSeconds": 20}).encode()
    async with world.listening(Bounds(requests_bytes_max=0)) as door:
        reader, writer = await door.connect()
        writer.write(request(poll).replace(b"SendMessage", b"ReceiveMessage"))
        await until_waiting(world)

        writer.write(b" " * 4 * PLACE_FREE)
        async with asyncio.timeout(ANSWER_S_MAX):
            with suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()
        await eventually(lambda: len(door.app.connections) == 0)
        world.bench.engine.waiters.end_all()

    assert door.app.room.held == 0


async def test_chunked_requests_take_room_too() -> None:
    world = await make_world()
    async with world.listening(Bounds(requests_bytes_max=100_000)) as door:
        chunk = b"%x\r\n" % len(BODY) + BODY + b"\r\n0\r\n\r\n"
        answer = await door.exchange(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk)

    assert (answer.status, answer.code) == (503, "ServiceUnavailable")
