"""Limits on call rates and on waiting receives, through the API."""

from __future__ import annotations

import asyncio
import dataclasses
import random

import pytest

from cqs.api.dispatch import Dispatcher
from cqs.api.origins import Origins
from cqs.api.rates import Rates
from cqs.api.request import Reply
from cqs.api.request_ids import RequestIds
from cqs.api.urls import BaseUrls
from cqs.errors import RequestThrottled
from cqs.identity import Caller
from cqs.service.long_poll import Waiters
from cqs.testing.clock import ManualClock
from tests.protocol.world import eventually
from tests.unit.signed_world import URL, SignedWorld, make_signed_world, said


async def limited(rate: int = 0, polls_max: int = 1_000) -> SignedWorld:
    world = await make_signed_world()
    engine = dataclasses.replace(world.bench.engine, waiters=Waiters(polls_max))
    rates = Rates(world.bench.clock, rate) if rate else None
    origins, urls = Origins(), BaseUrls()
    ids = RequestIds(random.Random(2))
    dispatcher = Dispatcher(engine, world.access, ids, origins=origins, base_urls=urls, rates=rates)
    bench = dataclasses.replace(world.bench, engine=engine)
    return dataclasses.replace(world, bench=bench, dispatcher=dispatcher)


def retry_after(reply: Reply) -> bytes | None:
    return dict(reply.headers).get(b"Retry-After")


async def test_key_that_calls_too_often_is_throttled_and_told_when_to_come_again() -> None:
    world = await limited(rate=2)
    answers = [await world.call("alice", "ListQueues") for _ in range(3)]

    assert [said(answer)[:2] for answer in answers] == [(200, ""), (200, ""), (400, "RequestThrottled")]
    assert [retry_after(answer) for answer in answers] == [None, None, b"1"]
    assert said(await world.call("bob", "ListQueues"))[0] == 200
    world.bench.clock.advance_ms(1_000)
    assert said(await world.call("alice", "ListQueues"))[0] == 200


async def test_throttled_form_gets_the_same_in_xml() -> None:
    world = await limited(rate=1)
    raw = world.sign("alice", body=b"Action=ListQueues&Version=2012-11-05")
    await world.send(raw)
    throttled = await world.send(raw)

    assert b"<Code>RequestThrottled</Code>" in throttled.body
    assert retry_after(throttled) == b"1"


async def test_nobody_uses_up_a_share_with_a_forged_signature() -> None:
    world = await limited(rate=1)
    forged = world.sign("alice", body=b"Action=ListQueues", secret="not hers")
    for _ in range(5):
        await world.send(forged)

    assert said(await world.call("alice", "ListQueues"))[0] == 200


def test_without_keys_an_account_is_counted() -> None:
    rates = Rates(ManualClock(), rate=1)
    rates.check(Caller(account="111122223333"))
    rates.check(Caller(account="222233334444"))

    with pytest.raises(RequestThrottled):
        rates.check(Caller(account="111122223333"))


def test_account_has_only_so_many_waiting_receives_and_leaving_makes_room() -> None:
    waiters = Waiters(account_max=2)
    first, _ = waiters.register(1, "a"), waiters.register(2, "a")

    with pytest.raises(RequestThrottled, match="2 receives of account a wait"):
        waiters.register(3, "a")
    waiters.register(1, "b")
    for _ in range(2):
        waiters.leave(1, first)
    waiters.register(1, "a")
    with pytest.raises(RequestThrottled):
        waiters.register(1, "a")
    assert (len(waiters), waiters.count(1), waiters.count(3)) == (3, 2, 0)


async def test_poll_too_many_is_throttled_but_messages_that_are_there_are_given() -> None:
    world = await limited(polls_max=1)
    waiters, wait = world.bench.engine.waiters, {"QueueUrl": URL, "WaitTimeSeconds": 20}
    poll = asyncio.create_task(world.call("alice", "ReceiveMessage", **wait))
    await eventually(lambda: len(waiters) == 1)

    refused = await world.call("alice", "ReceiveMessage", **wait)
    short = await world.call("alice", "ReceiveMessage", QueueUrl=URL)
    assert (said(refused)[:2], retry_after(refused)) == ((400, "RequestThrottled"), b"1")
    assert said(short)[0] == 200

    await world.call("alice", "SendMessage", QueueUrl=URL, MessageBody="tea")
    assert b"tea" in (await poll).body
    await world.call("alice", "SendMessage", QueueUrl=URL, MessageBody="cake")
    assert b"cake" in (await world.call("alice", "ReceiveMessage", **wait)).body
    assert len(waiters) == 0
