"""Messages, numbers, batches and handles that are well-formed but invalid, for both protocols.

`<handle>` stands for a valid receipt handle of the standard queue, `<flipped>` for one with a bit changed, `<foreign>`
for one of the FIFO queue, `<full>` for a body of the largest size."""

from __future__ import annotations

from typing import Any

from tests.protocol.case import Meaning
from tests.protocol.world import BASE, FIFO, STANDARD

INVALID = "InvalidParameterValue"
MISSING = "MissingParameter"
NO_QUEUE = "AWS.SimpleQueueService.NonExistentQueue"
BAD_HANDLE = "ReceiptHandleIsInvalid"
CONTENTS = "InvalidMessageContents"
BATCH = "AWS.SimpleQueueService."
MIB = 1_048_576


def send(name: str, code: str = "", text: str = "", *, url: str = STANDARD, body: str = "x", **more: Any) -> Meaning:
    return Meaning(name, "SendMessage", {"QueueUrl": url, "MessageBody": body} | more, code, text)


def attribute(name: str, value: dict[str, str], code: str = "", text: str = "", *, label: str = "") -> Meaning:
    case = label or f"attribute {name[:20]!r} {str(value)[:60]}"
    return send(case, code, text, MessageAttributes={name: value})


def traced(name: str, header: str, code: str = "", text: str = "", *, kind: str = "String") -> Meaning:
    return send(name, code, text, MessageSystemAttributes={"AWSTraceHeader": {"DataType": kind, "StringValue": header}})


def batch(name: str, ids: list[str], code: str, text: str = "") -> Meaning:
    entries = [{"Id": entry_id, "MessageBody": "x"} for entry_id in ids]
    return Meaning(name, "SendMessageBatch", {"QueueUrl": STANDARD, "Entries": entries}, code, text)


def number(action: str, parameter: str, value: int, code: str = "", text: str = "", **more: Any) -> Meaning:
    members = {"QueueUrl": STANDARD, parameter: value} | more
    return Meaning(f"{action} {parameter} {value}", action, members, code, text)


TEXT = {"DataType": "String", "StringValue": "v"}

MESSAGES = [
    send("empty body", MISSING, "The request must contain the parameter MessageBody.", body=""),
    send("largest body", body="<full>"),
    send("one byte too many", INVALID, "Message must be shorter than 1048576 bytes.", body="<full>x"),
    send("attribute's bytes count", INVALID, "must be shorter", body="<full>", MessageAttributes={"a": TEXT}),
    *(
        send(f"body with {ord(character):#x}", CONTENTS, "Invalid characters found", body=f"a{character}b")
        for character in "\0\1\b\v\f\x1f\ufffe\uffff"
    ),
    *(
        send(f"body {body!r}", body=body)
        for body in ("\r\n\t", '"]]>&<', "\U0001f600", "\u202eabc", "a" + "\u0301" * 1_000, "\x7f\x85", "\ufffd")
    ),
    attribute("a", {"DataType": "Binary", "BinaryValue": "YQ=="}),
    attribute("a.b-c_d", TEXT),
    attribute("n" * 256, TEXT),
    attribute("n" * 257, TEXT, INVALID),
    *(
        attribute(name, TEXT, INVALID, label=f"name {name!r}")
        for name in ("AWS.x", "amazon.x", "a..b", ".a", "a.", "a b")
    ),
    attribute("a", {"DataType": "Number.x", "StringValue": "1" * 38}),
    attribute("a", {"DataType": "Number", "StringValue": "1" * 39}, INVALID, "to a number"),
    *(
        attribute("a", {"DataType": "Number", "StringValue": value}, INVALID, "to a number")
        for value in ("x", "1" * 1_000_000 + "x", "1" * 1_000_000, "1." + "1" * 1_000_000 + "x", "." * 1_000_000)
    ),
    attribute("a", {"DataType": "Number", "StringValue": "\u0665"}, INVALID, "to a number"),
    attribute(
        "a", {"DataType": "String", "StringValue": ""}, INVALID, "must contain a non-empty value of type 'String'."
    ),
    attribute(
        "a", {"DataType": "Binary", "BinaryValue": ""}, INVALID, "must contain a non-empty value of type 'Binary'."
    ),
    attribute("a", {"DataType": "String", "BinaryValue": "YQ=="}, INVALID, "must use field 'String'."),
    attribute("a", {"DataType": "Binary", "StringValue": "x"}, INVALID, "must use field 'Binary'."),
    attribute("a", {"DataType": "Nope", "StringValue": "x"}, INVALID),
    attribute("a", {"DataType": "String.colour é", "StringValue": "x"}),
    *(
        attribute("a", {"DataType": f"String.a{character}b", "StringValue": "x"}, INVALID, "type")
        for character in "\0\x1b\n\ufffe"
    ),
    attribute("a", {"StringValue": "x"}, MISSING, "DataType"),
    send("ten attributes", MessageAttributes={f"a{i}": TEXT for i in range(10)}),
    send(
        "eleven attributes",
        INVALID,
        "Number of message attributes",
        MessageAttributes={f"a{i}": TEXT for i in range(11)},
    ),
    *(
        attribute(
            "a", {"DataType": kind, "StringValue": f"a{character}b"}, INVALID, "attribute 'a': Invalid characters"
        )
        for kind in ("String", "String.x", "Number")
        for character in "\0\x1b\ufffe"
    ),
    traced("trace header", "Root=1"),
    traced("longest trace header", "t" * 4_096),
    traced(
        "trace header that is too long", "t" * 4_097, INVALID, "'AWSTraceHeader' must have at most 4096 characters."
    ),
    traced("trace header that is no string", "1", INVALID, kind="Number"),
    *(traced(f"trace header with {ord(character):#x}", f"a{character}b", CONTENTS) for character in "\0\x1b\ufffe"),
    send("other system attribute", INVALID, MessageSystemAttributes={"SenderId": TEXT}),
    send("no group", MISSING, "MessageGroupId", url=FIFO),
    send("no deduplication", INVALID, "ContentBasedDeduplication", url=FIFO, MessageGroupId="g"),
    send(
        "group with a space",
        INVALID,
        "can only include alphanumeric and punctuation",
        url=FIFO,
        MessageGroupId="a b",
        MessageDeduplicationId="d",
    ),
    send("group of 129", INVALID, "1 to 128 in length", MessageGroupId="g" * 129),
    send("empty group", INVALID, "MessageGroupId", MessageGroupId=""),
    send("deduplication on a standard queue", INVALID, MessageDeduplicationId="d"),
    send("delay on a FIFO queue", INVALID, url=FIFO, MessageGroupId="g", MessageDeduplicationId="d", DelaySeconds=1),
]

NUMBERS = [
    *(number("ReceiveMessage", "MaxNumberOfMessages", value) for value in (1, 10)),
    number(
        "ReceiveMessage",
        "MaxNumberOfMessages",
        11,
        INVALID,
        "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.",
    ),
    *(number("ReceiveMessage", "MaxNumberOfMessages", value, INVALID) for value in (-1, 0, 2**31 - 1)),
    *(number("ReceiveMessage", "WaitTimeSeconds", value) for value in (0, 20)),
    number("ReceiveMessage", "WaitTimeSeconds", 21, INVALID, "Must be >= 0 and <= 20, if provided."),
    number("ReceiveMessage", "WaitTimeSeconds", -1, INVALID),
    *(number("ReceiveMessage", "VisibilityTimeout", value) for value in (0, 43_200)),
    *(number("ReceiveMessage", "VisibilityTimeout", value, INVALID) for value in (-1, 43_201)),
    *(number("SendMessage", "DelaySeconds", value, MessageBody="x") for value in (0, 900)),
    *(number("SendMessage", "DelaySeconds", value, INVALID, "DelaySeconds", MessageBody="x") for value in (-1, 901)),
    *(number("ChangeMessageVisibility", "VisibilityTimeout", value, ReceiptHandle="<handle>") for value in (0, 43_200)),
    *(
        number("ChangeMessageVisibility", "VisibilityTimeout", value, INVALID, ReceiptHandle="<handle>")
        for value in (-1, 43_201)
    ),
    *(Meaning(f"MaxResults {value}", "ListQueues", {"MaxResults": value}) for value in (1, 1_000)),
    *(
        Meaning(f"MaxResults {value}", "ListQueues", {"MaxResults": value}, INVALID, "MaxResults")
        for value in (-1, 0, 1_001)
    ),
    Meaning("garbage token", "ListQueues", {"NextToken": "garbage", "MaxResults": 1}, INVALID),
    Meaning(
        "unknown system attribute",
        "ReceiveMessage",
        {"QueueUrl": STANDARD, "AttributeNames": ["Nope"]},
        "InvalidAttributeName",
    ),
    Meaning(
        "attempt id on a standard queue",
        "ReceiveMessage",
        {"QueueUrl": STANDARD, "ReceiveRequestAttemptId": "a"},
        INVALID,
    ),
]

BATCHES = [
    batch(
        "11 entries",
        [str(i) for i in range(11)],
        BATCH + "TooManyEntriesInBatchRequest",
        "Maximum number of entries per request are 10. You have sent 11.",
    ),
    batch("equal ids", ["a", "b", "a"], BATCH + "BatchEntryIdsNotDistinct", "Id a repeated."),
    batch("id of 80", ["i" * 80], ""),
    *(
        batch(f"id {entry_id[:9]!r}", [entry_id], BATCH + "InvalidBatchEntryId", "can only contain alphanumeric")
        for entry_id in ("i" * 81, "a b", "a.b", "", "\u00e9", "a\n")
    ),
    batch("11 entries with bad ids", ["a b"] * 11, BATCH + "TooManyEntriesInBatchRequest"),
    batch("bad and equal ids", ["a b", "a b"], BATCH + "InvalidBatchEntryId"),
    Meaning(
        "small entries, too much in all",
        "SendMessageBatch",
        {"QueueUrl": STANDARD, "Entries": [{"Id": str(i), "MessageBody": "x" * 200_000} for i in range(6)]},
        BATCH + "BatchRequestTooLong",
        "Batch requests cannot be longer than 1048576 bytes. You have sent 1200000 bytes.",
    ),
    Meaning(
        "no group in a batch",
        "SendMessageBatch",
        {"QueueUrl": FIFO, "Entries": [{"Id": "a", "MessageBody": "x"}]},
        INVALID,
    ),
    batch("no group in an entry that is wrong otherwise, too", ["a"], INVALID, "MessageGroupId")._replace(
        members={"QueueUrl": FIFO, "Entries": [{"Id": "a", "MessageBody": "x", "DelaySeconds": 901}]}
    ),
    Meaning(
        "no deduplication in a batch",
        "SendMessageBatch",
        {
            "QueueUrl": FIFO,
            "Entries": [
                {"Id": "a", "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "d"},
                {"Id": "b", "MessageBody": "x", "MessageGroupId": "g"},
            ],
        },
        INVALID,
        "The queue should either have ContentBasedDeduplication enabled",
    ),
    batch("queue before entries", [str(i) for i in range(11)], NO_QUEUE)._replace(
        members={"QueueUrl": BASE + "/nope", "Entries": [{"Id": "a b", "MessageBody": "x"}]}
    ),
]

HANDLES = [
    *(
        Meaning(
            f"delete with {handle[:12]!r}",
            "DeleteMessage",
            {"QueueUrl": STANDARD, "ReceiptHandle": handle},
            BAD_HANDLE,
            "is not a valid receipt handle.",
        )
        for handle in ("", "garbage", "a" * 60, "<flipped>", "<handle>x", "<foreign>", "\U0001f600", "h" * MIB)
    ),
    Meaning("handle at another queue", "DeleteMessage", {"QueueUrl": FIFO, "ReceiptHandle": "<handle>"}, BAD_HANDLE),
    Meaning(
        "change with garbage",
        "ChangeMessageVisibility",
        {"QueueUrl": STANDARD, "ReceiptHandle": "x", "VisibilityTimeout": 1},
        BAD_HANDLE,
    ),
    Meaning(
        "change without a timeout",
        "ChangeMessageVisibility",
        {"QueueUrl": STANDARD, "ReceiptHandle": "<handle>"},
        MISSING,
        "VisibilityTimeout",
    ),
]

CASES = [*MESSAGES, *NUMBERS, *BATCHES, *HANDLES]
