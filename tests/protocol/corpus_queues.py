"""Queues, their settings, tags, permissions and tasks: well-formed but invalid, for both protocols."""

from __future__ import annotations

from typing import Any

from tests.protocol.case import Meaning
from tests.protocol.world import BASE, STANDARD

INVALID = "InvalidParameterValue"
NO_QUEUE = "AWS.SimpleQueueService.NonExistentQueue"


def create(name: str, code: str = "", text: str = "", *, label: str = "", **attributes: str) -> Meaning:
    members: dict[str, Any] = {"QueueName": name}
    if attributes:
        members["Attributes"] = attributes
    return Meaning(label or f"create {name[:20]!r} {attributes}"[:80], "CreateQueue", members, code, text)


def setting(code: str, text: str, **attributes: str) -> Meaning:
    members = {"QueueUrl": STANDARD, "Attributes": attributes}
    return Meaning(f"set {attributes}"[:80], "SetQueueAttributes", members, code, text)


CASES = [
    create("n" * 80),
    create("n" * 81, INVALID, "1 to 80 in length"),
    *(create(name, INVALID) for name in ("", "a b", "..", "a/b", "\u00e9", "a.fifo", "a\n", "x" * 5_000)),
    create("n.fifo", FifoQueue="true"),
    create("n", INVALID, "must end with .fifo", FifoQueue="true"),
    create("n.fifo", INVALID, FifoQueue="false"),
    create("n", "InvalidAttributeName", "Unknown Attribute FifoQueue.", FifoQueue="false"),
    create("n", "InvalidAttributeName", "Unknown Attribute Nope.", Nope="1"),
    create("n", "InvalidAttributeName", "only when FifoQueue is set to true", DeduplicationScope="queue"),
    create("orders", "QueueAlreadyExists", "a different value for attribute DelaySeconds", DelaySeconds="7"),
    create("orders", label="the same again"),
    create("orders", label="the same with what it has", DelaySeconds="0"),
    setting("InvalidAttributeValue", "Invalid value for the parameter DelaySeconds.", DelaySeconds="901"),
    setting("InvalidAttributeName", "Unknown Attribute QueueArn.", QueueArn="x"),
    setting(
        "InvalidAttributeName", "one type of server-side encryption", KmsMasterKeyId="k", SqsManagedSseEnabled="true"
    ),
    setting(
        INVALID,
        "Dead letter target does not exist.",
        RedrivePolicy='{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:nope","maxReceiveCount":1}',
    ),
    setting(
        INVALID,
        "same type of queue",
        RedrivePolicy='{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:orders.fifo","maxReceiveCount":1}',
    ),
    Meaning(
        "unknown attribute asked for",
        "GetQueueAttributes",
        {"QueueUrl": STANDARD, "AttributeNames": ["Nope"]},
        "InvalidAttributeName",
    ),
    Meaning("no such queue", "GetQueueUrl", {"QueueName": "nope"}, NO_QUEUE),
    Meaning(
        "queue of nobody", "GetQueueUrl", {"QueueName": "orders", "QueueOwnerAWSAccountId": "111111111111"}, NO_QUEUE
    ),
    *(
        Meaning(f"url {url[:40]}", "ReceiveMessage", {"QueueUrl": url}, NO_QUEUE)
        for url in (
            "nope",
            "000000000000/orders",
            "order s",
            "n" * 81,
            "",
            "/",
            "//",
            "http://h/",
            BASE + "/",
            "http://h/1/orders",
            BASE + "/a/b",
            BASE + "/orders.",
            "http://h/000000000000",
            "\0",
            "http://[::1/000000000000/x",
        )
    ),
    *(
        Meaning(f"url {url}", "ReceiveMessage", {"QueueUrl": url})
        for url in (
            "orders",
            "orders.fifo",
            "http://other.example:1/000000000000/orders",
            "https://u:p@h/000000000000/orders?x=1#y",
            "/000000000000/orders",
            "http://[::1]:9/000000000000/orders",
            "//h/000000000000/orders",
            "http://h/000000000000/orders/",
        )
    ),
    Meaning("tag of aws", "TagQueue", {"QueueUrl": STANDARD, "Tags": {"aws:x": "y"}}, INVALID),
    Meaning("50 tags", "TagQueue", {"QueueUrl": STANDARD, "Tags": {f"k{i}": "v" for i in range(50)}}),
    Meaning("51 tags", "TagQueue", {"QueueUrl": STANDARD, "Tags": {f"k{i}": "v" for i in range(51)}}, INVALID),
    Meaning(
        "eight actions",
        "AddPermission",
        {"QueueUrl": STANDARD, "Label": "l", "AWSAccountIds": ["111111111111"], "Actions": ["SendMessage"] * 8},
        "OverLimit",
        status=403,
    ),
    Meaning("unknown label", "RemovePermission", {"QueueUrl": STANDARD, "Label": "l"}, INVALID, "can't find label."),
    Meaning(
        "task of no queue",
        "StartMessageMoveTask",
        {"SourceArn": "arn:aws:sqs:us-east-1:000000000000:nope"},
        "ResourceNotFoundException",
        status=404,
    ),
    Meaning(
        "task of no dead-letter queue",
        "StartMessageMoveTask",
        {"SourceArn": "arn:aws:sqs:us-east-1:000000000000:orders"},
        INVALID,
        "must be configured as a Dead Letter Queue.",
    ),
    Meaning(
        "task at rate 0",
        "StartMessageMoveTask",
        {"SourceArn": "arn:aws:sqs:us-east-1:000000000000:orders", "MaxNumberOfMessagesPerSecond": 0},
        INVALID,
    ),
    Meaning(
        "handle of no task",
        "CancelMessageMoveTask",
        {"TaskHandle": "x"},
        INVALID,
        "Value for parameter TaskHandle is invalid.",
    ),
]
