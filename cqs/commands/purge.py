"""`cqs purge`: empties a queue."""

from __future__ import annotations

import click

from cqs.commands.server_command import Session, confirmed, server_command


@server_command
@click.argument("queue")
@click.option("--yes", "is_sure", is_flag=True, help="Confirm the purge.")
def command(session: Session, queue: str, is_sure: bool) -> None:
    """Delete all messages of a queue."""
    confirmed(is_sure, f"purging {queue}")
    session.client.call("PurgeQueue", QueueUrl=session.client.queue_url(queue))
