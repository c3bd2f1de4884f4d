"""Purging: which messages it deletes, and how often it is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.sdk.behaviour.talk import bodies, counts, receive, receive_one, refused, send

NewQueue = Callable[..., str]


def test_purge_takes_visible_delayed_and_in_flight_messages(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(VisibilityTimeout=1)
    send(sqs, url)
    receive_one(sqs, url)
    send(sqs, url)
    send(sqs, url, DelaySeconds=1)
    sqs.purge_queue(QueueUrl=url)
    assert counts(sqs, url) == (0, 0, 0)
    assert receive(sqs, url, wait=2) == []


def test_message_sent_after_a_purge_stays(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url, "old")
    sqs.purge_queue(QueueUrl=url)
    send(sqs, url, "new")
    assert bodies(receive(sqs, url)) == ["new"]


def test_second_purge_within_a_minute_is_refused(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    sqs.purge_queue(QueueUrl=url)
    name = url.rsplit("/", 1)[1]
    text = f"Only one PurgeQueue operation on {name} is allowed every 60 seconds."
    with refused("AWS.SimpleQueueService.PurgeQueueInProgress", text, "PurgeQueueInProgress", 403):
        sqs.purge_queue(QueueUrl=url)


def test_handle_from_before_a_purge_deletes_nothing_and_no_one_minds(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    send(sqs, url, "old")
    old = receive_one(sqs, url)
    sqs.purge_queue(QueueUrl=url)
    send(sqs, url, "new")
    sqs.delete_message(QueueUrl=url, ReceiptHandle=old["ReceiptHandle"])
    assert bodies(receive(sqs, url)) == ["new"]


def test_missing_queue_can_not_be_purged(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    sqs.delete_queue(QueueUrl=url)
    with refused("AWS.SimpleQueueService.NonExistentQueue"):
        sqs.purge_queue(QueueUrl=url)
