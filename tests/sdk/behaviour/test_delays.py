"""Delays of queues and of messages on standard queues."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import bodies, counts, receive, receive_one, refused, send, set_attributes

NewQueue = Callable[..., str]


def test_delayed_message_comes_when_due(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    started_s = time.monotonic()
    send(sqs, url, DelaySeconds=1)
    receive_one(sqs, url)
    assert time.monotonic() - started_s >= 0.95


def test_queue_delay_holds_for_messages_without_their_own(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(DelaySeconds=900)
    send(sqs, url)
    assert counts(sqs, url) == (0, 0, 1)


def test_message_delay_beats_the_queues(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(DelaySeconds=900)
    send(sqs, url, "now", DelaySeconds=0)
    assert bodies(receive(sqs, url)) == ["now"]


def test_short_delay_among_long_ones_comes_first(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    for number in range(5):
        send(sqs, url, str(number), DelaySeconds=1 if number == 3 else 900)
    assert bodies(receive(sqs, url, wait=20)) == ["3"]


def test_changed_queue_delay_leaves_sent_messages_alone(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(DelaySeconds=900)
    send(sqs, url)
    set_attributes(sqs, url, DelaySeconds=0)
    assert receive(sqs, url) == []
    assert counts(sqs, url) == (0, 0, 1)


def test_entries_of_a_batch_have_their_own_delays(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    batch = [
        {"Id": "now", "MessageBody": "now"},
        {"Id": "later", "MessageBody": "later", "DelaySeconds": 900},
    ]
    sqs.send_message_batch(QueueUrl=url, Entries=batch)
    assert bodies(receive(sqs, url)) == ["now"]
    assert counts(sqs, url) == (0, 1, 1)


@pytest.mark.parametrize("seconds", [-1, 901, 2**31 - 1])
def test_delay_out_of_range_is_refused(sqs: Any, new_queue: NewQueue, seconds: int) -> None:
    url = new_queue()
    with refused("InvalidParameterValue", f"Value {seconds} for parameter DelaySeconds is invalid."):
        send(sqs, url, DelaySeconds=seconds)
    assert counts(sqs, url) == (0, 0, 0)
