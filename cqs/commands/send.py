"""`cqs send`: sends messages from the command line or standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from cqs.commands.client import CallFailed
from cqs.commands.server_command import Session, pairs, server_command
from cqs.limits import BATCH_ENTRIES_MAX, BATCH_SIZE_MAX


@server_command
@click.argument("queue")
@click.argument("body", required=False)
@click.option("--lines", is_flag=True, help="Send each line of standard input as one message.")
@click.option("-a", "--attribute", multiple=True, metavar="NAME=VALUE", help="A message attribute of type String.")
@click.option("--delay", type=int, metavar="SECONDS")
@click.option("--group", metavar="ID", help="MessageGroupId.")
@click.option("--dedup-id", metavar="ID", help="MessageDeduplicationId; with --lines, the line's number is appended.")
def command(
    session: Session,
    queue: str,
    body: str | None,
    lines: bool,
    attribute: Sequence[str],
    delay: int | None,
    group: str | None,
    dedup_id: str | None,
) -> None:
    """Send BODY, or standard input if there is none. Prints message ids."""
    if body is not None and lines:
        raise click.UsageError("--lines reads standard input; leave BODY out")
    attributes = {
        name: {"DataType": "String", "StringValue": value} for name, value in pairs("--attribute", attribute).items()
    }
    common: dict[str, Any] = {"DelaySeconds": delay, "MessageGroupId": group, "MessageAttributes": attributes or None}
    url = session.client.queue_url(queue)
    if url.endswith(".fifo") and not group:
        raise click.UsageError(f"{queue} is a FIFO queue: each message needs a --group")
    try:
        if lines:
            _send_lines(session, url, common, dedup_id)
            return
        text = _text(sys.stdin.buffer.read()) if body is None else body
        answer = session.client.call(
            "SendMessage", QueueUrl=url, MessageBody=text, MessageDeduplicationId=dedup_id, **common
        )
    except CallFailed as error:
        if dedup_id or "ContentBasedDeduplication" not in str(error):
            raise
        raise error.hinted(f"--dedup-id, or `cqs set {queue} -a ContentBasedDeduplication=true`") from error
    session.answer(answer, answer["MessageId"])


def _send_lines(session: Session, url: str, common: Mapping[str, Any], dedup_id: str | None) -> None:
    """Sends in batches. If a message fails, the command exits with 1 after that message's batch."""
    for batch in _batches(_text(line).rstrip("\n") for line in sys.stdin.buffer):
        entries = [
            {name: value for name, value in common.items() if value is not None}
            | {"Id": str(number), "MessageBody": line}
            | ({"MessageDeduplicationId": f"{dedup_id}{number}"} if dedup_id else {})
            for number, line in batch
        ]
        answer = session.client.call("SendMessageBatch", QueueUrl=url, Entries=entries)
        for sent in answer.get("Successful", []):
            session.answer(sent, sent["MessageId"])
        for failed in answer.get("Failed", []):
            raise click.ClickException(f"line {failed['Id']}: {failed['Message']}")


def _text(data: bytes) -> str:
    """The decoded text, unchanged: bodies keep their line endings."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise click.ClickException(f"standard input is not UTF-8: {error}") from error


def _batches(lines: Iterator[str]) -> Iterator[list[tuple[int, str]]]:
    """Numbered lines, in batches that fit one call; empty lines are skipped, since no message may be empty."""
    batch: list[tuple[int, str]] = []
    size = 0
    for number, line in enumerate(lines, 1):
        length = len(line.encode())
        if batch and (len(batch) == BATCH_ENTRIES_MAX or size + length > BATCH_SIZE_MAX // 2):
            yield batch
            batch, size = [], 0
        if line:
            batch.append((number, line))
            size += length
    if batch:
        yield batch
