"""Send, receive, delete: bodies, ids, handles, sizes and system attributes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import counts, delete, receive, receive_all, receive_one, refused, send

NewQueue = Callable[..., str]

BODIES = {
    "line ends": "a\r\nb\rc\nd",
    "markup": '<a href="x">&amp; ]]> \' "</a>',
    "astral": "\U0001f600 \U00010000 \U0010ffff",
    "edges of xml": "\t\n\r \ud7ff\ue000\ufffd",
    "right to left": "\u202eabc \u0645\u0631\u062d\u0628\u0627",
    "form": "a=b&c=d+e%20f%",
    "spaces": "  lead and trail  ",
    "combining": "e\u0301" * 50,
}


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_body_comes_back_to_the_letter(sqs: Any, new_queue: NewQueue, body: str) -> None:
    url = new_queue()
    sent = sqs.send_message(QueueUrl=url, MessageBody=body)
    message = receive_one(sqs, url)
    assert message["Body"] == body
    assert sent["MD5OfMessageBody"] == message["MD5OfBody"] == md5(body)
    assert message["MessageId"] == sent["MessageId"]


def test_received_message_is_hidden_until_deleted(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url)
    message = receive_one(sqs, url)
    assert receive(sqs, url) == []
    delete(sqs, url, message)
    assert counts(sqs, url) == (0, 0, 0)


def test_empty_receive_has_no_messages_member(sqs: Any, new_queue: NewQueue) -> None:
    assert "Messages" not in sqs.receive_message(QueueUrl=new_queue())


def test_receive_gives_one_message_unless_asked_for_more(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url)
    send(sqs, url)
    assert len(sqs.receive_message(QueueUrl=url)["Messages"]) == 1


def test_receive_gives_at_most_what_is_asked_for(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    for number in range(5):
        send(sqs, url, str(number))
    assert len(receive(sqs, url, 3)) == 3
    assert len(receive(sqs, url, 10)) == 2


def test_standard_queue_is_almost_first_in_first_out(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    for number in range(20):
        send(sqs, url, str(number))
    assert [int(message["Body"]) for message in receive_all(sqs, url, 20)] == list(range(20))


@pytest.mark.parametrize("count", [0, 11, -1])
def test_number_of_messages_out_of_range_is_refused(sqs: Any, new_queue: NewQueue, count: int) -> None:
    text = f"Value {count} for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided."
    with refused("InvalidParameterValue", text):
        receive(sqs, new_queue(), count)


def test_empty_body_is_missing(sqs: Any, new_queue: NewQueue) -> None:
    with refused("MissingParameter", "The request must contain the parameter MessageBody."):
        send(sqs, new_queue(), "")


@pytest.mark.parametrize("character", ["\x00", "\x08", "\x0b", "\x1f", "\ufffe", "\uffff"])
def test_body_with_a_character_outside_xml_is_refused(sqs: Any, new_queue: NewQueue, character: str) -> None:
    url = new_queue()
    with refused("InvalidMessageContents", shape="InvalidMessageContents"):
        send(sqs, url, f"a{character}b")
    assert receive(sqs, url) == []


def test_largest_message_is_a_mebibyte(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    body = "x" * 1_048_576
    send(sqs, url, body)
    assert receive_one(sqs, url)["Body"] == body
    text = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
    with refused("InvalidParameterValue", text):
        send(sqs, url, body + "x")


def test_size_is_counted_in_bytes_with_attribute_names_types_and_values(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(MaximumMessageSize=1024)
    options = {"MessageAttributes": {"name": {"DataType": "String", "StringValue": "\u00e9"}}}
    attribute_size = len("name" + "String") + 2
    send(sqs, url, "x" * (1024 - attribute_size), **options)
    with refused("InvalidParameterValue", "Message must be shorter than 1024 bytes."):
        send(sqs, url, "x" * (1025 - attribute_size), **options)


def test_each_receive_gives_a_new_handle(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(VisibilityTimeout=0)
    send(sqs, url)
    handles = {receive_one(sqs, url)["ReceiptHandle"] for _ in range(3)}
    assert len(handles) == 3


def test_older_handle_still_deletes(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(VisibilityTimeout=0)
    send(sqs, url)
    first = receive_one(sqs, url)
    receive_one(sqs, url)
    delete(sqs, url, first)
    assert receive(sqs, url) == []


def test_deleting_again_succeeds(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url)
    message = receive_one(sqs, url)
    delete(sqs, url, message)
    delete(sqs, url, message)


@pytest.mark.parametrize("handle", ["garbage", "x" * 60, "ünicode", "a" * 10_000])
def test_garbage_handle_is_refused(sqs: Any, new_queue: NewQueue, handle: str) -> None:
    text = f'The input receipt handle "{handle}" is not a valid receipt handle.'
    with refused("ReceiptHandleIsInvalid", text, "ReceiptHandleIsInvalid"):
        sqs.delete_message(QueueUrl=new_queue(), ReceiptHandle=handle)


def test_handle_with_one_changed_character_is_refused(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url)
    handle = receive_one(sqs, url)["ReceiptHandle"]
    forged = handle[:20] + ("A" if handle[20] != "A" else "B") + handle[21:]
    with refused("ReceiptHandleIsInvalid"):
        sqs.delete_message(QueueUrl=url, ReceiptHandle=forged)
    assert counts(sqs, url) == (0, 1, 0)


def test_handle_of_another_queue_is_refused(sqs: Any, new_queue: NewQueue) -> None:
    url, other = new_queue(), new_queue()
    send(sqs, url)
    message = receive_one(sqs, url)
    with refused("ReceiptHandleIsInvalid"):
        delete(sqs, other, message)


def test_counts_tell_visible_in_flight_and_delayed(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    for number in range(4):
        send(sqs, url, str(number))
    send(sqs, url, "later", DelaySeconds=900)
    receive(sqs, url, 1)
    assert counts(sqs, url) == (3, 1, 1)


def test_system_attributes_tell_sender_times_and_count(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(VisibilityTimeout=0)
    send(sqs, url)
    first = receive_one(sqs, url)["Attributes"]
    second = receive_one(sqs, url)["Attributes"]
    now_ms = time.time() * 1000
    assert set(first) == {
        "SenderId",
        "SentTimestamp",
        "ApproximateReceiveCount",
        "ApproximateFirstReceiveTimestamp",
    }
    assert first["ApproximateReceiveCount"] == "1"
    assert second["ApproximateReceiveCount"] == "2"
    assert abs(int(first["SentTimestamp"]) - now_ms) < 60_000
    assert int(first["SentTimestamp"]) <= int(first["ApproximateFirstReceiveTimestamp"])
    assert second["ApproximateFirstReceiveTimestamp"] == first["ApproximateFirstReceiveTimestamp"]
    assert second["SentTimestamp"] == first["SentTimestamp"]


def test_system_attributes_are_told_only_when_asked_for(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(VisibilityTimeout=0)
    send(sqs, url)
    assert "Attributes" not in receive(sqs, url)[0]
    asked = receive(sqs, url, AttributeNames=["ApproximateReceiveCount"])[0]
    assert asked["Attributes"] == {"ApproximateReceiveCount": "2"}


def test_new_name_of_the_system_attribute_list_is_honoured(
    json_client: Callable[..., Any], new_queue: NewQueue
) -> None:
    sqs, url = json_client(), new_queue(VisibilityTimeout=0)
    send(sqs, url)
    asked = receive(sqs, url, MessageSystemAttributeNames=["ApproximateReceiveCount"])[0]
    assert asked["Attributes"] == {"ApproximateReceiveCount": "1"}
    both = receive(sqs, url, MessageSystemAttributeNames=["ApproximateReceiveCount"], AttributeNames=["SenderId"])[0]
    assert set(both["Attributes"]) == {"ApproximateReceiveCount", "SenderId"}


def test_trace_header_travels_with_its_own_digest(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    header = {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}
    sent = sqs.send_message(QueueUrl=url, MessageBody="x", MessageSystemAttributes={"AWSTraceHeader": header})
    assert "MD5OfMessageSystemAttributes" in sent
    assert "MD5OfMessageAttributes" not in sent
    assert receive_one(sqs, url)["Attributes"]["AWSTraceHeader"] == header["StringValue"]


def test_other_system_attributes_can_not_be_sent(sqs: Any, new_queue: NewQueue) -> None:
    value = {"DataType": "String", "StringValue": "me"}
    with refused("InvalidParameterValue"):
        sqs.send_message(QueueUrl=new_queue(), MessageBody="x", MessageSystemAttributes={"SenderId": value})


def test_group_id_on_a_standard_queue_is_told_back(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url, MessageGroupId="tenant-1")
    assert receive_one(sqs, url)["Attributes"]["MessageGroupId"] == "tenant-1"
