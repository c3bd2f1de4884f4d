"""Clients that do not read their responses, over real sockets and on both lanes: buffered data are bounded."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Sized

import pytest

from cqs.api.http.bounds import Bounds
from cqs.api.http.connection import Answer, Connection
from cqs.api.http.room import PLACE_FREE
from tests.collector import collector_off, lives
from tests.protocol.wire import POLL, PROBE, answer, wire
from tests.protocol.world import ANSWER_S_MAX, Door, World, eventually, json_request, make_world, until_waiting

BODY_SIZE = 1_000_000
BUFFER = 4_096
TRANSPORT_HOLDS = 65_536
BOTH_LANES = pytest.mark.parametrize("is_fast", [True, False])
RECEIVE = wire(json_request("ReceiveMessage", b'{"QueueUrl":"/000000000000/orders","VisibilityTimeout":0}'))
REQUESTS = 8
"""So many that their responses exceed the kernel's buffers of a connection."""


async def large() -> World:
    world = await make_world()
    await world.bench.send(world.standard, "." * BODY_SIZE)
    return world


async def deaf_client(door: Door) -> socket.socket:
    """A client that requests more than the kernel buffers, and does not read."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    client.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(client, ("127.0.0.1", door.port))
    for _ in range(REQUESTS):
        await loop.sock_sendall(client, RECEIVE)
    return client


def is_stuck(door: Door, count: int) -> bool:
    """Whether that many connections have more buffered than the high-water mark of their transports."""
    return sum(guest.unread() > TRANSPORT_HOLDS for guest in door.app.connections) == count


@BOTH_LANES
async def test_deaf_clients_are_cut_off_when_too_much_lies_there(is_fast: bool) -> None:
    world = await large()
    async with world.listening(Bounds(answers_bytes_max=0, header_s_max=60.0), is_fast=is_fast) as door:
        clients = [await deaf_client(door) for _ in range(3)]
        await eventually(lambda: is_stuck(door, 3))

        door.app.connections.sweep(asyncio.get_running_loop().time() + 2)
        await eventually(lambda: len(door.app.connections) == 0)

        assert door.app.connections.unread.count_cut_off == 3
        for client in clients:
            client.close()


@BOTH_LANES
async def test_client_that_reads_slowly_outlasts_the_deadline_of_idle_connections(is_fast: bool) -> None:
    world = await large()
    async with world.listening(Bounds(idle_s_max=75.0, unread_s_max=100.0), is_fast=is_fast) as door:
        client = await deaf_client(door)
        await eventually(lambda: is_stuck(door, 1))

        door.app.connections.sweep(asyncio.get_running_loop().time() + 90)
        reader, writer = await asyncio.open_connection(sock=client)
        bodies = [await answer(reader) for _ in range(REQUESTS)]
        writer.close()

        assert [len(body) > BODY_SIZE for body in bodies] == [True] * REQUESTS


@BOTH_LANES
async def test_deaf_clients_do_not_hold_up_the_end(is_fast: bool) -> None:
    world = await large()
    async with world.listening(is_fast=is_fast, stop_s_max=0.1) as door:
        client = await deaf_client(door)
        await eventually(lambda: is_stuck(door, 1))
        assert door.app._runner is not None
        door.app._runner._shutdown_timeout = 3_600.0

        async with asyncio.timeout(ANSWER_S_MAX):
            await door.app.stop()

        assert len(door.app.connections) == 0
        client.close()


async def test_answer_to_a_client_that_reset_its_connection_is_let_go_of_without_garbage_collection() -> None:
    world = await large()
    async with world.listening(is_fast=False) as door:
        client = await deaf_client(door)
        await eventually(lambda: is_stuck(door, 1))
        with collector_off():
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            await eventually(lambda: len(door.app.connections) == 0)

            await eventually(lambda: not lives(Answer))


async def test_requests_that_wait_behind_another_take_room_in_aiohttps_lane_too() -> None:
    world = await make_world(waits=True)
    behind = wire(json_request("ListQueues", b'{"Pad":"%b"}' % (b"." * 60_000)))
    async with world.listening(is_fast=False) as door:
        reader, writer = await door.connect()
        writer.write(POLL)
        await until_waiting(world)
        writer.write(behind * 5)

        await eventually(lambda: door.app.room.held > 5 * 60_000)
        world.bench.engine.waiters.end_all()
        answers = [await answer(reader) for _ in range(6)]
        writer.close()
        await eventually(lambda: len(door.app.connections) == 0)

    assert [b"200 OK" in one for one in answers] == [True] * 6
    assert door.app.room.held == 0


async def test_client_whose_waiting_requests_have_no_room_is_cut_off() -> None:
    world = await make_world(waits=True)
    async with world.listening(Bounds(requests_bytes_max=0), is_fast=False) as door:
        reader, writer = await door.connect()
        writer.write(POLL)
        await until_waiting(world)
        writer.write(wire(json_request("ListQueues", b'{"Pad":"%b"}' % (b"." * 2 * PLACE_FREE))))

        async with asyncio.timeout(ANSWER_S_MAX):
            assert await answer(reader) == b""
        writer.close()
        await eventually(lambda: len(door.app.connections) == 0)
        world.bench.engine.waiters.end_all()

    assert door.app.room.held == 0


async def test_small_pipelined_requests_are_served_when_there_is_no_room() -> None:
    world = await make_world()
    async with world.listening(Bounds(requests_bytes_max=0), is_fast=False) as door:
        reader, writer = await door.connect()
        writer.write(PROBE * 40)
        answers = [await answer(reader) for _ in range(40)]

        assert all(b"200 OK" in one for one in answers)
        assert [type(guest) for guest in door.app.connections] == [Connection]
        writer.close()


async def test_requests_behind_a_poll_are_let_go_of_when_their_client_leaves() -> None:
    world = await make_world(waits=True)
    async with world.listening(is_fast=False) as door:
        _, writer = await door.connect()
        writer.write(POLL)
        await until_waiting(world)
        (connection,) = door.app.connections
        writer.write(PROBE * 5)
        await eventually(lambda: len(waiting(connection)) == 5)

        writer.transport.abort()
        await eventually(lambda: len(door.app.connections) == 0)

        assert len(waiting(connection)) == 0
        world.bench.engine.waiters.end_all()


def waiting(connection: object) -> Sized:
    """Returns aiohttp's own queue of requests."""
    messages: Sized = connection._messages  # type: ignore[attr-defined]
    return messages
