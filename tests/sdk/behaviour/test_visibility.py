"""Visibility timeouts over the network; the detailed rules are tested elsewhere, on a manual clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import bodies, counts, delete, hide, receive, receive_one, refused, send

NewQueue = Callable[..., str]


def test_hidden_message_comes_back_when_its_timeout_runs_out(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(VisibilityTimeout=1)
    send(sqs, url)
    started_s = time.monotonic()
    first = receive_one(sqs, url)
    again = receive_one(sqs, url)
    assert time.monotonic() - started_s >= 0.95
    assert again["MessageId"] == first["MessageId"]
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"


def test_timeout_given_on_receive_beats_the_queues(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(VisibilityTimeout=0)
    send(sqs, url)
    receive_one(sqs, url, VisibilityTimeout=600)
    assert receive(sqs, url) == []


def test_timeout_given_on_receive_rules_a_long_poll_too(sqs: Any, new_queue: NewQueue, poll: Any) -> None:
    url = new_queue(VisibilityTimeout=600)
    waiting = poll(url)
    send(sqs, url)
    assert len(waiting.result()) == 1
    assert counts(sqs, url) == (0, 1, 0)


def test_zero_gives_the_message_back_at_once(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url)
    hide(sqs, url, receive_one(sqs, url), 0)
    assert receive_one(sqs, url)["Attributes"]["ApproximateReceiveCount"] == "2"


def test_zero_on_receive_hides_not_at_all(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url)
    receive_one(sqs, url, VisibilityTimeout=0)
    assert len(receive(sqs, url)) == 1


def test_extended_message_stays_hidden(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(VisibilityTimeout=1)
    send(sqs, url)
    message = receive_one(sqs, url)
    hide(sqs, url, message, 600)
    assert receive(sqs, url, wait=2) == []
    delete(sqs, url, message)


def test_twelve_hours_is_the_most(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url)
    message = receive_one(sqs, url, VisibilityTimeout=43_200)
    with refused("InvalidParameterValue"):
        hide(sqs, url, message, 43_201)
    assert counts(sqs, url) == (0, 1, 0)


@pytest.mark.parametrize("seconds", [-1, 43_201, 2**31 - 1])
def test_timeout_out_of_range_is_refused_on_receive_and_on_change(sqs: Any, new_queue: NewQueue, seconds: int) -> None:
    url = new_queue()
    send(sqs, url)
    with refused("InvalidParameterValue"):
        receive(sqs, url, VisibilityTimeout=seconds)
    message = receive_one(sqs, url)
    with refused("InvalidParameterValue"):
        hide(sqs, url, message, seconds)


def test_change_after_the_timeout_ran_out_still_works(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url)
    message = receive_one(sqs, url, VisibilityTimeout=0)
    hide(sqs, url, message, 600)
    assert receive(sqs, url) == []


def test_change_of_a_deleted_message_is_refused(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url)
    message = receive_one(sqs, url)
    delete(sqs, url, message)
    text = "Message does not exist or is not available for visibility timeout change."
    with refused("InvalidParameterValue", text):
        hide(sqs, url, message, 10)


def test_older_handle_does_not_touch_the_newer_lease(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url)
    older = receive_one(sqs, url, VisibilityTimeout=0)
    receive_one(sqs, url)
    with refused("InvalidParameterValue"):
        hide(sqs, url, older, 0)
    assert receive(sqs, url) == []


def test_garbage_handle_is_refused(sqs: Any, new_queue: NewQueue) -> None:
    with refused("ReceiptHandleIsInvalid", shape="ReceiptHandleIsInvalid"):
        sqs.change_message_visibility(QueueUrl=new_queue(), ReceiptHandle="garbage", VisibilityTimeout=1)


def test_short_timeout_among_long_ones_comes_back_first(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    for number in range(5):
        send(sqs, url, str(number))
    held = receive(sqs, url, VisibilityTimeout=600)
    hide(sqs, url, held[3], 1)
    assert bodies(receive(sqs, url, wait=20)) == [held[3]["Body"]]


def test_changed_timeout_is_not_remembered_for_the_next_receive(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(VisibilityTimeout=600)
    send(sqs, url)
    hide(sqs, url, receive_one(sqs, url), 1)
    receive_one(sqs, url)
    assert receive(sqs, url, wait=2) == []
