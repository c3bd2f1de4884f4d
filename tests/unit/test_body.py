"""Reading a body: nothing of an interrupted one stays in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from traceback import walk_tb
from unittest.mock import Mock

import pytest
from aiohttp import StreamReader, web

from cqs.api.http.body import Body
from cqs.api.http.bounds import Bounds
from cqs.api.http.room import Room
from cqs.api.wire_errors import BadRequest, CrowdedOut


def held_by(error: BaseException | None) -> Iterator[object]:
    """Returns the objects that the traceback frames of the error and its causes refer to."""
    while error is not None:
        for frame, _ in walk_tb(error.__traceback__):
            yield from frame.f_locals.values()
        error = error.__cause__


async def test_bytes_of_a_body_that_was_cut_off_are_not_held_by_its_error() -> None:
    content = StreamReader(Mock(), 2**16, loop=asyncio.get_running_loop())
    content.feed_data(bytes(100_000))
    reading = asyncio.ensure_future(Body(content, Bounds(), Room(1_000_000)).read())
    await asyncio.sleep(0)
    content.set_exception(web.RequestPayloadError("the client left"))

    with pytest.raises(BadRequest) as caught:
        await reading

    sizes = [len(value) for value in held_by(caught.value) if isinstance(value, bytes | bytearray)]
    assert sum(sizes) == 0


async def test_client_that_left_before_its_body_was_read_is_no_failure_of_ours() -> None:
    content = StreamReader(Mock(connected=False), 2**16, loop=asyncio.get_running_loop())

    with pytest.raises(BadRequest):
        await Body(content, Bounds(), Room(1_000_000)).read()


async def test_body_that_comes_slowly_makes_way_for_another() -> None:
    room = Room(100_000)
    contents = [StreamReader(Mock(), 2**16, loop=asyncio.get_running_loop()) for _ in range(2)]
    slow, quick = (Body(content, Bounds(), room) for content in contents)
    contents[0].feed_data(bytes(60_000))
    waiting = asyncio.ensure_future(slow.read())
    await asyncio.sleep(0)
    contents[1].feed_data(bytes(60_000))
    contents[1].feed_eof()

    assert len(await quick.read()) == 60_000
    with pytest.raises(CrowdedOut):
        await waiting
    assert (room.held, room.crowded_out) == (60_000, 1)
    quick.leave()
    assert room.held == 0
