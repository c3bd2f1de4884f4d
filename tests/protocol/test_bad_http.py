"""Requests that HTTP forbids are rejected on the socket, in AWS's format, and nothing smuggled behind them is
executed."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from tests.protocol import corpus_http
from tests.protocol.case import by_name
from tests.protocol.corpus_http import Raw
from tests.protocol.world import ANSWER_S_MAX, STANDARD, make_world, read_answer


@pytest.mark.parametrize("case", by_name(corpus_http.REFUSED))
async def test_request_is_refused_and_ends_its_connection(case: Raw) -> None:
    world = await make_world()
    before = world.state()
    async with world.listening() as door:
        reader, writer = await door.connect()

        writer.write(case.data)
        answer = await read_answer(reader)
        writer.write_eof()
        async with asyncio.timeout(ANSWER_S_MAX):
            rest = await reader.read()
        writer.close()

    assert (answer.status, answer.code) == (case.status, case.code), answer.body
    assert answer.headers["x-amzn-requestid"]
    assert answer.headers["server"] == "cqs"
    assert rest == b""
    assert world.state() == before


EVERYWHERE = [one for one in corpus_http.REFUSED if b" / HTTP/1." in one.data and one.status != 405]


@pytest.mark.parametrize("case", by_name(EVERYWHERE))
async def test_what_is_served_beside_the_api_has_the_same_rules_but_for_methods(case: Raw) -> None:
    world = await make_world()
    before = world.state()
    async with world.listening(mounts={"/ADMIN": web.Application()}) as door:
        for path in (b"/health", b"/ADMIN"):
            reader, writer = await door.connect()
            writer.write(case.data.replace(b" / HTTP/1.", b" " + path + b" HTTP/1.", 1))
            answer = await read_answer(reader)
            writer.write_eof()
            async with asyncio.timeout(ANSWER_S_MAX):
                await reader.read()
            writer.close()

            assert (answer.status, answer.code) == (case.status, case.code), path
    assert world.state() == before


@pytest.mark.parametrize("case", by_name(corpus_http.FLOODS))
async def test_flood_is_refused_or_cut_off(case: Raw) -> None:
    world = await make_world()
    async with world.listening() as door:
        try:
            answer = await door.exchange(case.data)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        else:
            assert (answer.status, answer.code) == (case.status, case.code)

        after = await door.exchange(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")

    assert after.status == 200


@pytest.mark.parametrize("case", by_name(corpus_http.HARMLESS))
async def test_odd_but_legal_request_is_served(case: Raw) -> None:
    world = await make_world()
    async with world.listening() as door:
        answer = await door.exchange(case.data)

    assert (answer.status, answer.code) == (case.status, case.code), answer.body


async def test_two_requests_in_one_write_are_answered_in_order() -> None:
    world = await make_world()
    get = b"GET /?Action=%s HTTP/1.1\r\nHost: a\r\n\r\n"
    async with world.listening() as door:
        reader, writer = await door.connect()

        writer.write(get % b"ListQueues" + get % b"Nope")
        first, second = await read_answer(reader), await read_answer(reader)
        writer.close()

    assert (first.status, second.status) == (200, 400)
    assert first.headers["x-amzn-requestid"] != second.headers["x-amzn-requestid"]


@pytest.mark.parametrize("coding", [b"Content-Length: 9", b"Transfer-Encoding: chunked"])
async def test_request_that_waits_for_leave_gets_it(coding: bytes) -> None:
    world = await make_world()
    head = b"POST / HTTP/1.1\r\nHost: a\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nExpect: 100-continue\r\n"
    async with world.listening() as door:
        reader, writer = await door.connect()

        writer.write(head + coding + b"\r\n\r\n")
        async with asyncio.timeout(ANSWER_S_MAX):
            leave = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"{       }" if b"Length" in coding else b"2\r\n{}\r\n0\r\n\r\n")
        answer = await read_answer(reader)
        writer.close()

    assert leave == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answer.status == 200


async def test_hostile_host_is_not_repeated_in_queue_urls() -> None:
    world = await make_world()
    request = b"GET /?Action=GetQueueUrl&QueueName=orders HTTP/1.1\r\nHost: %s\r\n\r\n"
    async with world.listening() as door:
        hostile = await door.exchange(request % b"a/<x>")
        usual = await door.exchange(request % b"localhost:9324")

    assert b"<QueueUrl>http://localhost/000000000000/orders</QueueUrl>" in hostile.body
    assert f"<QueueUrl>{STANDARD}</QueueUrl>".encode() in usual.body
