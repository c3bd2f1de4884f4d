"""`cqs set`: shows or changes the attributes and tags of a queue."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cqs.commands.server_command import Session, pairs, server_command


@server_command
@click.argument("queue")
@click.option("-a", "--attribute", multiple=True, metavar="NAME=VALUE", help="For example VisibilityTimeout=60.")
@click.option("-t", "--tag", multiple=True, metavar="NAME=VALUE")
@click.option("--untag", multiple=True, metavar="NAME", help="Remove a tag.")
def command(session: Session, queue: str, attribute: Sequence[str], tag: Sequence[str], untag: Sequence[str]) -> None:
    """Change attributes and tags of a queue; without options, show them."""
    client = session.client
    attributes, tags = pairs("--attribute", attribute), pairs("--tag", tag)
    url = client.queue_url(queue)
    if attributes:
        client.call("SetQueueAttributes", QueueUrl=url, Attributes=attributes)
    if untag:
        client.call("UntagQueue", QueueUrl=url, TagKeys=list(untag))
    if tags:
        client.call("TagQueue", QueueUrl=url, Tags=tags)
    if not (attributes or untag or tags):
        _show(session, url)


def _show(session: Session, url: str) -> None:
    found = session.client.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"]).get("Attributes", {})
    tags = session.client.call("ListQueueTags", QueueUrl=url).get("Tags", {})
    rows = [*found.items(), *((f"tag {name}", value) for name, value in tags.items())]
    session.show({"Attributes": found, "Tags": tags}, ["name", "value"], rows)
