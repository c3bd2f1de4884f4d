"""`cqs redrive`: moves the messages of a dead-letter queue back to their source queues, or elsewhere."""

from __future__ import annotations

import time
from typing import Any

import click

from cqs.commands.client import CallFailed
from cqs.commands.server_command import Session, server_command
from cqs.limits import MOVE_RATE_MAX

POLL_S = 1.0


@server_command
@click.argument("queue")
@click.option("--to", "target", metavar="QUEUE", help="Destination. [default: the queue each message came from]")
@click.option(
    "--rate", type=click.IntRange(1, MOVE_RATE_MAX), metavar="N", help="Maximum number of messages per second."
)
@click.option(
    "--wait", "is_waiting", is_flag=True, help="Wait until it is done; exits with 1 if it failed or was cancelled."
)
@click.option("--list", "is_listing", is_flag=True, help="Show the tasks of this queue, newest first.")
@click.option("--cancel", "is_cancelling", is_flag=True, help="Cancel the running task of this queue.")
def command(
    session: Session,
    queue: str,
    target: str | None,
    rate: int | None,
    is_waiting: bool,
    is_listing: bool,
    is_cancelling: bool,
) -> None:
    """Move the messages of a dead-letter queue back to where they came from; list and cancel such tasks."""
    source = _arn(session, queue)
    if is_listing:
        _show(session, _tasks(session, source))
    elif is_cancelling:
        _cancel(session, source)
    else:
        started = _started(session, source, None if target is None else _arn(session, target), rate)
        if is_waiting:
            _wait(session, source)
        else:
            session.answer(started, started["TaskHandle"])


def _started(session: Session, source: str, destination: str | None, rate: int | None) -> dict[str, Any]:
    try:
        return session.client.call(
            "StartMessageMoveTask", SourceArn=source, DestinationArn=destination, MaxNumberOfMessagesPerSecond=rate
        )
    except CallFailed as error:
        if "configured as a Dead Letter Queue" not in str(error):
            raise
        raise error.hinted("no queue names it in its RedrivePolicy (`cqs set QUEUE` shows that)") from error


def _arn(session: Session, queue: str) -> str:
    url = session.client.queue_url(queue)
    answer = session.client.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["QueueArn"])
    return str(answer["Attributes"]["QueueArn"])


def _tasks(session: Session, source: str) -> list[dict[str, Any]]:
    return list(session.client.call("ListMessageMoveTasks", SourceArn=source, MaxResults=10)["Results"])


def _cancel(session: Session, source: str) -> None:
    tasks = _tasks(session, source)
    handles = [task["TaskHandle"] for task in tasks if task.get("TaskHandle")]
    if not handles and any(task["Status"] == "CANCELLING" for task in tasks):
        raise CallFailed("the move task of this queue is being cancelled already; --list shows when it has ended")
    if not handles:
        raise CallFailed("no move task of this queue is running", "ResourceNotFoundException")
    answer = session.client.call("CancelMessageMoveTask", TaskHandle=handles[0])
    session.answer(answer, answer["ApproximateNumberOfMessagesMoved"])


def _wait(session: Session, source: str) -> None:
    while (task := _tasks(session, source)[0])["Status"] in ("RUNNING", "CANCELLING"):
        time.sleep(POLL_S)
    _show(session, [task])
    if task["Status"] != "COMPLETED":
        raise CallFailed(f"the move is {task['Status']}: {task.get('FailureReason', 'see --list')}")


def _show(session: Session, tasks: list[dict[str, Any]]) -> None:
    rows = [
        [
            task["Status"],
            task["ApproximateNumberOfMessagesMoved"],
            task.get("ApproximateNumberOfMessagesToMove", ""),
            task.get("DestinationArn", "their source queues"),
            task.get("FailureReason", ""),
        ]
        for task in tasks
    ]
    session.show(tasks, ["status", "moved", "of", "to", "failure"], rows)
