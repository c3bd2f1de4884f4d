"""FIFO queues: order within groups, and what locks a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import (
    bodies,
    counts,
    delete,
    hide,
    receive,
    receive_one,
    refused,
    send_to_group,
    set_attributes,
)

NewQueue = Callable[..., str]


@pytest.fixture
def url(new_fifo: NewQueue) -> str:
    return new_fifo()


def test_group_is_received_in_order(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "g", "1", "2", "3")
    assert bodies(receive(sqs, url)) == ["1", "2", "3"]


def test_message_in_flight_locks_its_group_and_no_other(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "a", "a1", "a2")
    send_to_group(sqs, url, "b", "b1")
    assert bodies(receive(sqs, url, 1)) == ["a1"]
    assert bodies(receive(sqs, url)) == ["b1"]
    assert receive(sqs, url) == []


def test_deleted_message_frees_its_group(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "g", "1", "2")
    delete(sqs, url, receive(sqs, url, 1)[0])
    assert bodies(receive(sqs, url)) == ["2"]


def test_deleting_part_of_a_batch_keeps_the_group_locked(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "g", "1", "2", "3", "4")
    held = receive(sqs, url, 3)
    delete(sqs, url, held[0])
    delete(sqs, url, held[1])
    assert receive(sqs, url) == []
    delete(sqs, url, held[2])
    assert bodies(receive(sqs, url)) == ["4"]


def test_sending_to_a_locked_group_does_not_unlock_it(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "g", "1")
    receive(sqs, url)
    send_to_group(sqs, url, "g", "2")
    assert receive(sqs, url) == []


def test_visibility_zero_gives_the_message_back_in_its_old_place(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "g", "1", "2", "3")
    hide(sqs, url, receive(sqs, url, 1)[0], 0)
    assert bodies(receive(sqs, url)) == ["1", "2", "3"]


@pytest.mark.parametrize(("extended", "given"), [(0, []), (1, ["1"]), (2, ["1", "2"])])
def test_only_what_lies_before_the_first_in_flight_message_is_given(
    sqs: Any, url: str, extended: int, given: list[str]
) -> None:
    send_to_group(sqs, url, "g", "1", "2", "3")
    for place, message in enumerate(receive(sqs, url)):
        if place != extended:
            hide(sqs, url, message, 0)
    assert bodies(receive(sqs, url)) == given


def test_receive_fills_up_from_other_groups(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "a", "a1", "a2")
    send_to_group(sqs, url, "b", "b1", "b2")
    assert bodies(receive(sqs, url)) == ["a1", "a2", "b1", "b2"]


def test_sequence_numbers_have_twenty_digits_and_grow(sqs: Any, url: str) -> None:
    sent = [
        sqs.send_message(QueueUrl=url, MessageBody="x", MessageGroupId=group, MessageDeduplicationId=str(number))
        for number, group in enumerate("abcabc")
    ]
    numbers = [answer["SequenceNumber"] for answer in sent]
    assert all(len(number) == 20 and number.isdigit() for number in numbers)
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == 6
    came = {message["Attributes"]["SequenceNumber"] for message in receive(sqs, url, AttributeNames=["All"])}
    assert came == set(numbers)


def test_batch_keeps_its_order(sqs: Any, url: str) -> None:
    batch = [
        {"Id": f"e{number}", "MessageBody": str(number), "MessageGroupId": "g", "MessageDeduplicationId": str(number)}
        for number in range(10)
    ]
    answer = sqs.send_message_batch(QueueUrl=url, Entries=batch)
    numbers = {result["Id"]: result["SequenceNumber"] for result in answer["Successful"]}
    assert [numbers[f"e{number}"] for number in range(10)] == sorted(numbers.values())
    assert bodies(receive(sqs, url)) == list("0123456789")


def test_system_attributes_tell_group_and_deduplication_id(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "g", "1")
    told = receive_one(sqs, url)["Attributes"]
    assert told["MessageGroupId"] == "g"
    assert told["MessageDeduplicationId"] == "1"


def test_group_is_required(sqs: Any, url: str) -> None:
    with refused("MissingParameter", "The request must contain the parameter MessageGroupId."):
        sqs.send_message(QueueUrl=url, MessageBody="x", MessageDeduplicationId="1")


def test_one_entry_without_a_group_fails_the_whole_batch(sqs: Any, url: str) -> None:
    batch = [
        {"Id": "good", "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "1"},
        {"Id": "bad", "MessageBody": "x", "MessageDeduplicationId": "2"},
    ]
    with refused("InvalidParameterValue"):
        sqs.send_message_batch(QueueUrl=url, Entries=batch)
    assert receive(sqs, url) == []


@pytest.mark.parametrize("group", ["", "a b", "x" * 129, "é", "\t"])
def test_bad_group_is_refused(sqs: Any, url: str, group: str) -> None:
    text = (
        f"Value {group} for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include "
        "alphanumeric and punctuation characters. 1 to 128 in length."
    )
    with refused("InvalidParameterValue", text):
        sqs.send_message(QueueUrl=url, MessageBody="x", MessageGroupId=group, MessageDeduplicationId="1")


def test_group_may_be_any_punctuation_of_128_characters(sqs: Any, url: str) -> None:
    group = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".ljust(128, "x")
    send_to_group(sqs, url, group, "1")
    assert receive_one(sqs, url)["Attributes"]["MessageGroupId"] == group


def test_delay_of_a_single_message_is_refused(sqs: Any, url: str) -> None:
    with refused("InvalidParameterValue", "DelaySeconds"):
        sqs.send_message(QueueUrl=url, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="1", DelaySeconds=1)


def test_delay_of_zero_means_the_queues_delay(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo(DelaySeconds=900)
    sqs.send_message(QueueUrl=url, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="1", DelaySeconds=0)
    assert counts(sqs, url) == (0, 0, 1)


def test_changed_queue_delay_rules_messages_already_sent(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo(DelaySeconds=900)
    send_to_group(sqs, url, "g", "1")
    assert receive(sqs, url) == []
    set_attributes(sqs, url, DelaySeconds=0)
    assert bodies(receive(sqs, url, wait=20)) == ["1"]


def test_expired_handle_can_not_delete(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "g", "1")
    expired = receive_one(sqs, url, VisibilityTimeout=0)
    reason = "for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
    with refused("InvalidParameterValue", f"Value {expired['ReceiptHandle']} {reason}"):
        delete(sqs, url, expired)
    assert bodies(receive(sqs, url)) == ["1"]


def test_expired_entry_fails_alone_in_a_batch_of_deletes(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "a", "a1")
    send_to_group(sqs, url, "b", "b1")
    expired, held = receive(sqs, url)
    hide(sqs, url, expired, 0)
    batch = [
        {"Id": "expired", "ReceiptHandle": expired["ReceiptHandle"]},
        {"Id": "held", "ReceiptHandle": held["ReceiptHandle"]},
    ]
    answer = sqs.delete_message_batch(QueueUrl=url, Entries=batch)
    assert [result["Id"] for result in answer["Successful"]] == ["held"]
    (failure,) = answer["Failed"]
    assert (failure["Id"], failure["SenderFault"]) == ("expired", True)
    assert (failure["Code"], failure["Message"]) == ("ReceiptHandleIsInvalid", "The receipt handle has expired")


def test_handle_extended_in_time_deletes(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "g", "1")
    held = receive_one(sqs, url, VisibilityTimeout=5)
    hide(sqs, url, held, 600)
    assert receive(sqs, url, wait=5) == []
    delete(sqs, url, held)
    assert counts(sqs, url) == (0, 0, 0)


def test_repeated_receive_attempt_gives_the_same_messages_and_handles(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "g", "1", "2")
    first = receive(sqs, url, 1, ReceiveRequestAttemptId="attempt", AttributeNames=["All"])
    again = receive(sqs, url, 1, ReceiveRequestAttemptId="attempt", AttributeNames=["All"])
    assert again == first
    assert receive(sqs, url, 1, ReceiveRequestAttemptId="another") == []


def test_attempt_is_void_once_a_message_of_it_was_deleted(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "g", "1", "2")
    first = receive(sqs, url, 1, ReceiveRequestAttemptId="attempt")
    delete(sqs, url, first[0])
    assert bodies(receive(sqs, url, 1, ReceiveRequestAttemptId="attempt")) == ["2"]


def test_attempt_is_void_once_a_message_of_it_was_changed(sqs: Any, url: str) -> None:
    send_to_group(sqs, url, "g", "1")
    first = receive(sqs, url, 1, ReceiveRequestAttemptId="attempt")
    hide(sqs, url, first[0], 600)
    assert receive(sqs, url, 1, ReceiveRequestAttemptId="attempt") == []


@pytest.mark.parametrize("attempt", ["x" * 129, "a b"])
def test_bad_attempt_id_is_refused(sqs: Any, url: str, attempt: str) -> None:
    with refused("InvalidParameterValue", "ReceiveRequestAttemptId"):
        receive(sqs, url, ReceiveRequestAttemptId=attempt)
