"""FIFO deduplication: ids, content, both scopes, and what the window survives."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import bodies, delete, receive, receive_one, refused

NewQueue = Callable[..., str]


def put(sqs: Any, url: str, body: str = "x", group: str = "g", dedup_id: str | None = None) -> tuple[str, str]:
    """Sends a message. Returns its id and sequence number."""
    options = {} if dedup_id is None else {"MessageDeduplicationId": dedup_id}
    answer = sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=group, **options)
    return answer["MessageId"], answer["SequenceNumber"]


def test_repeat_answers_the_first_message_and_is_not_stored(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo()
    first = put(sqs, url, "one", dedup_id="1")
    assert put(sqs, url, "two", dedup_id="1") == first
    assert bodies(receive(sqs, url)) == ["one"]


def test_other_id_is_another_message(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo()
    put(sqs, url, "one", dedup_id="1")
    put(sqs, url, "one", dedup_id="2")
    assert bodies(receive(sqs, url)) == ["one", "one"]


def test_window_outlives_receive_and_delete(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo()
    first = put(sqs, url, dedup_id="1")
    message = receive_one(sqs, url)
    assert put(sqs, url, dedup_id="1") == first
    delete(sqs, url, message)
    assert put(sqs, url, dedup_id="1") == first
    assert receive(sqs, url) == []


def test_no_id_and_no_content_deduplication_is_refused(sqs: Any, new_fifo: NewQueue) -> None:
    text = (
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
    )
    with refused("InvalidParameterValue", text):
        put(sqs, new_fifo())


def test_one_entry_without_an_id_fails_the_whole_batch(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo()
    batch = [
        {"Id": "good", "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "1"},
        {"Id": "bad", "MessageBody": "x", "MessageGroupId": "g"},
    ]
    with refused("InvalidParameterValue", "either have ContentBasedDeduplication enabled or MessageDeduplicationId"):
        sqs.send_message_batch(QueueUrl=url, Entries=batch)
    assert receive(sqs, url) == []


def test_content_deduplication_compares_bodies_only(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo(ContentBasedDeduplication="true")
    first = put(sqs, url, "same")
    attribute = {"a": {"DataType": "String", "StringValue": "x"}}
    again = sqs.send_message(QueueUrl=url, MessageBody="same", MessageGroupId="g", MessageAttributes=attribute)
    assert (again["MessageId"], again["SequenceNumber"]) == first
    put(sqs, url, "other")
    assert bodies(receive(sqs, url)) == ["same", "other"]


def test_content_hash_is_told_as_the_deduplication_id(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo(ContentBasedDeduplication="true")
    put(sqs, url, "same")
    told = receive_one(sqs, url)["Attributes"]["MessageDeduplicationId"]
    assert told == hashlib.sha256(b"same").hexdigest()


def test_explicit_id_overrides_the_content(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo(ContentBasedDeduplication="true")
    put(sqs, url, "same", dedup_id="1")
    put(sqs, url, "same", dedup_id="2")
    put(sqs, url, "same")
    assert bodies(receive(sqs, url)) == ["same"] * 3


def test_explicit_id_equal_to_the_hash_is_a_repeat_of_the_content(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo(ContentBasedDeduplication="true")
    first = put(sqs, url, "same")
    assert put(sqs, url, "other", dedup_id=hashlib.sha256(b"same").hexdigest()) == first


def test_queue_scope_spans_groups(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo()
    first = put(sqs, url, group="a", dedup_id="1")
    assert put(sqs, url, group="b", dedup_id="1") == first
    assert len(receive(sqs, url)) == 1


def test_group_scope_keeps_groups_apart(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo(DeduplicationScope="messageGroup")
    first = put(sqs, url, group="a", dedup_id="1")
    second = put(sqs, url, group="b", dedup_id="1")
    assert first != second
    assert put(sqs, url, group="a", dedup_id="1") == first
    assert len(receive(sqs, url)) == 2


def test_repeats_within_one_batch_are_one_message(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo()
    batch = [
        {"Id": entry_id, "MessageBody": entry_id, "MessageGroupId": "g", "MessageDeduplicationId": "same"}
        for entry_id in ("a", "b")
    ]
    answer = sqs.send_message_batch(QueueUrl=url, Entries=batch)
    assert len({result["MessageId"] for result in answer["Successful"]}) == 1
    assert len(answer["Successful"]) == 2
    assert bodies(receive(sqs, url)) == ["a"]


def test_purge_empties_the_deduplication_memory(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo()
    first = put(sqs, url, dedup_id="1")
    sqs.purge_queue(QueueUrl=url)
    assert put(sqs, url, dedup_id="1") != first
    assert len(receive(sqs, url)) == 1


@pytest.mark.parametrize("dedup_id", ["a b", "x" * 129, "é"])
def test_bad_deduplication_id_is_refused(sqs: Any, new_fifo: NewQueue, dedup_id: str) -> None:
    with refused("InvalidParameterValue", "MessageDeduplicationId"):
        put(sqs, new_fifo(), dedup_id=dedup_id)


def test_deduplication_id_on_a_standard_queue_is_refused(sqs: Any, new_queue: NewQueue) -> None:
    with refused("InvalidParameterValue", "MessageDeduplicationId"):
        sqs.send_message(QueueUrl=new_queue(), MessageBody="x", MessageDeduplicationId="1")
