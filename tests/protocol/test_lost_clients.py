"""Clients that disconnect: messages that a long poll took for them go back, uncounted, and are available to others at
once."""

from __future__ import annotations

import asyncio
import json

import pytest

from cqs.api.actions import parameters
from cqs.api.request import Reply, Request
from cqs.service import delete
from tests.protocol.world import (
    FIFO,
    STANDARD,
    World,
    eventually,
    json_request,
    make_world,
    read_answer,
    until_waiting,
    wire_of,
)

POLL = json_request(
    "ReceiveMessage",
    json.dumps({"QueueUrl": STANDARD, "WaitTimeSeconds": 20, "AttributeNames": ["All"]}).encode(),
)


async def test_message_sent_after_a_poller_left_goes_to_the_next_one() -> None:
    world = await make_world(waits=True)
    async with world.listening() as door:
        _, left = await door.connect()
        left.write(wire_of(POLL))
        await until_waiting(world, 1)
        reader, stayed = await door.connect()
        stayed.write(wire_of(POLL))
        await until_waiting(world, 2)

        left.close()
        await eventually(lambda: len(door.app.connections) == 1)
        await world.bench.send(world.standard, "hello")
        answer = await read_answer(reader)
        stayed.close()

    (message,) = json.loads(answer.body)["Messages"]
    assert (message["Body"], message["Attributes"]["ApproximateReceiveCount"]) == ("hello", "1")


@pytest.mark.parametrize("is_fast", [True, False])
async def test_a_poll_ends_when_its_client_disconnects(is_fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "wait_ms", lambda _: 3_600_000)
    world = await make_world(waits=True)
    async with world.listening(is_fast=is_fast) as door:
        _, stayed = await door.connect()
        stayed.write(wire_of(POLL))
        await until_waiting(world, 1)
        lefts = [(await door.connect())[1] for _ in range(5)]
        for left in lefts:
            left.write(wire_of(POLL))
        await until_waiting(world, 6)

        for left in lefts:
            left.close()
        await until_waiting(world, 1)
        stayed.close()
        await until_waiting(world, 0)


class GoneBeforeTheAnswer:
    """A dispatcher whose response is ready only after its client has disconnected."""

    def __init__(self, world: World) -> None:
        self._dispatcher = world.dispatcher
        self.has_found = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def dispatch(self, request: Request) -> Reply:
        reply = await self._dispatcher.dispatch(request)
        self.has_found.set()
        await self.may_answer.wait()
        return reply


async def test_message_whose_answer_reached_nobody_is_ready_again_and_uncounted() -> None:
    world = await make_world()
    await world.bench.send(world.standard, "hello")
    slow = GoneBeforeTheAnswer(world)
    async with world.listening(dispatcher=slow) as door:
        _, writer = await door.connect()
        writer.write(wire_of(POLL))
        await slow.has_found.wait()
        assert (await world.bench.counts(world.standard)).in_flight == 1

        writer.close()
        await eventually(lambda: len(door.app.connections) == 0)
        slow.may_answer.set()
        await eventually(lambda: "given_back" in world.bench.witness.names())

    (again,) = await world.bench.receive(world.standard)
    assert (again.message.body, again.received.receive_count) == ("hello", 1)


async def test_a_repeated_receive_keeps_what_the_first_answer_could_not_deliver() -> None:
    world = await make_world()
    await world.bench.send(world.fifo, "first", "second")
    slow = GoneBeforeTheAnswer(world)
    wish = {"QueueUrl": FIFO, "ReceiveRequestAttemptId": "attempt", "MaxNumberOfMessages": 1}
    poll = json_request("ReceiveMessage", json.dumps(wish).encode())
    async with world.listening(dispatcher=slow) as door:
        _, writer = await door.connect()
        writer.write(wire_of(poll))
        await slow.has_found.wait()
        writer.close()
        await eventually(lambda: len(door.app.connections) == 0)
        again = json.loads((await world.dispatcher.dispatch(poll)).body)
        slow.may_answer.set()

    (held,) = again["Messages"]
    assert held["Body"] == "first"
    assert await world.bench.receive(world.fifo) == []
    await delete.delete(world.bench.engine, world.fifo, held["ReceiptHandle"])
    assert await world.bench.bodies(world.fifo) == ["second"]


async def test_answer_that_was_written_is_not_given_back() -> None:
    world = await make_world()
    await world.bench.send(world.standard, "hello")
    async with world.listening() as door:
        answer = await door.exchange(wire_of(POLL))

    assert answer.status == 200
    assert "given_back" not in world.bench.witness.names()
    assert (await world.bench.counts(world.standard)).in_flight == 1


@pytest.mark.parametrize("pollers", [1, 5])
async def test_stop_answers_waiting_polls(pollers: int) -> None:
    world = await make_world(waits=True)
    async with world.listening() as door:
        clients = [await door.connect() for _ in range(pollers)]
        for _, writer in clients:
            writer.write(wire_of(POLL))
        await until_waiting(world, pollers)

        world.bench.engine.waiters.end_all()
        await door.app.stop()
        answers = [await read_answer(reader) for reader, _ in clients]

        assert [(answer.status, answer.body) for answer in answers] == [(200, b"{}")] * pollers
        with pytest.raises(ConnectionError):
            await door.connect()
        for _, writer in clients:
            writer.close()
