"""Message attributes: values, filters, digests, and invalid ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import receive, receive_one, refused, send

NewQueue = Callable[..., str]

SAMPLE: dict[str, dict[str, Any]] = {
    "text": {"DataType": "String", "StringValue": 'a "quoted" <value>\r\n'},
    "count": {"DataType": "Number", "StringValue": "-12.5e3"},
    "raw": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
    "labelled": {"DataType": "String.json", "StringValue": "{}"},
    "picture": {"DataType": "Binary.png", "BinaryValue": b"\x89PNG"},
}


def string(value: str) -> dict[str, str]:
    return {"DataType": "String", "StringValue": value}


def digest(attributes: dict[str, dict[str, Any]]) -> str:
    """Computes the digest in AWS's layout; deliberately an independent implementation."""
    layout = b""
    for name in sorted(attributes):
        data_type = attributes[name]["DataType"]
        is_binary = data_type.startswith("Binary")
        value = attributes[name]["BinaryValue"] if is_binary else attributes[name]["StringValue"].encode()
        for part in (name.encode(), data_type.encode()):
            layout += len(part).to_bytes(4, "big") + part
        layout += (b"\x02" if is_binary else b"\x01") + len(value).to_bytes(4, "big") + value
    return hashlib.md5(layout).hexdigest()


def test_attributes_come_back_as_sent_with_the_digest_clients_check(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    sent = sqs.send_message(QueueUrl=url, MessageBody="x", MessageAttributes=SAMPLE)
    message = receive_one(sqs, url)
    assert message["MessageAttributes"] == SAMPLE
    assert sent["MD5OfMessageAttributes"] == message["MD5OfMessageAttributes"] == digest(SAMPLE)


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (["All"], {"a.x", "a.y", "b"}),
        ([".*"], {"a.x", "a.y", "b"}),
        (["*"], {"a.x", "a.y", "b"}),
        (["a.*"], {"a.x", "a.y"}),
        (["a.x.*", "c.*"], {"a.x"}),
        (["a.x", "b"], {"a.x", "b"}),
        (["a"], set()),
        (["missing"], set()),
    ],
)
def test_filter_chooses_attributes_and_digest(sqs: Any, new_queue: NewQueue, asked: list[str], given: set[str]) -> None:
    url = new_queue()
    sent = {name: string(name) for name in ("a.x", "a.y", "b")}
    send(sqs, url, MessageAttributes=sent)
    message = receive_one(sqs, url, MessageAttributeNames=asked)
    expected = {name: sent[name] for name in given}
    assert message.get("MessageAttributes", {}) == expected
    assert message.get("MD5OfMessageAttributes") == (digest(expected) if expected else None)


def test_nothing_asked_for_means_no_attributes(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url, MessageAttributes=SAMPLE)
    message = receive(sqs, url)[0]
    assert "MessageAttributes" not in message
    assert "MD5OfMessageAttributes" not in message


def test_ten_attributes_fit_and_eleven_do_not(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    ten = {f"n{number}": string("x") for number in range(10)}
    send(sqs, url, MessageAttributes=ten)
    with refused("InvalidParameterValue"):
        send(sqs, url, MessageAttributes=ten | {"n10": string("x")})


@pytest.mark.parametrize("name", ["a", "A-b_c.9", "x" * 256, "AWSome", "amazonian"])
def test_good_name_is_taken(sqs: Any, new_queue: NewQueue, name: str) -> None:
    url = new_queue()
    send(sqs, url, MessageAttributes={name: string("x")})
    assert set(receive_one(sqs, url)["MessageAttributes"]) == {name}


@pytest.mark.parametrize("name", ["x" * 257, "AWS.x", "aws.x", "Amazon.x", ".a", "a.", "a..b", "a b", "a/b", "é"])
def test_bad_name_is_refused(sqs: Any, new_queue: NewQueue, name: str) -> None:
    url = new_queue()
    with refused("InvalidParameterValue"):
        send(sqs, url, MessageAttributes={name: string("x")})
    assert receive(sqs, url) == []


@pytest.mark.parametrize("data_type", ["String", "Number", "Binary"])
def test_empty_value_is_refused(sqs: Any, new_queue: NewQueue, data_type: str) -> None:
    value: dict[str, Any] = {"BinaryValue": b""} if data_type == "Binary" else {"StringValue": ""}
    text = f"Message (user) attribute 'note' must contain a non-empty value of type '{data_type}'."
    with refused("InvalidParameterValue", text):
        send(sqs, new_queue(), MessageAttributes={"note": {"DataType": data_type, **value}})


@pytest.mark.parametrize("data_type", ["", "string", "Text", "Stringy", "String" + "." + "x" * 250])
def test_bad_data_type_is_refused(sqs: Any, new_queue: NewQueue, data_type: str) -> None:
    with refused("InvalidParameterValue"):
        send(sqs, new_queue(), MessageAttributes={"a": {"DataType": data_type, "StringValue": "x"}})


@pytest.mark.parametrize("number", ["0", "-0", "1" * 38, "1e126", "-1.5E-10", ".5", "+3"])
def test_good_number_is_taken(sqs: Any, new_queue: NewQueue, number: str) -> None:
    url = new_queue()
    send(sqs, url, MessageAttributes={"n": {"DataType": "Number", "StringValue": number}})
    assert receive_one(sqs, url)["MessageAttributes"]["n"]["StringValue"] == number


@pytest.mark.parametrize("number", ["abc", "1" * 39, "1e127", "1e400", "NaN", "Infinity", "0x10", "1,5", "\u0665"])
def test_bad_number_is_refused(sqs: Any, new_queue: NewQueue, number: str) -> None:
    with refused("InvalidParameterValue"):
        send(sqs, new_queue(), MessageAttributes={"n": {"DataType": "Number", "StringValue": number}})


def test_bad_character_in_a_value_is_refused(sqs: Any, new_queue: NewQueue) -> None:
    with refused("InvalidParameterValue", "Message (user) attribute 'a': Invalid characters found."):
        send(sqs, new_queue(), MessageAttributes={"a": string("x\x01y")})
