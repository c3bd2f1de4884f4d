"""PeekMessages and GetMessage show everything and change nothing."""

from __future__ import annotations

import asyncio
import json

import pytest

from cqs.cache.entry import State
from cqs.errors import StoreUnavailable
from cqs.service.peek import Filter, peek
from tests.engine import make_bench
from tests.protocol.extension_world import peeked, refused, told, world_with
from tests.protocol.world import FIFO, STANDARD, make_world

TEXT = {"DataType": "String", "StringValue": "blue"}


async def test_peeked_messages_are_received_in_the_same_order_and_for_the_first_time() -> None:
    world = await world_with("one", "two", "three")

    for _ in range(5):
        assert await peeked(world) == ["one", "two", "three"]

    deliveries = await world.bench.receive(world.standard)
    assert [one.message.body for one in deliveries] == ["one", "two", "three"]
    assert [one.received.receive_count for one in deliveries] == [1, 1, 1]


async def test_peek_leaves_counts_leases_and_witnesses_alone() -> None:
    world = await world_with("one", "two")
    held = await world.bench.receive(world.standard, count_max=1)
    before = await world.bench.counts(world.standard)
    heard = list(world.bench.witness.heard)

    for state in ("ready", "in_flight", "delayed"):
        await told(world, "PeekMessages", State=state)
    await told(world, "GetMessage", MessageId=held[0].message.message_id)

    assert await world.bench.counts(world.standard) == before
    assert world.bench.witness.heard == heard
    world.bench.clock.advance_ms(world.standard.settings.visibility_ms)
    assert (await told(world, "PeekMessages", State="in_flight"))["Messages"][0]["Attributes"][
        "ApproximateReceiveCount"
    ] == "1"


async def test_peek_of_a_fifo_queue_does_not_lock_its_groups() -> None:
    world = await make_world()
    await world.bench.send(world.fifo, "one", "two", group="g")

    assert await peeked(world, QueueUrl=FIFO) == ["one", "two"]

    assert await world.bench.bodies(world.fifo) == ["one", "two"]


async def test_each_state_is_shown_apart() -> None:
    world = await world_with("received", "ready")
    await world.bench.receive(world.standard, count_max=1)
    await world.json("SendMessage", QueueUrl=STANDARD, MessageBody="delayed", DelaySeconds=60)

    assert await peeked(world) == ["ready"]
    assert await peeked(world, State="in_flight") == ["received"]
    (delayed,) = (await told(world, "PeekMessages", State="delayed"))["Messages"]
    assert (delayed["Body"], delayed["State"]) == ("delayed", "delayed")
    assert delayed["VisibleAt"] == world.bench.clock.now_ms() + 60_000


async def test_pages_do_not_overlap_and_end() -> None:
    bodies = [f"m{number}" for number in range(7)]
    world = await world_with(*bodies)

    seen: list[str] = []
    token, pages = "", 0
    while token or not pages:
        answer = await told(world, "PeekMessages", MaxResults=3, NextToken=token)
        seen += [message["Body"] for message in answer["Messages"]]
        token, pages = answer.get("NextToken", ""), pages + 1

    assert seen == bodies
    assert pages == 3


async def test_message_is_told_with_all_it_has() -> None:
    world = await make_world()
    await world.json(
        "SendMessage", QueueUrl=STANDARD, MessageBody="héllo", MessageAttributes={"colour": TEXT}, MessageGroupId="t1"
    )

    (message,) = (await told(world, "PeekMessages"))["Messages"]

    assert message["MessageAttributes"] == {"colour": TEXT}
    assert message["Attributes"]["MessageGroupId"] == "t1"
    assert message["Size"] == len("héllo".encode()) + len("colourStringblue")
    assert message["Address"] == message["MessageId"]
    assert "ReceiptHandle" not in message
    assert (await told(world, "GetMessage", MessageId=message["MessageId"]))["Message"] == message


@pytest.mark.parametrize(
    ("wanted", "bodies"),
    [
        ({"ContainsText": "APPLE"}, ["an apple", "apple pie"]),
        ({"MessageGroupId": "t2"}, ["apple pie"]),
        ({"AttributeName": "colour"}, ["an apple", "a pear"]),
        ({"AttributeName": "colour", "AttributeValue": "green"}, ["a pear"]),
        ({"AttributeName": "colour", "ContainsText": "apple"}, ["an apple"]),
        ({"ContainsText": "plum"}, []),
    ],
)
async def test_filters_must_all_hold(wanted: dict[str, str], bodies: list[str]) -> None:
    world = await make_world()
    for body, colour, group in (("an apple", "red", "t1"), ("a pear", "green", "t1"), ("apple pie", "", "t2")):
        attributes = {"colour": {"DataType": "String", "StringValue": colour}} if colour else {}
        await world.json(
            "SendMessage", QueueUrl=STANDARD, MessageBody=body, MessageAttributes=attributes, MessageGroupId=group
        )

    assert await peeked(world, **wanted) == bodies


async def test_search_looks_at_no_more_than_its_limit_and_goes_on_from_there() -> None:
    world = await world_with(*["hay"] * 5, "needle")

    first = await told(world, "PeekMessages", ContainsText="needle", ScanLimit=4)
    second = await told(world, "PeekMessages", ContainsText="needle", ScanLimit=4, NextToken=first["NextToken"])

    assert (first["Messages"], first["Scanned"]) == ([], 4)
    assert ([message["Body"] for message in second["Messages"]], second["Scanned"]) == (["needle"], 2)
    assert "NextToken" not in second


async def test_search_that_has_enough_goes_on_behind_its_last_match() -> None:
    world = await world_with("a1", "b", "a2", "b", "a3")

    first = await told(world, "PeekMessages", ContainsText="a", MaxResults=2)
    second = await told(world, "PeekMessages", ContainsText="a", MaxResults=2, NextToken=first["NextToken"])

    assert [message["Body"] for message in first["Messages"]] == ["a1", "a2"]
    assert [message["Body"] for message in second["Messages"]] == ["a3"]
    assert "NextToken" not in second


async def test_page_of_large_bodies_is_cut() -> None:
    world = await world_with(*["x" * 1_000_000] * 10)

    answer = await told(world, "PeekMessages", MaxResults=10)

    assert len(answer["Messages"]) == 8
    assert len((await told(world, "PeekMessages", NextToken=answer["NextToken"]))["Messages"]) == 2


async def test_search_that_finds_nothing_in_large_bodies_ends_its_page_all_the_same() -> None:
    world = await world_with(*["x" * 1_000_000] * 10)

    answer = await told(world, "PeekMessages", ContainsText="needle", MaxResults=10)

    assert (answer["Messages"], answer["Scanned"]) == ([], 8)
    rest = await told(world, "PeekMessages", ContainsText="needle", NextToken=answer["NextToken"])
    assert rest["Scanned"] == 2


async def test_others_have_their_turn_between_large_bodies() -> None:
    world = await world_with(*["x" * 1_000_000] * 6)
    queue, loop = world.bench.engine.registry.find(world.standard.key), asyncio.get_running_loop()
    turns = 0

    def turn() -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(turn)

    turn()
    page = await peek(world.bench.engine, queue, State.READY, scan_max=10, wanted=Filter(text="needle"))

    assert page.scanned == 6
    assert turns >= 6


async def test_bodies_that_the_cache_has_not_come_from_the_store() -> None:
    bench = await make_bench(body_budget_bytes=0)
    queue = await bench.create("orders")
    await bench.send(queue, "one", "two")
    world = await make_world(bench=bench)

    assert await peeked(world) == ["one", "two"]
    bench.store.fail("read", StoreUnavailable("disk"))
    assert (await refused(world, "PeekMessages"))[0] == "ServiceUnavailable"


@pytest.mark.parametrize(
    ("members", "parameter"),
    [
        ({"State": "gone"}, "State"),
        ({"MaxResults": 0}, "MaxResults"),
        ({"MaxResults": 101}, "MaxResults"),
        ({"ScanLimit": 10_001}, "ScanLimit"),
        ({"NextToken": "x"}, "NextToken"),
    ],
)
async def test_wrong_parameter_is_named(members: dict[str, object], parameter: str) -> None:
    world = await world_with("one")

    code, text = await refused(world, "PeekMessages", **members)

    assert code == "InvalidParameterValue"
    assert f"for parameter {parameter} is invalid" in text


async def test_value_without_a_name_is_no_filter() -> None:
    world = await make_world()

    assert (await refused(world, "PeekMessages", AttributeValue="x"))[0] == "MissingParameter"


@pytest.mark.parametrize("message_id", ["", "x", "6887e247-1280-8000-8001-9707d58918a2", "é" * 300])
async def test_unknown_message_is_not_found(message_id: str) -> None:
    world = await world_with("one")

    assert (await refused(world, "GetMessage", MessageId=message_id))[0] == "ResourceNotFoundException"


async def test_dead_letter_is_found_by_the_id_it_always_had() -> None:
    world = await make_world()
    bench = world.bench
    dead = await bench.create("dead")
    policy = json.dumps({"deadLetterTargetArn": dead.arn, "maxReceiveCount": 1})
    await world.json("SetQueueAttributes", QueueUrl=STANDARD, Attributes={"RedrivePolicy": policy})
    source = bench.engine.registry.find(world.standard.key)
    await bench.send(dead, *["x" * 1_000_000] * 9)
    await bench.send(source, "poison")
    message_id = (await bench.receive(source, visibility_ms=0))[0].message.message_id
    assert await bench.receive(source) == []

    url = STANDARD.replace("orders", "dead")
    message = (await told(world, "GetMessage", QueueUrl=url, MessageId=message_id))["Message"]

    assert (message["MessageId"], message["Body"]) == (message_id, "poison")
    assert message["Address"] != message_id
    assert message["Attributes"]["DeadLetterQueueSourceArn"] == source.arn
    assert (await told(world, "GetMessage", QueueUrl=url, MessageId=message["Address"]))["Message"] == message
