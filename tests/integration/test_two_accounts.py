"""Two accounts on a real server try to access each other's resources, with each action, on both lanes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from botocore import xform_name

from cqs.commands.client import CallFailed, Client
from cqs.commands.signer import Keys
from tests.integration.process import Served
from tests.integration.signed import KEYS, LANES, OURS, THEIRS, client, said, signed_server

DEAD_ARN = f"arn:aws:sqs:us-east-1:{OURS}:dead"
CALLS: dict[str, dict[str, Any]] = {
    "AddPermission": {"QueueUrl": "URL", "Label": "l", "AWSAccountIds": [THEIRS], "Actions": ["SendMessage"]},
    "CancelMessageMoveTask": {"TaskHandle": "TASK"},
    "ChangeMessageVisibility": {"QueueUrl": "URL", "ReceiptHandle": "HELD", "VisibilityTimeout": 0},
    "ChangeMessageVisibilityBatch": {
        "QueueUrl": "URL", "Entries": [{"Id": "a", "ReceiptHandle": "HELD", "VisibilityTimeout": 0}],
    },
    "DeleteMessage": {"QueueUrl": "URL", "ReceiptHandle": "HELD"},
    "DeleteMessageBatch": {"QueueUrl": "URL", "Entries": [{"Id": "a", "ReceiptHandle": "HELD"}]},
    "DeleteQueue": {"QueueUrl": "URL"},
    "GetQueueAttributes": {"QueueUrl": "URL", "AttributeNames": ["All"]},
    "GetQueueUrl": {"QueueName": "orders", "QueueOwnerAWSAccountId": OURS},
    "ListDeadLetterSourceQueues": {"QueueUrl": "URL"},
    "ListMessageMoveTasks": {"SourceArn": DEAD_ARN},
    "ListQueueTags": {"QueueUrl": "URL"},
    "PurgeQueue": {"QueueUrl": "URL"},
    "ReceiveMessage": {"QueueUrl": "URL"},
    "RemovePermission": {"QueueUrl": "URL", "Label": "l"},
    "SendMessage": {"QueueUrl": "URL", "MessageBody": "x"},
    "SendMessageBatch": {"QueueUrl": "URL", "Entries": [{"Id": "a", "MessageBody": "x"}]},
    "SetQueueAttributes": {"QueueUrl": "URL", "Attributes": {"VisibilityTimeout": "0"}},
    "StartMessageMoveTask": {"SourceArn": DEAD_ARN},
    "TagQueue": {"QueueUrl": "URL", "Tags": {"a": "b"}},
    "UntagQueue": {"QueueUrl": "URL", "TagKeys": ["team"]},
}  # fmt: skip
ON_NO_QUEUE = {"CreateQueue", "ListQueues"}
SEES_NOTHING = {(400, "NonExistentQueue"), (404, "ResourceNotFoundException"), (400, "ResourceNotFoundException")}


class Pair:
    """Alice, with a queue that has messages, one of them in flight, and a running move task; and Bob."""

    def __init__(self, server: Served) -> None:
        self.server = server
        self.alice = client(server)
        dead = self.alice.create_queue(QueueName="dead")["QueueUrl"]
        redrive = json.dumps({"deadLetterTargetArn": DEAD_ARN, "maxReceiveCount": 9})
        attributes = {"RedrivePolicy": redrive}
        self.url = self.alice.create_queue(QueueName="orders", Attributes=attributes, tags={"team": "a"})["QueueUrl"]
        for body in ("held", "waiting"):
            self.alice.send_message(QueueUrl=self.url, MessageBody=body)
        self.held = self.alice.receive_message(QueueUrl=self.url, VisibilityTimeout=600)["Messages"][0]["ReceiptHandle"]
        self.alice.send_message(QueueUrl=dead, MessageBody="dead")
        self.task = self.alice.start_message_move_task(SourceArn=DEAD_ARN, MaxNumberOfMessagesPerSecond=1)["TaskHandle"]

    def call(self, user: str, lane: str, action: str) -> tuple[int, str]:
        text = json.dumps(CALLS[action]).replace("URL", self.url, 1) if "QueueUrl" in CALLS[action] else ""
        members = json.loads((text or json.dumps(CALLS[action])).replace("HELD", self.held).replace("TASK", self.task))
        return said(getattr(client(self.server, user, lane), xform_name(action)), **members)

    def state(self) -> dict[str, Any]:
        """Returns everything that Bob must not change."""
        attributes = self.alice.get_queue_attributes(QueueUrl=self.url, AttributeNames=["All"])["Attributes"]
        return {**attributes, "tags": self.alice.list_queue_tags(QueueUrl=self.url)["Tags"]}


@pytest.fixture(scope="module", params=["signed", "enforced"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with signed_server(tmp_path_factory.mktemp("accounts"), request.param) as server:
        yield Pair(server)
        code, rest = server.stop()
    assert (code, "Traceback" in rest) == (0, False), rest


@pytest.fixture(scope="module")
def enforced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with signed_server(tmp_path_factory.mktemp("policies"), "enforced") as server:
        yield server


def test_every_action_that_boto3_knows_is_tried(pair: Pair) -> None:
    assert CALLS.keys() | ON_NO_QUEUE == set(pair.alice.meta.service_model.operation_names)


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("action", CALLS)
def test_other_accounts_queue_is_not_there(pair: Pair, action: str, lane: str) -> None:
    before = pair.state()

    assert pair.call("bob", lane, action) in SEES_NOTHING
    assert pair.state() == before


EXTENSIONS: dict[str, dict[str, Any]] = {
    "PeekMessages": {"QueueUrl": "URL"},
    "GetMessage": {"QueueUrl": "URL", "MessageId": "00000000-0000-4000-8000-000000000000"},
    "ResendMessage": {"QueueUrl": "URL", "MessageId": "00000000-0000-4000-8000-000000000000"},
    "ChangeMessages": {"QueueUrl": "URL", "MessageIds": ["00000000-0000-4000-8000-000000000000"], "Change": "delete"},
    "GetNodeStatistics": {"QueueUrl": "URL"},
}


@pytest.mark.parametrize("action", EXTENSIONS)
def test_other_accounts_queue_is_not_there_for_the_extensions_either(pair: Pair, action: str) -> None:
    with closing(Client(pair.server.endpoint, keys=Keys(*KEYS["bob"]))) as bob:
        members = {name: pair.url if value == "URL" else value for name, value in EXTENSIONS[action].items()}
        with pytest.raises(CallFailed) as refused:
            bob.call(action, **members)
        assert refused.value.is_not_found

        mine = bob.call("CreateQueue", QueueName="mine")["QueueUrl"]
        sent = bob.call("SendMessage", QueueUrl=mine, MessageBody="x")["MessageId"]
        with pytest.raises(CallFailed) as refused:
            bob.call("ResendMessage", QueueUrl=mine, MessageId=sent, DestinationQueueUrl=pair.url)
        assert refused.value.is_not_found


@pytest.mark.parametrize("lane", LANES)
def test_lists_and_new_queues_are_of_the_own_account(pair: Pair, lane: str) -> None:
    bob = client(pair.server, "bob", lane)
    mine = bob.create_queue(QueueName="orders")["QueueUrl"]

    assert mine.split("/")[3:] == [THEIRS, "orders"]
    assert {url.split("/")[3] for url in bob.list_queues()["QueueUrls"]} == {THEIRS}
    assert {url.split("/")[3] for url in pair.alice.list_queues()["QueueUrls"]} == {OURS}
    assert said(bob.delete_message, QueueUrl=mine, ReceiptHandle=pair.held)[1] == "ReceiptHandleIsInvalid"


def policy_of(url: str, *statements: dict[str, Any]) -> dict[str, str]:
    name = url.rpartition("/")[2]
    common = {"Principal": {"AWS": THEIRS}, "Resource": f"arn:aws:sqs:us-east-1:{OURS}:{name}"}
    return {"Policy": json.dumps({"Version": "2012-10-17", "Statement": [common | one for one in statements]})}


@pytest.mark.parametrize("lane", LANES)
def test_policy_opens_what_it_names_and_a_deny_shuts_it(enforced: Served, lane: str) -> None:
    alice, bob = client(enforced, lane=lane), client(enforced, "bob", lane)
    url = alice.create_queue(QueueName=f"shared-{lane}")["QueueUrl"]
    send = {"QueueUrl": url, "MessageBody": "x"}

    assert said(bob.send_message, **send)[1] == "NonExistentQueue"
    allow = {"Effect": "Allow", "Action": ["sqs:SendMessage"]}
    alice.set_queue_attributes(QueueUrl=url, Attributes=policy_of(url, allow))
    assert said(bob.send_message, **send) == (200, "")
    assert said(bob.receive_message, QueueUrl=url) == (403, "AccessDenied")
    assert said(bob.delete_queue, QueueUrl=url) == (403, "AccessDenied")
    deny = {"Effect": "Deny", "Principal": "*", "Action": "sqs:SendMessage"}
    alice.set_queue_attributes(QueueUrl=url, Attributes=policy_of(url, allow, deny))
    assert [said(one.send_message, **send) for one in (bob, alice)] == [(403, "AccessDenied")] * 2


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize(
    ("condition", "is_open"),
    [
        ({"IpAddress": {"aws:SourceIp": "127.0.0.0/8"}}, True),
        ({"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}, False),
        ({"Bool": {"aws:SecureTransport": "true"}}, False),
        ({"Bool": {"aws:SecureTransport": "false"}}, True),
        ({"StringLike": {"aws:UserAgent": "Boto3*"}}, True),
        ({"DateLessThan": {"aws:CurrentTime": "2020-01-01T00:00:00Z"}}, False),
    ],
)
def test_conditions_see_the_connection(enforced: Served, lane: str, condition: dict[str, Any], is_open: bool) -> None:
    alice, bob = client(enforced, lane=lane), client(enforced, "bob", lane)
    url = alice.create_queue(QueueName=f"conditional-{lane}")["QueueUrl"]
    allow = {"Effect": "Allow", "Action": "sqs:SendMessage", "Condition": condition}
    alice.set_queue_attributes(QueueUrl=url, Attributes=policy_of(url, allow))

    assert said(bob.send_message, QueueUrl=url, MessageBody="x") == ((200, "") if is_open else (403, "AccessDenied"))


def test_policy_that_means_nothing_is_refused_when_it_is_set(enforced: Served) -> None:
    alice = client(enforced)
    url = alice.create_queue(QueueName="strict")["QueueUrl"]
    bad = policy_of(url, {"Effect": "Allow", "Action": "sqs:SendMassage"})

    assert said(alice.set_queue_attributes, QueueUrl=url, Attributes=bad)[1] == "InvalidAttributeValue"


def test_forwarded_address_is_believed_of_a_listed_proxy_only(tmp_path_factory: pytest.TempPathFactory) -> None:
    def forward(request: Any, **_: Any) -> None:
        request.headers["X-Forwarded-For"] = "203.0.113.9"
        request.headers["X-Forwarded-Proto"] = "https"

    answers = []
    for flags in ((), ("--trusted-proxies", "127.0.0.1")):
        with signed_server(tmp_path_factory.mktemp("proxied"), "enforced", *flags) as server:
            alice, bob = client(server), client(server, "bob")
            url = alice.create_queue(QueueName="q")["QueueUrl"]
            condition = {"IpAddress": {"aws:SourceIp": "203.0.113.9"}, "Bool": {"aws:SecureTransport": "true"}}
            allow = {"Effect": "Allow", "Action": "sqs:SendMessage", "Condition": condition}
            alice.set_queue_attributes(QueueUrl=url, Attributes=policy_of(url, allow))
            bob.meta.events.register("before-send.sqs", forward)
            answers.append(said(bob.send_message, QueueUrl=url, MessageBody="x"))

    assert answers == [(403, "AccessDenied"), (200, "")]
