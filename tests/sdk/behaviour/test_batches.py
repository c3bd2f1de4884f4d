"""Batches: which errors fail an entry, and which the whole call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import bodies, counts, receive, receive_all, refused, send

NewQueue = Callable[..., str]
PREFIX = "AWS.SimpleQueueService."


def entries(*texts: str, **options: Any) -> list[dict[str, Any]]:
    return [{"Id": f"e{number}", "MessageBody": text, **options} for number, text in enumerate(texts)]


def ids(results: list[dict[str, Any]]) -> list[str]:
    return sorted(result["Id"] for result in results)


def test_batch_of_ten_is_sent_whole(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    answer = sqs.send_message_batch(QueueUrl=url, Entries=entries(*"abcdefghij"))
    assert len(answer["Successful"]) == 10
    assert not answer.get("Failed")
    assert sorted(bodies(receive_all(sqs, url, 10))) == list("abcdefghij")


def test_each_entry_is_answered_with_id_and_digest(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    attribute = {"a": {"DataType": "String", "StringValue": "x"}}
    answer = sqs.send_message_batch(QueueUrl=url, Entries=entries("one", MessageAttributes=attribute))
    result = answer["Successful"][0]
    single = sqs.send_message(QueueUrl=url, MessageBody="one", MessageAttributes=attribute)
    assert result["Id"] == "e0"
    assert result["MD5OfMessageBody"] == single["MD5OfMessageBody"]
    assert result["MD5OfMessageAttributes"] == single["MD5OfMessageAttributes"]
    assert result["MessageId"] in {message["MessageId"] for message in receive_all(sqs, url, 2)}


def test_bad_entries_fail_alone(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(MaximumMessageSize=1024)
    batch = [
        *entries("good"),
        {"Id": "character", "MessageBody": "a\x01"},
        {"Id": "delay", "MessageBody": "x", "DelaySeconds": 901},
        {"Id": "size", "MessageBody": "x" * 1025},
    ]
    answer = sqs.send_message_batch(QueueUrl=url, Entries=batch)
    assert ids(answer["Successful"]) == ["e0"]
    codes = {failure["Id"]: failure["Code"] for failure in answer["Failed"]}
    assert codes == {
        "character": "InvalidMessageContents",
        "delay": "InvalidParameterValue",
        "size": "InvalidParameterValue",
    }
    assert all(failure["SenderFault"] and failure["Message"] for failure in answer["Failed"])
    assert bodies(receive(sqs, url)) == ["good"]


def test_batch_of_only_bad_entries_still_succeeds_as_a_call(sqs: Any, new_queue: NewQueue) -> None:
    answer = sqs.send_message_batch(QueueUrl=new_queue(), Entries=entries("\x01", "\x02"))
    assert not answer.get("Successful")
    assert ids(answer["Failed"]) == ["e0", "e1"]


def test_eleven_entries_are_refused_whole(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    text = "Maximum number of entries per request are 10. You have sent 11."
    with refused(f"{PREFIX}TooManyEntriesInBatchRequest", text, "TooManyEntriesInBatchRequest"):
        sqs.send_message_batch(QueueUrl=url, Entries=entries(*"abcdefghijk"))
    assert receive(sqs, url) == []


def test_empty_batch_is_refused(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    for call in (sqs.send_message_batch, sqs.delete_message_batch, sqs.change_message_visibility_batch):
        with refused(f"{PREFIX}EmptyBatchRequest", shape="EmptyBatchRequest"):
            call(QueueUrl=url, Entries=[])


def test_equal_ids_are_refused_whole(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    twins = [{"Id": "same", "MessageBody": "a"}, {"Id": "same", "MessageBody": "b"}]
    with refused(f"{PREFIX}BatchEntryIdsNotDistinct", "same", "BatchEntryIdsNotDistinct"):
        sqs.send_message_batch(QueueUrl=url, Entries=twins)
    assert receive(sqs, url) == []


@pytest.mark.parametrize("entry_id", ["x" * 81, "a b", "a.b", "é", "a/b"])
def test_bad_entry_id_is_refused_whole(sqs: Any, new_queue: NewQueue, entry_id: str) -> None:
    text = (
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
        "It can be at most 80 letters long."
    )
    with refused(f"{PREFIX}InvalidBatchEntryId", text, "InvalidBatchEntryId"):
        sqs.send_message_batch(QueueUrl=new_queue(), Entries=[{"Id": entry_id, "MessageBody": "x"}])


def test_entry_id_may_have_80_characters(sqs: Any, new_queue: NewQueue) -> None:
    entry_id = "A-z_9".ljust(80, "x")
    answer = sqs.send_message_batch(QueueUrl=new_queue(), Entries=[{"Id": entry_id, "MessageBody": "x"}])
    assert ids(answer["Successful"]) == [entry_id]


def test_total_of_a_mebibyte_fits_and_one_byte_more_does_not(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    half = 1_048_576 // 2
    answer = sqs.send_message_batch(QueueUrl=url, Entries=entries("x" * half, "y" * half))
    assert len(answer["Successful"]) == 2
    text = "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."
    with refused(f"{PREFIX}BatchRequestTooLong", text, "BatchRequestTooLong"):
        sqs.send_message_batch(QueueUrl=url, Entries=entries("x" * half, "y" * (half + 1)))
    assert counts(sqs, url)[0] == 2


def test_deletes_succeed_and_fail_one_by_one(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url, "a")
    send(sqs, url, "b")
    first, second = receive_all(sqs, url, 2)
    batch = [
        {"Id": "good", "ReceiptHandle": first["ReceiptHandle"]},
        {"Id": "bad", "ReceiptHandle": "garbage"},
        {"Id": "again", "ReceiptHandle": first["ReceiptHandle"]},
    ]
    answer = sqs.delete_message_batch(QueueUrl=url, Entries=batch)
    assert ids(answer["Successful"]) == ["again", "good"]
    assert [(failure["Id"], failure["Code"]) for failure in answer["Failed"]] == [("bad", "ReceiptHandleIsInvalid")]
    assert second["MessageId"] != first["MessageId"]
    assert counts(sqs, url) == (0, 1, 0)


def test_visibility_changes_succeed_and_fail_one_by_one(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url, "a")
    send(sqs, url, "b")
    first, second = receive_all(sqs, url, 2)
    batch = [
        {"Id": "back", "ReceiptHandle": first["ReceiptHandle"], "VisibilityTimeout": 0},
        {"Id": "long", "ReceiptHandle": second["ReceiptHandle"], "VisibilityTimeout": 43_201},
        {"Id": "bad", "ReceiptHandle": "garbage", "VisibilityTimeout": 1},
    ]
    answer = sqs.change_message_visibility_batch(QueueUrl=url, Entries=batch)
    assert ids(answer["Successful"]) == ["back"]
    codes = {failure["Id"]: failure["Code"] for failure in answer["Failed"]}
    assert codes == {"long": "InvalidParameterValue", "bad": "ReceiptHandleIsInvalid"}
    assert bodies(receive(sqs, url)) == [first["Body"]]


@pytest.mark.parametrize("operation", ["delete_message_batch", "change_message_visibility_batch"])
def test_other_batches_know_the_same_limits(sqs: Any, new_queue: NewQueue, operation: str) -> None:
    url = new_queue()
    visibility = {"VisibilityTimeout": 1} if operation.startswith("change") else {}
    batch = [{"Id": f"e{number}", "ReceiptHandle": "x", **visibility} for number in range(11)]
    with refused(f"{PREFIX}TooManyEntriesInBatchRequest"):
        getattr(sqs, operation)(QueueUrl=url, Entries=batch)
    with refused(f"{PREFIX}BatchEntryIdsNotDistinct"):
        getattr(sqs, operation)(QueueUrl=url, Entries=[batch[0], batch[0]])
