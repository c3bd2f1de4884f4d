"""Requests that are well-formed but invalid get the same documented error in both protocols, and change nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cqs.api.request import Request
from tests.protocol import corpus_messages, corpus_queues
from tests.protocol.case import Meaning, by_name
from tests.protocol.world import STANDARD, World, code_of, headers_of, make_world, text_of

FLIPPED_CHARACTER = 30


async def placeholders(world: World) -> dict[str, str]:
    """Returns the values for the placeholders of the corpus."""
    handle = await world.handle()
    other = "A" if handle[FLIPPED_CHARACTER] != "A" else "B"
    await world.bench.send(world.fifo, "held")
    foreign = (await world.bench.receive(world.fifo, count_max=1))[0].handle
    return {
        "<handle>": handle,
        "<flipped>": handle[:FLIPPED_CHARACTER] + other + handle[FLIPPED_CHARACTER + 1 :],
        "<foreign>": foreign,
        "<full>": "x" * corpus_messages.MIB,
    }


def filled(members: dict[str, Any], values: dict[str, str]) -> dict[str, Any]:
    text = json.dumps(members)
    for name, value in values.items():
        text = text.replace(name, value)
    filled_in: dict[str, Any] = json.loads(text)
    return filled_in


def request_of(case: Meaning, protocol: str) -> Request:
    return case.as_json() if protocol == "json" else case.as_form()


@pytest.mark.parametrize("protocol", ["json", "query"])
@pytest.mark.parametrize("case", by_name([*corpus_messages.CASES, *corpus_queues.CASES]))
async def test_call_gets_its_documented_answer(case: Meaning, protocol: str) -> None:
    world = await make_world()
    complete = case._replace(members=filled(case.members, await placeholders(world)))
    before = world.state()

    reply = await world.dispatcher.dispatch(request_of(complete, protocol))

    assert (reply.status, code_of(headers_of(reply), reply.body)) == (case.status if case.code else 200, case.code), (
        reply.body[:1_000]
    )
    if case.code:
        assert case.text.removesuffix(".") in text_of(reply.body)
        assert world.state() == before


async def test_one_bad_entry_among_nine_good_ones_fails_alone() -> None:
    world = await make_world()
    entries = [{"Id": str(i), "MessageBody": "x" if i != 4 else "\ufffe"} for i in range(10)]

    reply = await world.json("SendMessageBatch", QueueUrl=STANDARD, Entries=entries)

    answer = json.loads(reply.body)
    assert [entry["Id"] for entry in answer["Successful"]] == [str(i) for i in range(10) if i != 4]
    (failed,) = answer["Failed"]
    assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("4", "InvalidMessageContents", True)


async def test_batch_of_bad_entries_only_is_a_success_with_failures() -> None:
    world = await make_world()
    entries = [
        {"Id": "bytes", "MessageBody": "\0"},
        {"Id": "empty", "MessageBody": ""},
        {"Id": "delay", "MessageBody": "x", "DelaySeconds": 901},
        {"Id": "type", "MessageBody": "x", "MessageAttributes": {"a": {"DataType": "Binary", "StringValue": "x"}}},
    ]

    reply = await world.json("SendMessageBatch", QueueUrl=STANDARD, Entries=entries)

    answer = json.loads(reply.body)
    assert (reply.status, answer.keys()) == (200, {"Failed"})
    assert {entry["Id"]: entry["Code"] for entry in answer["Failed"]} == {
        "bytes": "InvalidMessageContents",
        "empty": "MissingParameter",
        "delay": "InvalidParameterValue",
        "type": "InvalidParameterValue",
    }


async def test_equal_receipts_twice_in_a_batch_both_succeed() -> None:
    world = await make_world()
    handle = await world.handle()
    entries = [{"Id": name, "ReceiptHandle": handle} for name in ("a", "b")] + [{"Id": "c", "ReceiptHandle": "x"}]

    reply = await world.json("DeleteMessageBatch", QueueUrl=STANDARD, Entries=entries)

    answer = json.loads(reply.body)
    assert [entry["Id"] for entry in answer["Successful"]] == ["a", "b"]
    assert [(entry["Id"], entry["Code"]) for entry in answer["Failed"]] == [("c", "ReceiptHandleIsInvalid")]


async def test_empty_batch_is_refused() -> None:
    world = await make_world()

    for action in ("SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"):
        reply = await world.json(action, QueueUrl=STANDARD, Entries=[])

        assert code_of(headers_of(reply), reply.body) == "AWS.SimpleQueueService.EmptyBatchRequest"
        assert text_of(reply.body) == f"There should be at least one {action}RequestEntry in the request."


async def test_visibility_batch_fails_entry_by_entry() -> None:
    world = await make_world()
    handle = await world.handle()
    entries = [
        {"Id": "good", "ReceiptHandle": handle, "VisibilityTimeout": 10},
        {"Id": "long", "ReceiptHandle": handle, "VisibilityTimeout": 43_201},
        {"Id": "none", "ReceiptHandle": handle},
        {"Id": "bad", "ReceiptHandle": "x", "VisibilityTimeout": 1},
    ]

    reply = await world.json("ChangeMessageVisibilityBatch", QueueUrl=STANDARD, Entries=entries)

    answer = json.loads(reply.body)
    assert [entry["Id"] for entry in answer["Successful"]] == ["good"]
    assert {entry["Id"]: entry["Code"] for entry in answer["Failed"]} == {
        "long": "InvalidParameterValue",
        "none": "MissingParameter",
        "bad": "ReceiptHandleIsInvalid",
    }
