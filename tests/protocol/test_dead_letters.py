"""What clients see of a dead letter's history."""

from __future__ import annotations

import json

from cqs.queue import Queue, Redrive
from cqs.service import move_tasks
from tests.protocol.world import BASE, World, make_world
from tests.unit.dead_letters import carry_out

TOLD = ["ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp"]


async def chain(world: World, *names: str) -> list[Queue]:
    """Creates queues, each of which is the dead-letter queue of the one before, after one receive."""
    made: list[Queue] = []
    for name in reversed(names):
        redrive = Redrive(made[-1].arn, 1) if made else None
        made.append(await world.bench.create(name, redrive=redrive, visibility_ms=0))
    return made[::-1]


async def receive(world: World, queue: Queue) -> list[str]:
    """Returns receive count and first receive time of the message, [] for none. Each receive is a second after the last
    one."""
    world.bench.clock.advance_ms(1_000)
    reply = await world.json("ReceiveMessage", QueueUrl=f"{BASE}/{queue.name}", MessageSystemAttributeNames=TOLD)
    return [message["Attributes"][name] for message in json.loads(reply.body).get("Messages", []) for name in TOLD]


async def test_receives_are_counted_over_all_queues_and_dead_letters_by_each_queues_own() -> None:
    world = await make_world()
    first, second, third = await chain(world, "first", "second", "third")
    await world.bench.send(first, "x")
    began_ms = str(world.bench.clock.now_ms() + 1_000)

    told = [await receive(world, queue) for queue in (first, first, second, second, third, third)]

    assert told == [["1", began_ms], [], ["2", began_ms], [], ["3", began_ms], ["4", began_ms]]


async def test_dead_letter_that_is_moved_back_is_as_never_received() -> None:
    world = await make_world()
    first, second = await chain(world, "first", "second")
    await world.bench.send(first, "x")
    for queue in (first, first, second):
        await receive(world, queue)

    await move_tasks.start(world.bench.engine, second.arn, "", 0)
    await carry_out(world.bench)

    now_ms = world.bench.clock.now_ms()
    assert [await receive(world, first), await receive(world, first)] == [["1", str(now_ms + 1_000)], []]
