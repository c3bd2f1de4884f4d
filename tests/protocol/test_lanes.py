"""Both lanes give the same responses: status, every header field in order, and body, byte for byte.

Two worlds with the same ids and the same time get the same bytes in the same pieces: one through the fast lane with
aiohttp behind it, the other through aiohttp alone. Only the Date field may differ.
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
from cqs.api.request import Request
from tests.protocol import corpus_form, corpus_http, corpus_json, corpus_messages, corpus_queues
from tests.protocol.case import Case, Meaning
from tests.protocol.corpus_http import Raw
from tests.protocol.test_fuzz import HOSTILE, good
from tests.protocol.wire import heard, wire
from tests.protocol.world import json_request, make_world

MUTATIONS = 1_500
WIRE_MUTATIONS = 700


def mutated(rng: random.Random, request: Request) -> Request:
    """Changes a byte of the body, a header field or the target, or puts a hostile value into the JSON."""
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
    """Returns all requests in the lists of these modules, in both protocols if they are defined as `Meaning`."""
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
    """Sends every stream on both lanes and compares the responses."""
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
    "field",
    [
        b"Expect: 100-continue",
        b"Expect: more",
        b"Connection: close",
        b"Connection: Keep-Alive",
        b"Proxy-Connection: close",
    ],
)
async def test_fields_about_the_connection_get_the_same_answers(field: bytes) -> None:
    body = b'{"QueueUrl":"/000000000000/orders","MessageBody":"x"}'
    head = b"POST / HTTP/1.1\r\nHost: a\r\nX-Amz-Target: AmazonSQS.SendMessage\r\n%b\r\nContent-Length: %d\r\n\r\n"

    await both([[head % (field, len(body)), body]])


def _fits_a_wire(request: Request) -> bool:
    """A blank or line end in a target or field would make it another request: the test of bytes covers those."""
    parts = [request.target, *(part for field in request.headers for part in field)]
    return not any(set(part) & set(b"\r\n\0 ") for part in parts[:1]) and not any(b"\n" in part for part in parts)
