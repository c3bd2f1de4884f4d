"""ChangeMessages deletes, hides, reveals or hastens messages by their ids, and reports those it could not change."""

from __future__ import annotations

from typing import Any

import pytest

from cqs.cache.entry import State
from cqs.errors import OutcomeUnknown, ServiceUnavailable
from cqs.service import chosen, revisibility
from cqs.service.chosen import CHOSEN_MAX
from tests.protocol.extension_world import peeked, refused, told, world_with
from tests.protocol.world import BASE, STANDARD, World

NOBODY = "00000000-0000-4000-8000-000000000000"


async def ids(world: World, state: str = "ready") -> list[str]:
    found = await told(world, "PeekMessages", State=state)
    return [message["MessageId"] for message in found["Messages"]]


async def change(world: World, what: str, *message_ids: str, **more: Any) -> dict[str, Any]:
    return await told(world, "ChangeMessages", Change=what, MessageIds=list(message_ids), **more)


async def test_messages_are_deleted_whatever_their_state() -> None:
    world = await world_with("one", "two", "three")
    await world.bench.receive(world.standard, 1)

    answer = await change(world, "delete", (await ids(world))[0], (await ids(world, "in_flight"))[0], NOBODY)

    assert answer == {"Changed": 2, "Missed": [NOBODY]}
    assert await peeked(world) == ["three"]
    assert len(await world.bench.stored(world.standard)) == 1


async def test_a_message_in_flight_is_revealed_and_its_receipt_is_over() -> None:
    world = await world_with("one")
    held = (await world.bench.receive(world.standard))[0]

    assert await change(world, "reveal", held.message.message_id) == {"Changed": 1}

    assert await world.bench.bodies(world.standard) == ["one"]


async def test_a_message_in_flight_is_hidden_for_longer() -> None:
    world = await world_with("one")
    held = (await world.bench.receive(world.standard))[0].message.message_id

    assert await change(world, "hide", held, VisibilityTimeout=3_600) == {"Changed": 1}
    world.bench.clock.advance_ms(3_599_000)
    assert await ids(world, "in_flight") == [held]
    world.bench.clock.advance_ms(2_000)
    await revisibility.step(world.bench.engine)
    assert await world.bench.bodies(world.standard) == ["one"]


async def test_a_delayed_message_is_hastened_under_a_new_id() -> None:
    world = await world_with()
    await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="later", DelaySeconds=600)
    late = (await ids(world, State.DELAYED.value))[0]

    assert await change(world, "hasten", late) == {"Changed": 1}

    assert await peeked(world) == ["later"]
    assert await ids(world, State.DELAYED.value) == []
    assert (await ids(world))[0] != late


async def test_messages_that_can_be_sent_anew_no_more_half_way_are_told_with_those_that_were() -> None:
    world = await world_with()
    for _ in range(3):
        await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="later", DelaySeconds=600)
    world.bench.store.fail("append", ServiceUnavailable("Full. Send again."), after=2)
    late = await ids(world, State.DELAYED.value)

    with pytest.raises(OutcomeUnknown, match="Of 3 messages, 2 had been changed before this: Full"):
        await chosen.change(world.bench.engine, world.standard, late, chosen.Change.HASTEN, "me")

    assert await ids(world, State.DELAYED.value) == late[2:]


@pytest.mark.parametrize("what", ["reveal", "hide", "hasten"])
async def test_a_message_in_another_state_is_missed(what: str) -> None:
    world = await world_with("one")
    more = {"VisibilityTimeout": 60} if what == "hide" else {}
    one = (await ids(world))[0]

    assert await change(world, what, one, **more) == {"Changed": 0, "Missed": [one]}
    assert await peeked(world) == ["one"]


@pytest.mark.parametrize(
    ("members", "code", "words"),
    [
        ({"Change": "burn", "MessageIds": [NOBODY]}, "InvalidParameterValue", "delete, reveal, hide, hasten"),
        ({"Change": "delete", "MessageIds": []}, "InvalidParameterValue", "1 to 1000"),
        ({"Change": "delete", "MessageIds": [str(n) for n in range(CHOSEN_MAX + 1)]}, "InvalidParameterValue", "1000"),
        ({"Change": "hide", "MessageIds": [NOBODY]}, "MissingParameter", "VisibilityTimeout"),
        ({"Change": "hide", "MessageIds": [NOBODY], "VisibilityTimeout": 43_201}, "InvalidParameterValue", "43200"),
        ({"Change": "hide", "MessageIds": [NOBODY], "VisibilityTimeout": -1}, "InvalidParameterValue", "43200"),
        ({"MessageIds": [NOBODY]}, "MissingParameter", "Change"),
    ],
)
async def test_nonsense_is_refused_and_nothing_is_done(members: dict[str, Any], code: str, words: str) -> None:
    world = await world_with("one")

    assert (await refused(world, "ChangeMessages", QueueUrl=STANDARD, **members))[0] == code
    assert words in (await refused(world, "ChangeMessages", **members))[1]
    assert await peeked(world) == ["one"]


async def test_a_fifo_queues_messages_are_not_hastened() -> None:
    world = await world_with()
    late = await world.bench.create("late.fifo", delay_ms=600_000)
    await world.bench.send(late, "one")
    (one,) = await world.bench.stored(late)

    code, words = await refused(
        world, "ChangeMessages", QueueUrl=f"{BASE}/late.fifo", MessageIds=[one.message_id], Change="hasten"
    )

    assert (code, "DelaySeconds" in words) == ("AWS.SimpleQueueService.UnsupportedOperation", True)
    assert await world.bench.stored(late) == [one]
