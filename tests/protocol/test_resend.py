"""ResendMessage sends an edited copy, and deletes the original only if the copy is a new message."""

from __future__ import annotations

import random

import pytest

from cqs.api.access import OpenAccess
from cqs.api.dispatch import Dispatcher
from cqs.api.origins import Origins
from cqs.api.request_ids import RequestIds
from cqs.api.urls import BaseUrls
from cqs.errors import AccessDenied, StoreUnavailable
from cqs.identity import Caller
from cqs.queue import Queue
from tests.protocol.extension_world import peeked, refused, told, world_with
from tests.protocol.world import FIFO, STANDARD, World, make_world

TEXT = {"DataType": "String", "StringValue": "blue"}


async def first_id(world: World, url: str = STANDARD, state: str = "ready") -> str:
    return str((await told(world, "PeekMessages", QueueUrl=url, State=state))["Messages"][0]["MessageId"])


async def test_copy_is_a_new_message_and_the_original_stays() -> None:
    world = await world_with("one")
    original = await first_id(world)

    answer = await told(world, "ResendMessage", MessageId=original)

    assert answer["OriginalDeleted"] is False
    assert answer["MessageId"] != original
    assert await peeked(world) == ["one", "one"]


async def test_edited_copy_replaces_the_original() -> None:
    world = await make_world()
    await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="bad", MessageAttributes={"colour": TEXT})

    answer = await told(
        world, "ResendMessage", MessageId=await first_id(world), MessageBody="good", DeleteOriginal=True
    )

    (message,) = (await told(world, "PeekMessages"))["Messages"]
    assert answer["OriginalDeleted"] is True
    assert (message["MessageId"], message["Body"]) == (answer["MessageId"], "good")
    assert message["MessageAttributes"] == {"colour": TEXT}
    assert [message.body for message in await world.bench.stored(world.standard)] == ["good"]


async def test_attributes_that_are_given_replace_all() -> None:
    world = await make_world()
    await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="x", MessageAttributes={"colour": TEXT})

    await told(
        world, "ResendMessage", MessageId=await first_id(world), MessageAttributes={"size": TEXT}, DelaySeconds=9
    )

    (copy,) = (await told(world, "PeekMessages", State="delayed"))["Messages"]
    assert copy["MessageAttributes"] == {"size": TEXT}


async def test_copy_goes_to_another_queue() -> None:
    world = await world_with("one")
    await world.bench.create("other")
    url = STANDARD.replace("orders", "other")

    await told(world, "ResendMessage", MessageId=await first_id(world), DestinationQueueUrl=url, DeleteOriginal=True)

    assert await peeked(world) == []
    assert await peeked(world, QueueUrl=url) == ["one"]


async def test_message_in_flight_is_resent_and_taken_away() -> None:
    world = await world_with("one")
    held = await world.bench.receive(world.standard)

    await told(world, "ResendMessage", MessageId=held[0].message.message_id, DeleteOriginal=True)

    assert (await world.bench.counts(world.standard)).in_flight == 0
    assert await world.bench.bodies(world.standard) == ["one"]
    deleted = await told(world, "DeleteMessageBatch", Entries=[{"Id": "a", "ReceiptHandle": held[0].handle}])
    assert [entry["Id"] for entry in deleted["Successful"]] == ["a"]


async def test_fifo_copy_is_no_repeat_of_its_original() -> None:
    world = await make_world()
    await world.bench.send(world.fifo, "one", group="g")

    answer = await told(
        world, "ResendMessage", QueueUrl=FIFO, MessageId=await first_id(world, FIFO), DeleteOriginal=True
    )

    (message,) = (await told(world, "PeekMessages", QueueUrl=FIFO))["Messages"]
    assert answer["SequenceNumber"] == message["Attributes"]["SequenceNumber"]
    assert message["Attributes"]["MessageGroupId"] == "g"


async def test_original_stays_when_the_copy_was_taken_for_a_repeat_of_it() -> None:
    world = await make_world()
    sent = await told(
        world, "SendMessage", QueueUrl=FIFO, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="d"
    )

    answer = await told(
        world,
        "ResendMessage",
        QueueUrl=FIFO,
        MessageId=sent["MessageId"],
        MessageDeduplicationId="d",
        DeleteOriginal=True,
    )

    assert answer["OriginalDeleted"] is False
    assert await peeked(world, QueueUrl=FIFO) == ["x"]


async def test_copy_must_obey_the_rules_of_sends() -> None:
    world = await world_with("one")

    code, _ = await refused(world, "ResendMessage", MessageId=await first_id(world), MessageBody="\x00")

    assert code == "InvalidMessageContents"
    assert await peeked(world) == ["one"]


async def test_original_stays_when_the_copy_could_not_be_stored() -> None:
    world = await world_with("one")
    world.bench.store.fail("append", StoreUnavailable("full"))

    code, _ = await refused(world, "ResendMessage", MessageId=await first_id(world), DeleteOriginal=True)

    assert code == "ServiceUnavailable"
    assert await peeked(world) == ["one"]


class _Grants(OpenAccess):
    """Allows only what is listed."""

    def __init__(self, *allowed: str) -> None:
        super().__init__()
        self._allowed = allowed

    def authorize(self, caller: Caller, action: str, queue: Queue) -> None:
        if f"{action}:{queue.name}" not in self._allowed:
            raise AccessDenied("no")


@pytest.mark.parametrize(
    ("missing", "members"),
    [
        ("ResendMessage:orders", {}),
        ("SendMessage:other", {}),
        ("DeleteMessage:orders", {"DeleteOriginal": True}),
    ],
)
async def test_each_right_is_needed(missing: str, members: dict[str, object]) -> None:
    world = await world_with("one")
    await world.bench.create("other")
    url = STANDARD.replace("orders", "other")
    rights = {"ResendMessage:orders", "SendMessage:other", "DeleteMessage:orders"}
    dispatcher = Dispatcher(
        world.bench.engine,
        _Grants(*(rights - {missing})),
        RequestIds(random.Random(1)),
        origins=Origins(),
        base_urls=BaseUrls(),
    )
    limited = World(world.bench, dispatcher, world.standard, world.fifo)

    code, _ = await refused(
        limited, "ResendMessage", MessageId=await first_id(world), DestinationQueueUrl=url, **members
    )

    assert code == "AccessDenied"
    assert (await world.bench.counts(world.standard)).ready == 1
