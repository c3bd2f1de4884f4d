"""`cqs resend`: sends copies of messages by id, unchanged or with another body."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cqs.commands.server_command import Session, server_command


@server_command
@click.argument("queue")
@click.argument("message_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--to", "target", metavar="QUEUE", help="Destination. [default: the same queue]")
@click.option("--body", metavar="TEXT", help="New body. [default: that of each message]")
@click.option("--delay", type=int, metavar="SECONDS")
@click.option("--delete", "is_deleting", is_flag=True, help="Delete the original once the copy is stored.")
def command(
    session: Session,
    queue: str,
    message_ids: Sequence[str],
    target: str | None,
    body: str | None,
    delay: int | None,
    is_deleting: bool,
) -> None:
    """Send copies of the messages with these ids (`cqs peek` shows them). Prints the new ids."""
    client = session.client
    url = client.queue_url(queue)
    to = None if target is None else client.queue_url(target)
    for message_id in message_ids:
        answer = client.call(
            "ResendMessage",
            QueueUrl=url,
            MessageId=message_id,
            DestinationQueueUrl=to,
            MessageBody=body,
            DelaySeconds=delay,
            DeleteOriginal=is_deleting,
        )
        session.answer(answer, answer["MessageId"])
