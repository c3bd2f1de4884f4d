"""`cqs create`: creates a queue."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cqs.commands.server_command import Session, pairs, server_command


@server_command
@click.argument("name")
@click.option("-a", "--attribute", multiple=True, metavar="NAME=VALUE", help="For example VisibilityTimeout=60.")
@click.option("-t", "--tag", multiple=True, metavar="NAME=VALUE")
def command(session: Session, name: str, attribute: Sequence[str], tag: Sequence[str]) -> None:
    """Create a queue and print its URL; succeeds if it exists already with the same attributes."""
    attributes = pairs("--attribute", attribute)
    if name.endswith(".fifo"):
        attributes.setdefault("FifoQueue", "true")
    answer = session.client.call(
        "CreateQueue", QueueName=name, Attributes=attributes or None, tags=pairs("--tag", tag) or None
    )
    session.answer(answer, answer["QueueUrl"])
