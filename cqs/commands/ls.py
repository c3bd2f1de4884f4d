"""`cqs ls`: lists queues."""

from __future__ import annotations

from typing import Any

import click

from cqs.commands.server_command import Session, server_command

PAGE = 1_000
COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


@server_command
@click.argument("prefix", default="")
@click.option("-l", "--long", "is_long", is_flag=True, help="Show numbers of messages (one call per queue).")
@click.option("--with-messages", is_flag=True, help="Only queues that hold messages.")
def command(session: Session, prefix: str, is_long: bool, with_messages: bool) -> None:
    """List queues, sorted by name."""
    urls = _urls(session, prefix, with_messages)
    names = [url.rpartition("/")[2] for url in urls]
    if not is_long:
        if session.is_json or urls:
            session.answer(urls, "\n".join(names))
        return
    found: list[dict[str, Any]] = []
    for name, url in zip(names, urls, strict=True):
        counts = session.client.call("GetQueueAttributes", QueueUrl=url, AttributeNames=COUNTS)["Attributes"]
        found.append({"queue": name, "url": url, **{key: int(counts[key]) for key in COUNTS}})
    rows = [[one["queue"], *(one[key] for key in COUNTS)] for one in found]
    session.show(found, ["queue", "visible", "in flight", "delayed"], rows)


def _urls(session: Session, prefix: str, with_messages: bool) -> list[str]:
    urls: list[str] = []
    token: str | None = ""
    while token is not None:
        page = session.client.call(
            "ListQueues",
            QueueNamePrefix=prefix or None,
            MaxResults=PAGE,
            NextToken=token or None,
            ContainingMessagesOnly=with_messages or None,
        )
        urls += page.get("QueueUrls", [])
        token = page.get("NextToken")
    return urls
