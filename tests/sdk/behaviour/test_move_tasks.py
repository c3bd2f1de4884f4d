"""Message move tasks: redriving dead letters."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import arn, bodies, counts, receive, receive_all, receive_one, refused, send

NewQueue = Callable[..., str]
DONE_S_MAX = 60.0


@pytest.fixture
def dead_letters(sqs: Any, new_queue: NewQueue) -> tuple[str, str]:
    """A queue, and its dead-letter queue with "a", "b" and "c" from it."""
    dead = new_queue("dead")
    policy = json.dumps({"deadLetterTargetArn": arn(sqs, dead), "maxReceiveCount": 1})
    url = new_queue(RedrivePolicy=policy, VisibilityTimeout=0)
    for body in "abc":
        send(sqs, url, body)
    receive_all(sqs, url, 3)
    assert receive(sqs, url) == []
    give_up = time.monotonic() + DONE_S_MAX
    while counts(sqs, dead)[0] < 3 and time.monotonic() < give_up:
        time.sleep(0.05)
    assert counts(sqs, dead) == (3, 0, 0)
    return url, dead


def tasks(sqs: Any, dead: str, count: int = 1) -> list[dict[str, Any]]:
    answer = sqs.list_message_move_tasks(SourceArn=arn(sqs, dead), MaxResults=count)
    return list(answer.get("Results", []))


def finished(sqs: Any, dead: str) -> dict[str, Any]:
    """Waits until the newest task has ended and returns it."""
    give_up = time.monotonic() + DONE_S_MAX
    while time.monotonic() < give_up:
        task = tasks(sqs, dead)[0]
        if task["Status"] not in ("RUNNING", "CANCELLING"):
            return task
        time.sleep(0.05)
    raise AssertionError("the task did not end")


def test_dead_letters_go_back_to_where_they_came_from(sqs: Any, dead_letters: tuple[str, str]) -> None:
    url, dead = dead_letters
    sqs.start_message_move_task(SourceArn=arn(sqs, dead))
    came = receive_all(sqs, url, 3, DONE_S_MAX)
    assert sorted(bodies(came)) == ["a", "b", "c"]
    task = finished(sqs, dead)
    assert task["Status"] == "COMPLETED"
    assert task["ApproximateNumberOfMessagesMoved"] == 3
    assert task["ApproximateNumberOfMessagesToMove"] == 3
    assert task["SourceArn"] == arn(sqs, dead)
    assert "DestinationArn" not in task
    assert "TaskHandle" not in task
    assert counts(sqs, dead) == (0, 0, 0)


def test_moved_messages_are_new_and_uncounted(sqs: Any, new_queue: NewQueue, dead_letters: tuple[str, str]) -> None:
    _, dead = dead_letters
    looked_at = receive_one(sqs, dead, VisibilityTimeout=0)
    target = new_queue("target")
    sqs.start_message_move_task(SourceArn=arn(sqs, dead), DestinationArn=arn(sqs, target))
    came = receive_all(sqs, target, 3, DONE_S_MAX, AttributeNames=["All"])
    assert {message["Attributes"]["ApproximateReceiveCount"] for message in came} == {"1"}
    assert looked_at["MessageId"] not in {message["MessageId"] for message in came}
    assert finished(sqs, dead)["DestinationArn"] == arn(sqs, target)


def test_source_must_be_a_dead_letter_queue(sqs: Any, new_queue: NewQueue) -> None:
    with refused("InvalidParameterValue", "Source queue must be configured as a Dead Letter Queue."):
        sqs.start_message_move_task(SourceArn=arn(sqs, new_queue()))


def test_missing_source_is_not_found(sqs: Any) -> None:
    missing = "arn:aws:sqs:us-east-1:000000000000:nowhere"
    with refused("ResourceNotFoundException", shape="ResourceNotFoundException", status=404):
        sqs.start_message_move_task(SourceArn=missing)
    with refused("ResourceNotFoundException", status=404):
        sqs.list_message_move_tasks(SourceArn=missing)


def test_missing_destination_is_not_found(sqs: Any, dead_letters: tuple[str, str]) -> None:
    _, dead = dead_letters
    with refused("ResourceNotFoundException", shape="ResourceNotFoundException", status=404):
        sqs.start_message_move_task(
            SourceArn=arn(sqs, dead), DestinationArn="arn:aws:sqs:us-east-1:000000000000:nowhere"
        )


@pytest.mark.parametrize("rate", [0, 501, -1])
def test_rate_out_of_range_is_refused(sqs: Any, dead_letters: tuple[str, str], rate: int) -> None:
    _, dead = dead_letters
    with refused("InvalidParameterValue"):
        sqs.start_message_move_task(SourceArn=arn(sqs, dead), MaxNumberOfMessagesPerSecond=rate)


def test_slow_task_can_be_seen_not_doubled_and_cancelled(
    sqs: Any, new_queue: NewQueue, dead_letters: tuple[str, str]
) -> None:
    _, dead = dead_letters
    for number in range(20):
        send(sqs, dead, str(number))
    target = arn(sqs, new_queue("target"))
    handle = sqs.start_message_move_task(
        SourceArn=arn(sqs, dead), DestinationArn=target, MaxNumberOfMessagesPerSecond=1
    )["TaskHandle"]
    running = tasks(sqs, dead)[0]
    assert running["Status"] == "RUNNING"
    assert running["TaskHandle"] == handle
    assert running["MaxNumberOfMessagesPerSecond"] == 1
    assert running["StartedTimestamp"] > 1_000_000_000_000
    with refused("InvalidParameterValue", "There is already a task running"):
        sqs.start_message_move_task(SourceArn=arn(sqs, dead), DestinationArn=target)
    moved = sqs.cancel_message_move_task(TaskHandle=handle)["ApproximateNumberOfMessagesMoved"]
    assert moved < 20
    assert finished(sqs, dead)["Status"] == "CANCELLED"
    assert counts(sqs, dead)[0] > 0
    with refused("ResourceNotFoundException", status=404):
        sqs.cancel_message_move_task(TaskHandle=handle)


def test_tasks_are_listed_newest_first(sqs: Any, new_queue: NewQueue, dead_letters: tuple[str, str]) -> None:
    _, dead = dead_letters
    first, second = arn(sqs, new_queue("first")), arn(sqs, new_queue("second"))
    for target in (first, second):
        sqs.start_message_move_task(SourceArn=arn(sqs, dead), DestinationArn=target)
        finished(sqs, dead)
    assert [task["DestinationArn"] for task in tasks(sqs, dead, 10)] == [second, first]
    assert [task["DestinationArn"] for task in sqs.list_message_move_tasks(SourceArn=arn(sqs, dead))["Results"]] == [
        second
    ]


@pytest.mark.parametrize("count", [0, 11])
def test_number_of_tasks_out_of_range_is_refused(sqs: Any, dead_letters: tuple[str, str], count: int) -> None:
    with refused("InvalidParameterValue"):
        tasks(sqs, dead_letters[1], count)


def test_garbage_task_handle_is_refused(sqs: Any) -> None:
    with refused("InvalidParameterValue", "Value for parameter TaskHandle is invalid."):
        sqs.cancel_message_move_task(TaskHandle="garbage")
