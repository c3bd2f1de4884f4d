"""`cqs delete`: deletes received messages, or a whole queue."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cqs.commands.server_command import Session, confirmed, server_command


@server_command
@click.argument("queue")
@click.argument("handles", nargs=-1)
@click.option("--yes", "is_sure", is_flag=True, help="Confirm the deletion of a queue.")
def command(session: Session, queue: str, handles: Sequence[str], is_sure: bool) -> None:
    """Delete the messages with these receipt HANDLES (shown by `cqs receive -o json`); without any, the queue."""
    client = session.client
    if not handles:
        confirmed(is_sure, f"deleting the queue {queue} and all it holds")
        client.call("DeleteQueue", QueueUrl=client.queue_url(queue))
        return
    url = client.queue_url(queue)
    for handle in handles:
        client.call("DeleteMessage", QueueUrl=url, ReceiptHandle=handle)
