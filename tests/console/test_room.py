"""Slow forms: those of unauthenticated clients are not read, and all together use no more memory than the limit for
requests."""

from __future__ import annotations

import asyncio

from admin.app import make_application
from admin.message_form import FORM_BYTES_MAX
from cqs.api.http.bounds import Bounds
from cqs.doors import FormUpload
from cqs.identity import Role
from tests.console.desk import Desk
from tests.protocol.world import Door, eventually, make_world, read_answer

HEAD = (
    b"POST /ADMIN%b HTTP/1.1\r\nHost: localhost:%d\r\nOrigin: http://localhost:%d\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n"
)
SEND = b"/q/000000000000/orders/send"
PART = 150_000


def head_of(path: bytes, port: int, length: int = FORM_BYTES_MAX) -> bytes:
    return HEAD % (path, port, port, length)


async def test_a_strangers_form_is_answered_before_it_has_come(desk: Desk) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)
    port = desk.client.port or 0
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    writer.write(head_of(SEND, port))
    answer = await read_answer(reader)
    writer.close()

    assert (answer.status, answer.headers["location"]) == (303, "/ADMIN/login")


async def test_a_stranger_who_logs_in_needs_few_bytes(desk: Desk) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)
    port = desk.client.port or 0
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    writer.write(head_of(b"/login", port, 50_000))
    answer = await read_answer(reader)
    writer.close()

    assert answer.status == 303


async def begin(door: Door) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Sends a form and stops in the middle."""
    reader, writer = await door.connect()
    writer.write(head_of(SEND, door.port) + b"a" * PART)
    await writer.drain()
    return reader, writer


async def test_the_slowest_form_makes_way_and_is_told_to_come_again(desk: Desk) -> None:
    world = await make_world()
    bounds = Bounds(requests_bytes_max=2 * PART)
    async with world.listening(bounds, mounts={"/ADMIN": make_application(desk.console, FormUpload)}) as door:
        room = door.app.room
        first = await begin(door)
        await eventually(lambda: room.held >= PART)
        second = await begin(door)
        await eventually(lambda: room.held >= 2 * PART)

        third = await begin(door)
        answer = await read_answer(first[0])

        assert answer.status == 503
        assert b"Send the request again" in answer.body
        assert room.held <= room.bytes_max
        for _, writer in (first, second, third):
            writer.close()
        await eventually(lambda: not room.held)
