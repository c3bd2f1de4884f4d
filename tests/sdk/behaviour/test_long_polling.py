"""Long polls, and everything that ends one. A slow machine only lengthens the times: lower bounds are strict, and the
upper bound is just below the time after which a poll ends by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.sdk.behaviour.talk import (
    bodies,
    delete,
    hide,
    receive,
    receive_one,
    refused,
    send,
    send_to_group,
    set_attributes,
)

NewQueue = Callable[..., str]
UntilPollsWait = Callable[..., None]
SOON_S = 17.0
"""Below the 20 s that the polls would otherwise wait."""


def test_message_that_is_there_ends_the_poll_at_once(sqs: Any, new_queue: NewQueue, poll: Any) -> None:
    url = new_queue()
    send(sqs, url, "there")
    waiting = poll(url)
    assert bodies(waiting.result()) == ["there"]
    assert waiting.took_s < SOON_S


def test_empty_poll_lasts_as_long_as_asked(sqs: Any, new_queue: NewQueue, poll: Any) -> None:
    waiting = poll(new_queue(), wait=1)
    assert waiting.result() == []
    assert 0.95 < waiting.took_s < SOON_S


def test_queues_own_wait_holds_when_none_is_asked_for(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(ReceiveMessageWaitTimeSeconds=1)
    started = time.monotonic()
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    assert 0.95 < time.monotonic() - started < SOON_S


def test_zero_asked_for_beats_the_queues_own_wait(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(ReceiveMessageWaitTimeSeconds=20)
    started = time.monotonic()
    assert receive(sqs, url, wait=0) == []
    assert time.monotonic() - started < SOON_S


@pytest.mark.parametrize("seconds", [-1, 21])
def test_wait_out_of_range_is_refused(sqs: Any, new_queue: NewQueue, seconds: int) -> None:
    text = f"Value {seconds} for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided."
    with refused("InvalidParameterValue", text):
        receive(sqs, new_queue(), wait=seconds)


def test_send_wakes_the_poll(sqs: Any, new_queue: NewQueue, poll: Any, until_polls_wait: UntilPollsWait) -> None:
    url = new_queue()
    waiting = poll(url)
    until_polls_wait()
    send(sqs, url, "new")
    assert bodies(waiting.result()) == ["new"]
    assert waiting.took_s < SOON_S


def test_due_delay_wakes_the_poll(sqs: Any, new_queue: NewQueue, poll: Any) -> None:
    url = new_queue()
    send(sqs, url, "delayed", DelaySeconds=1)
    waiting = poll(url)
    assert bodies(waiting.result()) == ["delayed"]
    assert waiting.took_s < SOON_S


def test_expired_visibility_wakes_the_poll(sqs: Any, new_queue: NewQueue, poll: Any) -> None:
    url = new_queue(VisibilityTimeout=1)
    send(sqs, url, "again")
    receive_one(sqs, url)
    waiting = poll(url)
    assert bodies(waiting.result()) == ["again"]
    assert waiting.took_s < SOON_S


def test_changed_visibility_wakes_the_poll(
    sqs: Any, new_queue: NewQueue, poll: Any, until_polls_wait: UntilPollsWait
) -> None:
    url = new_queue()
    send(sqs, url, "back")
    message = receive_one(sqs, url)
    waiting = poll(url)
    until_polls_wait()
    hide(sqs, url, message, 0)
    assert bodies(waiting.result()) == ["back"]
    assert waiting.took_s < SOON_S


def test_shortened_visibility_wakes_the_poll_at_its_new_time(
    sqs: Any, new_queue: NewQueue, poll: Any, until_polls_wait: UntilPollsWait
) -> None:
    url = new_queue(VisibilityTimeout=600)
    send(sqs, url, "sooner")
    message = receive_one(sqs, url)
    waiting = poll(url)
    until_polls_wait()
    hide(sqs, url, message, 1)
    assert bodies(waiting.result()) == ["sooner"]
    assert 0.9 < waiting.took_s < SOON_S


def test_freed_fifo_group_wakes_the_poll(
    sqs: Any, new_fifo: NewQueue, poll: Any, until_polls_wait: UntilPollsWait
) -> None:
    url = new_fifo()
    send_to_group(sqs, url, "g", "first", "second")
    first = receive(sqs, url, 1)[0]
    waiting = poll(url)
    until_polls_wait()
    delete(sqs, url, first)
    assert bodies(waiting.result()) == ["second"]
    assert waiting.took_s < SOON_S


def test_retroactive_fifo_delay_wakes_the_poll(
    sqs: Any, new_fifo: NewQueue, poll: Any, until_polls_wait: UntilPollsWait
) -> None:
    url = new_fifo(DelaySeconds=900)
    send_to_group(sqs, url, "g", "delayed")
    waiting = poll(url)
    until_polls_wait()
    set_attributes(sqs, url, DelaySeconds=0)
    assert bodies(waiting.result()) == ["delayed"]
    assert waiting.took_s < SOON_S


def test_deleted_queue_ends_the_poll(
    sqs: Any, new_queue: NewQueue, poll: Any, until_polls_wait: UntilPollsWait
) -> None:
    url = new_queue()
    waiting = poll(url)
    until_polls_wait()
    sqs.delete_queue(QueueUrl=url)
    try:
        assert waiting.result() == []
    except ClientError as error:
        assert error.response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"
    assert waiting.took_s < SOON_S


def test_batch_wakes_as_many_polls_as_it_has_messages(
    sqs: Any, new_queue: NewQueue, poll: Any, until_polls_wait: UntilPollsWait
) -> None:
    url = new_queue()
    polls = [poll(url) for _ in range(10)]
    until_polls_wait(10)
    batch = [{"Id": str(number), "MessageBody": str(number)} for number in range(10)]
    sqs.send_message_batch(QueueUrl=url, Entries=batch)
    assert sorted(bodies([message for waiting in polls for message in waiting.result()])) == list("0123456789")
    assert max(waiting.took_s for waiting in polls) < SOON_S


def test_twenty_five_polls_get_twenty_five_messages(
    sqs: Any, new_queue: NewQueue, poll: Any, until_polls_wait: UntilPollsWait
) -> None:
    url = new_queue()
    polls = [poll(url) for _ in range(25)]
    until_polls_wait(25)
    for number in range(25):
        send(sqs, url, str(number))
    came = [message["Body"] for waiting in polls for message in waiting.result()]
    assert sorted(came, key=int) == [str(number) for number in range(25)]


def test_poll_of_one_queue_sleeps_through_another_queues_messages(sqs: Any, new_queue: NewQueue, poll: Any) -> None:
    url, other = new_queue(), new_queue()
    waiting = poll(url, wait=1)
    send(sqs, other)
    assert waiting.result() == []
