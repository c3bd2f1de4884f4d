"""A move task does nothing that its user is not allowed to do by separate calls."""

from __future__ import annotations

import json

import pytest

from tests.unit.signed_world import DEAD_ARN, URL, SignedWorld, make_signed_world, members, said


async def deny(world: SignedWorld, url: str, action: str) -> None:
    statement = {"Effect": "Deny", "Principal": "*", "Action": f"sqs:{action}", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    members(await world.call("alice", "SetQueueAttributes", QueueUrl=url, Attributes={"Policy": policy}))


@pytest.mark.parametrize("target", [{"DestinationArn": DEAD_ARN.replace(":dead", ":orders")}, {}])
async def test_who_may_not_send_to_a_queue_moves_nothing_there_either(target: dict[str, str]) -> None:
    world = await make_signed_world()
    await deny(world, URL, "SendMessage")

    _, code, text = said(await world.call("alice", "StartMessageMoveTask", SourceArn=DEAD_ARN, **target))

    assert code == "AccessDeniedException"
    assert "to perform: sqs:sendmessage on resource" in text


@pytest.mark.parametrize("action", ["ReceiveMessage", "DeleteMessage"])
async def test_who_may_not_take_messages_has_none_taken_by_a_move(action: str) -> None:
    world = await make_signed_world()
    await deny(world, URL.replace("orders", "dead"), action)

    _, code, _ = said(await world.call("alice", "StartMessageMoveTask", SourceArn=DEAD_ARN))

    assert code == "AccessDeniedException"
