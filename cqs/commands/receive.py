"""`cqs receive`: receives messages, like a consumer."""

from __future__ import annotations

import sys

import click

from cqs.commands.server_command import Session, server_command, shown
from cqs.limits import RECEIVE_COUNT_MAX, WAIT_S_MAX


@server_command
@click.argument("queue")
@click.option("-n", "--count", type=click.IntRange(1, RECEIVE_COUNT_MAX), default=1, show_default=True)
@click.option(
    "--wait",
    type=click.IntRange(0, WAIT_S_MAX),
    default=0,
    metavar="SECONDS",
    help="Wait up to this long for a message.",
)
@click.option("--visibility", type=int, metavar="SECONDS", help="Visibility timeout.")
@click.option("--delete", "is_deleting", is_flag=True, help="Delete the messages after printing them.")
def command(session: Session, queue: str, count: int, wait: int, visibility: int | None, is_deleting: bool) -> None:
    """Receive messages and print their bodies; they are hidden for the visibility timeout.

    On a terminal, control characters are shown as escapes; files and pipes get bodies unchanged. With -o json
    everything is printed, including the receipt handles that `cqs delete` takes.
    """
    client = session.client
    url = client.queue_url(queue)
    messages = client.call(
        "ReceiveMessage",
        wait_s=wait,
        QueueUrl=url,
        MaxNumberOfMessages=count,
        WaitTimeSeconds=wait,
        VisibilityTimeout=visibility,
        MessageSystemAttributeNames=["All"],
        MessageAttributeNames=["All"],
    ).get("Messages", [])
    if session.is_json:
        session.show_json(messages)
    elif not messages:
        click.echo("no messages", err=True)
    for message in messages:
        if not session.is_json:
            click.echo(_on_screen(message["Body"]) if _is_screen() else message["Body"])
        if is_deleting:
            client.call("DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def _is_screen() -> bool:
    return sys.stdout.isatty()


def _on_screen(body: str) -> str:
    """The body with control characters escaped, which a terminal would obey: anybody may have sent it."""
    return "".join(one if one in "\n\t" else shown(one) for one in body)
