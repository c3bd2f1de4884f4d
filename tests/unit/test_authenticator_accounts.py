"""Two accounts try to access each other's resources, with each action, through the whole API stack."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cqs.api import operations
from cqs.api.authenticator import Mode
from cqs.service.policy_actions import GRANTABLE, OWNER_ONLY, permission_of
from tests.unit.people import OURS, THEIRS
from tests.unit.signed_world import DEAD_ARN, URL, SignedWorld, make_signed_world, members, said

ENTRY = [{"Id": "a", "MessageBody": "x"}]
CALLS: dict[str, dict[str, Any]] = {
    "AddPermission": {"QueueUrl": URL, "Label": "l", "AWSAccountIds": [THEIRS], "Actions": ["SendMessage"]},
    "CancelMessageMoveTask": {"TaskHandle": "HANDLE"},
    "ChangeMessageVisibility": {"QueueUrl": URL, "ReceiptHandle": "RECEIPT", "VisibilityTimeout": 0},
    "ChangeMessageVisibilityBatch": {
        "QueueUrl": URL, "Entries": [{"Id": "a", "ReceiptHandle": "RECEIPT", "VisibilityTimeout": 0}],
    },
    "DeleteMessage": {"QueueUrl": URL, "ReceiptHandle": "RECEIPT"},
    "DeleteMessageBatch": {"QueueUrl": URL, "Entries": [{"Id": "a", "ReceiptHandle": "RECEIPT"}]},
    "DeleteQueue": {"QueueUrl": URL},
    "GetQueueAttributes": {"QueueUrl": URL, "AttributeNames": ["All"]},
    "GetQueueUrl": {"QueueName": "orders", "QueueOwnerAWSAccountId": OURS},
    "ListDeadLetterSourceQueues": {"QueueUrl": URL},
    "ListMessageMoveTasks": {"SourceArn": DEAD_ARN},
    "ListQueueTags": {"QueueUrl": URL},
    "PurgeQueue": {"QueueUrl": URL},
    "ReceiveMessage": {"QueueUrl": URL},
    "RemovePermission": {"QueueUrl": URL, "Label": "l"},
    "SendMessage": {"QueueUrl": URL, "MessageBody": "x"},
    "SendMessageBatch": {"QueueUrl": URL, "Entries": ENTRY},
    "SetQueueAttributes": {"QueueUrl": URL, "Attributes": {"VisibilityTimeout": "0"}},
    "StartMessageMoveTask": {"SourceArn": DEAD_ARN},
    "TagQueue": {"QueueUrl": URL, "Tags": {"a": "b"}},
    "UntagQueue": {"QueueUrl": URL, "TagKeys": ["a"]},
}  # fmt: skip
ON_NO_QUEUE = {"CreateQueue", "ListQueues"}


def at_nowhere(value: Any) -> Any:
    """Returns the same call to a queue of that account that does not exist."""
    return json.loads(json.dumps(value).replace("orders", "nowhere").replace(":dead", ":nowhere"))


async def with_handles(world: SignedWorld, call: dict[str, Any]) -> dict[str, Any]:
    """Returns the call with the handles of a message that Alice has received and of a move task that she started."""
    await world.call("alice", "SendMessage", QueueUrl=URL, MessageBody="held")
    held = members(await world.call("alice", "ReceiveMessage", QueueUrl=URL))["Messages"][0]["ReceiptHandle"]
    task = members(await world.call("alice", "StartMessageMoveTask", SourceArn=DEAD_ARN))["TaskHandle"]
    return dict(json.loads(json.dumps(call).replace("RECEIPT", held).replace("HANDLE", task)))


async def allow(world: SignedWorld, **more: Any) -> None:
    statement = {"Effect": "Allow", "Principal": {"AWS": THEIRS}, "Action": "sqs:*", "Resource": "*", **more}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    members(await world.call("alice", "SetQueueAttributes", QueueUrl=URL, Attributes={"Policy": policy}))


def test_every_action_is_tried() -> None:
    assert CALLS.keys() | ON_NO_QUEUE == operations.BY_NAME.keys()


@pytest.mark.parametrize("mode", [Mode.SIGNED, Mode.ENFORCED])
@pytest.mark.parametrize("action", CALLS)
async def test_foreign_queue_is_refused_exactly_like_one_that_does_not_exist(action: str, mode: Mode) -> None:
    world = await make_signed_world(mode)
    call = await with_handles(world, CALLS[action])
    heard = list(world.bench.witness.heard)
    queues = list(world.bench.engine.registry)

    answer = said(await world.call("bob", action, **call))

    if action != "CancelMessageMoveTask":
        assert answer == said(await world.call("bob", action, **at_nowhere(call)))
    assert answer[1] in ("QueueDoesNotExist", "ResourceNotFoundException")
    assert world.bench.witness.heard == heard and list(world.bench.engine.registry) == queues


@pytest.mark.parametrize("action", CALLS)
async def test_owner_may_each_action(action: str) -> None:
    world = await make_signed_world()
    call = await with_handles(world, CALLS[action])

    status, kind, text = said(await world.call("alice", action, **call))

    expected = {
        "RemovePermission": "InvalidParameterValueException",
        "StartMessageMoveTask": "InvalidParameterValueException",
    }
    assert (kind, status) == ((expected[action], 400) if action in expected else ("", 200)), text


@pytest.mark.parametrize("action", [action for action in CALLS if permission_of(action) in GRANTABLE])
async def test_policy_opens_each_action_that_can_be_given_away(action: str) -> None:
    world = await make_signed_world()
    call = await with_handles(world, CALLS[action])
    await allow(world)

    assert said(await world.call("bob", action, **call)) == (200, "", "")


@pytest.mark.parametrize("action", [action for action in CALLS if action in OWNER_ONLY and "MoveTask" not in action])
async def test_policy_does_not_open_what_only_the_owner_may(action: str) -> None:
    world = await make_signed_world()
    await allow(world)

    status, kind, text = said(await world.call("bob", action, **CALLS[action]))

    assert (status, kind) == (403, "AccessDeniedException")
    who = f"User: arn:aws:iam::{THEIRS}:user/bob"
    assert text.startswith(f"{who} is not authorized to perform: sqs:{action.lower()} on resource: ")


async def test_policy_of_one_queue_opens_no_other() -> None:
    world = await make_signed_world()
    await allow(world)
    dead = URL.replace("orders", "dead")

    assert said(await world.call("bob", "SendMessage", QueueUrl=URL, MessageBody="x"))[0] == 200
    assert said(await world.call("bob", "SendMessage", QueueUrl=dead, MessageBody="x"))[1] == "QueueDoesNotExist"


async def test_add_permission_lets_in_and_remove_permission_shuts_out() -> None:
    world = await make_signed_world()
    members(await world.call("alice", "AddPermission", **CALLS["AddPermission"]))

    assert said(await world.call("bob", "SendMessageBatch", QueueUrl=URL, Entries=ENTRY))[0] == 200
    assert said(await world.call("bob", "ReceiveMessage", QueueUrl=URL))[1] == "AccessDeniedException"
    members(await world.call("alice", "RemovePermission", **CALLS["RemovePermission"]))
    assert said(await world.call("bob", "SendMessageBatch", QueueUrl=URL, Entries=ENTRY))[1] == "QueueDoesNotExist"


async def test_message_of_another_account_carries_its_sender() -> None:
    world = await make_signed_world()
    await allow(world)
    await world.call("bob", "SendMessage", QueueUrl=URL, MessageBody="x")
    (message,) = members(await world.call("alice", "ReceiveMessage", QueueUrl=URL, AttributeNames=["SenderId"]))[
        "Messages"
    ]

    bob = next(user for user in (await world.people.accounts.identities()).users if user.name == "bob")
    assert message["Attributes"]["SenderId"] == bob.user_id


async def test_handle_of_another_queue_is_no_handle() -> None:
    world = await make_signed_world()
    await world.call("alice", "SendMessage", QueueUrl=URL, MessageBody="x")
    (held,) = members(await world.call("alice", "ReceiveMessage", QueueUrl=URL))["Messages"]
    bobs = f"http://localhost:9324/{THEIRS}/bobs"

    answer = said(await world.call("bob", "DeleteMessage", QueueUrl=bobs, ReceiptHandle=held["ReceiptHandle"]))

    assert answer[1] == "ReceiptHandleIsInvalid"


async def test_conditions_see_the_request() -> None:
    world = await make_signed_world()
    await allow(world, Condition={"IpAddress": {"aws:SourceIp": "192.0.2.0/24"}})
    raw = world.signed("bob", "SendMessage", **CALLS["SendMessage"])

    assert said(await world.send(raw, peer="192.0.2.7"))[0] == 200
    assert said(await world.send(raw, peer="198.51.100.7"))[1] == "AccessDeniedException"


async def test_everybody_lists_and_makes_queues_of_the_own_account_only() -> None:
    world = await make_signed_world()
    ours = members(await world.call("alice", "ListQueues"))["QueueUrls"]
    theirs = members(await world.call("bob", "ListQueues"))["QueueUrls"]

    assert [url.split("/")[3:] for url in ours] == [[OURS, "dead"], [OURS, "orders"]]
    assert [url.split("/")[3:] for url in theirs] == [[THEIRS, "bobs"]]
    made = members(await world.call("bob", "CreateQueue", QueueName="orders"))["QueueUrl"]
    assert made.endswith(f"/{THEIRS}/orders")


async def test_dead_letters_and_moved_messages_stay_in_the_account() -> None:
    world = await make_signed_world()
    bobs = f"http://localhost:9324/{THEIRS}/bobs"
    theirs, nowhere = (
        {"RedrivePolicy": json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 3})}
        for arn in (DEAD_ARN, DEAD_ARN.replace(":dead", ":nowhere"))
    )

    answers = [
        said(await world.call("bob", "SetQueueAttributes", QueueUrl=bobs, Attributes=one)) for one in (theirs, nowhere)
    ]
    assert answers[0][1] == "InvalidParameterValueException"
    assert answers[0][2] == answers[1][2].replace(":nowhere", ":dead")

    targets = [f"arn:aws:sqs:us-east-1:{THEIRS}:{name}" for name in ("bobs", "nowhere")]
    moves = [
        said(await world.call("alice", "StartMessageMoveTask", SourceArn=DEAD_ARN, DestinationArn=target))
        for target in targets
    ]
    assert moves[0] == moves[1] and moves[0][1] == "InvalidParameterValueException"


@pytest.mark.parametrize("mode", [Mode.SIGNED, Mode.ENFORCED])
async def test_read_only_user_reads_and_changes_nothing(mode: Mode) -> None:
    world = await make_signed_world(mode)
    may: set[str] = set()
    before = list(world.bench.engine.registry)
    heard = list(world.bench.witness.heard)
    for action, call in {**CALLS, "ListQueues": {}, "CreateQueue": {"QueueName": "new"}}.items():
        status, kind, _ = said(await world.call("probe", action, **call))
        assert (status, kind) in ((200, ""), (403, "AccessDeniedException")), action
        if status == 200:
            may.add(action)

    assert may == {
        "GetQueueAttributes", "GetQueueUrl", "ListDeadLetterSourceQueues", "ListMessageMoveTasks", "ListQueueTags",
        "ListQueues",
    }  # fmt: skip
    assert list(world.bench.engine.registry) == before and world.bench.witness.heard == heard


@pytest.mark.parametrize("mode", [Mode.SIGNED, Mode.ENFORCED])
async def test_server_belongs_to_its_own_account(mode: Mode) -> None:
    world = await make_signed_world(mode, default_account=OURS)

    assert said(await world.call("bob", "DrainNode"))[1] == "AccessDeniedException"
    assert said(await world.call("probe", "DrainNode"))[1] == "AccessDeniedException"
    assert not world.bench.engine.waiters.is_draining
    assert members(await world.call("alice", "DrainNode"))["Draining"]
