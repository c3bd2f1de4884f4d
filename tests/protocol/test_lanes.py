"""Both lanes give the same answers: status, every header field in its order, and body, byte for byte.

Two worlds, alike in every id and at the same moment, hear the same bytes in the same pieces: one through the fast lane
with aiohttp behind it, the other through aiohttp alone. Only the Date field may differ.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Iterator, Sequence

import msgspec
import pytest

from cqs.api import operations
from cqs.api.http.bounds import Bounds
from cqs.api.lane import Lane
from cqs.api.request import Request
from tests.protocol import corpus_form, corpus_http, corpus_json, corpus_messages, corpus_queues
from tests.protocol.case import Case, Meaning
from tests.protocol.corpus_http import Raw
from tests.protocol.test_fuzz import HOSTILE, good
from tests.protocol.world import ANSWER_S_MAX, Door, World, json_request, make_world

MUTATIONS = 1_500
WIRE_MUTATIONS = 700
_DATE = re.compile(rb"Date: [^\r]*")
_HANDLE = re.compile(rb"([A-Za-z0-9_-]{46})[A-Za-z0-9_-]{14}")
"""A receipt handle; its end depends on a world's secret."""
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_PROBE = b"POST / HTTP/1.1\r\nHost: a\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: 2\r\n\r\n{}"


async def heard(door: Door, pieces: Sequence[bytes]) -> list[bytes]:
    """What comes back to these pieces, and then, if the connection is still open, to a plain request behind them."""
    reader, writer = await door.connect()
    try:
        for piece in pieces:
            writer.write(piece)
            for _ in range(4):
                await asyncio.sleep(0)
        first = await answer(reader)
        if not first:
            return [first]
        writer.write(_PROBE)
        return [first, await answer(reader)]
    except ConnectionError:
        return [b"reset"]
    finally:
        writer.close()


async def answer(reader: asyncio.StreamReader) -> bytes:
    """One answer, b"" when the connection ends instead."""
    async with asyncio.timeout(ANSWER_S_MAX):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            while head.startswith(b"HTTP/1.1 100"):
                head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            body = await reader.readexactly(int(length[1]) if length else 0)
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""
    return _DATE.sub(b"Date: -", head) + _HANDLE.sub(rb"\1", body)


def wire(request: Request) -> bytes:
    """The request as bytes, with its length, unless it has header fields that can't stand on a wire."""
    fields = b"".join(name + b": " + value + b"\r\n" for name, value in request.headers)
    target = request.target or b"/"
    return b"%b %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (
        request.method,
        target,
        fields,
        len(request.body),
        request.body,
    )


def mutated(rng: random.Random, request: Request) -> Request:
    """A byte of the body, a header field or the target is another, or a hostile value stands in the JSON."""
    body, headers, target = bytearray(request.body), list(request.headers), request.target
    kind = rng.randrange(4)
    if kind == 0 and body:
        body[rng.randrange(len(body))] = rng.randrange(256)
    elif kind == 1:
        place = rng.randrange(len(headers))
        headers[place] = (headers[place][0], bytes(rng.choice(b"azAZ09/.;=%") for _ in range(rng.randrange(20))))
    elif kind == 2:
        target = rng.choice([b"/000000000000/orders", b"/000000000000/none", b"//", b"/queue", b"/?Action=ListQueues"])
    else:
        hostile = json.dumps(rng.choice([value for value in HOSTILE if not isinstance(value, int)])).encode()
        body = bytearray(re.sub(rb'"x"|"orders"', lambda _: hostile, bytes(body), count=1))
    return msgspec.structs.replace(request, body=bytes(body), headers=headers, target=target)


def requests_of(*corpora: object) -> Iterator[Request]:
    """All requests that stand in these modules' lists, in both protocols where they are given by meaning."""
    for corpus in corpora:
        for value in vars(corpus).values():
            for case in value if isinstance(value, list) else ():
                if isinstance(case, Case):
                    yield case.request
                elif isinstance(case, Meaning):
                    yield case.as_json()
                    yield case.as_form()


def raws_of(corpus: object) -> Iterator[Raw]:
    for value in vars(corpus).values():
        yield from (case for case in value if isinstance(case, Raw)) if isinstance(value, list) else ()


async def both(streams: Sequence[Sequence[bytes]], bounds: Bounds | None = None) -> None:
    """Plays every stream on both lanes and compares."""
    fast, slow = await make_world(), await make_world()
    async with fast.listening(bounds) as fast_door, slow.listening(bounds, is_fast=False) as slow_door:
        for pieces in streams:
            through_lane, through_reference = await asyncio.gather(heard(fast_door, pieces), heard(slow_door, pieces))
            assert through_lane == through_reference, b"".join(pieces)


async def test_the_corpora_of_bad_and_good_requests_get_the_same_answers() -> None:
    corpora = (corpus_form, corpus_json, corpus_messages, corpus_queues)
    streams = [[wire(request)] for request in requests_of(*corpora) if len(request.body) < 1_000_000]

    assert len(streams) > 300
    await both(streams)


async def test_requests_that_http_forbids_get_the_same_answers() -> None:
    streams = [[raw.data] for raw in raws_of(corpus_http)]

    assert len(streams) > 30
    await both(streams)


@pytest.mark.parametrize("seed", [1, 2])
async def test_mutated_requests_get_the_same_answers(seed: int) -> None:
    rng = random.Random(seed)
    meanings = [good(operation) for operation in operations.BY_NAME.values()]
    goods = [request for meaning in meanings for request in (meaning.as_json(), meaning.as_form())]
    mutations = (mutated(rng, rng.choice(goods)) for _ in range(MUTATIONS))

    await both([[wire(request)] for request in mutations if _fits_a_wire(request)])


async def test_bytes_damaged_on_the_wire_get_the_same_answers() -> None:
    rng = random.Random(3)
    streams = []
    for _ in range(WIRE_MUTATIONS):
        good = bytearray(wire(json_request("SendMessage", b'{"QueueUrl":"/000000000000/orders","MessageBody":"x"}')))
        head_size = good.index(b"\r\n\r\n")
        good[rng.randrange(head_size)] = rng.choice(b"\0\t\n\r :;,\x7f\xffA0/?%")
        streams.append([bytes(good) + b"\r\n\r\n" + b" " * 64])

    await both(streams)


async def test_requests_in_many_pieces_get_the_same_answers() -> None:
    rng = random.Random(4)
    good = wire(json_request("SendMessage", b'{"QueueUrl":"/000000000000/orders","MessageBody":"in pieces"}'))
    streams = []
    for _ in range(60):
        cuts = sorted(rng.sample(range(1, len(good)), rng.randint(1, 5)))
        streams.append([good[a:b] for a, b in zip([0, *cuts], [*cuts, len(good)], strict=True)])

    await both(streams)


@pytest.mark.parametrize(
    "field", [b"Expect: 100-continue", b"Expect: more", b"Connection: close", b"Connection: Keep-Alive"]
)
async def test_fields_about_the_connection_get_the_same_answers(field: bytes) -> None:
    body = b'{"QueueUrl":"/000000000000/orders","MessageBody":"x"}'
    head = b"POST / HTTP/1.1\r\nHost: a\r\nX-Amz-Target: AmazonSQS.SendMessage\r\n%b\r\nContent-Length: %d\r\n\r\n"

    await both([[head % (field, len(body)), body]])


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
            writer.write(_PROBE)
            await answer(reader)

        assert [type(guest) for guest in guests(door)] == [Lane]
        writer.close()


async def test_a_connection_is_handed_over_once_and_stays() -> None:
    world = await make_world()
    async with world.listening() as door:
        reader, writer = await door.connect()
        writer.write(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b'"ok"' in await answer(reader)
        writer.write(_PROBE)
        assert b"200 OK" in await answer(reader)

        assert Lane not in [type(guest) for guest in guests(door)]
        assert len(door.app.connections) == 1
        writer.close()


async def test_an_unfinished_request_gets_the_deadlines_of_aiohttp() -> None:
    world = await make_world()
    async with world.listening(Bounds(body_grace_s=0.2, header_s_max=0.4)) as door:
        reader, writer = await door.connect()
        writer.write(_PROBE[:-1])

        assert b" 408 " in (await answer(reader)).splitlines()[0]
        writer.close()


async def test_a_silent_and_an_idle_connection_are_closed() -> None:
    world = await make_world()
    async with world.listening(Bounds(header_s_max=0.2, idle_s_max=0.2)) as door:
        silent, silent_writer = await door.connect()
        idle, writer = await door.connect()
        writer.write(_PROBE)
        await answer(idle)

        async with asyncio.timeout(ANSWER_S_MAX):
            assert await silent.read() == b""
            assert await idle.read() == b""
        silent_writer.close()
        writer.close()


async def test_a_client_that_does_not_read_is_not_read_from_either() -> None:
    world = await make_world()
    await world.bench.send(world.standard, "x" * 1_000_000)
    async with world.listening() as door:
        reader, writer = await door.connect()
        peek = b'{"QueueUrl":"/000000000000/orders","VisibilityTimeout":0,"MaxNumberOfMessages":10}'
        for _ in range(40):
            writer.write(wire(json_request("ReceiveMessage", peek)))
        bodies = [await answer(reader) for _ in range(40)]
        writer.close()

        assert [len(body) > 1_000_000 for body in bodies] == [True] * 40


async def test_stopping_answers_what_was_accepted_and_closes_what_is_idle() -> None:
    world = await make_world(waits=True)
    async with world.listening() as door:
        idle, idle_writer = await door.connect()
        poller, writer = await door.connect()
        writer.write(wire(json_request("ReceiveMessage", b'{"QueueUrl":"/000000000000/orders","WaitTimeSeconds":20}')))
        await until_waiting(world)

        world.bench.engine.waiters.end_all()
        await door.app.stop()

        assert b"200 OK" in await answer(poller)
        assert await idle.read() == b""
        writer.close()
        idle_writer.close()


async def until_waiting(world: World) -> None:
    async with asyncio.timeout(ANSWER_S_MAX):
        while not len(world.bench.engine.waiters):  # noqa: ASYNC110
            await asyncio.sleep(0)


def guests(door: Door) -> list[object]:
    return list(door.app.connections)


def _fits_a_wire(request: Request) -> bool:
    """A blank or a line end inside a target or a field makes another request of it: left to the test of bytes."""
    parts = [request.target, *(part for field in request.headers for part in field)]
    return not any(set(part) & set(b"\r\n\0 ") for part in parts[:1]) and not any(b"\n" in part for part in parts)
