"""`cqs peek`: shows messages without receiving them."""

from __future__ import annotations

from typing import Any

import click

from cqs.commands.server_command import Session, server_command

PAGE_MAX = 100
BODY_SHOWN = 60


@server_command
@click.argument("queue")
@click.option("-n", "--count", type=click.IntRange(1), default=10, show_default=True)
@click.option("--state", type=click.Choice(["ready", "in_flight", "delayed"]), default="ready", show_default=True)
@click.option("--contains", metavar="TEXT", help="Only bodies that contain this text, ignoring case.")
@click.option("--group", metavar="ID", help="Only this message group.")
@click.option("-a", "--attribute", metavar="NAME[=VALUE]", help="Only messages with this attribute.")
@click.option("--scan-limit", type=int, metavar="N", help="Messages that one call to the server looks at.")
@click.option("--id", "message_id", metavar="ID", help="Only this message, whatever its state.")
def command(
    session: Session,
    queue: str,
    count: int,
    state: str,
    contains: str | None,
    group: str | None,
    attribute: str | None,
    scan_limit: int | None,
    message_id: str | None,
) -> None:
    """Show messages without receiving them: nothing is hidden or counted."""
    client = session.client
    url = client.queue_url(queue)
    if message_id is not None:
        _show(session, [client.call("GetMessage", QueueUrl=url, MessageId=message_id)["Message"]])
        return
    name, equals, value = (attribute or "").partition("=")
    found: list[dict[str, Any]] = []
    token: str | None = ""
    while token is not None and len(found) < count:
        page = client.call(
            "PeekMessages",
            QueueUrl=url,
            State=state,
            MaxResults=min(PAGE_MAX, count - len(found)),
            NextToken=token or None,
            ScanLimit=scan_limit,
            ContainsText=contains,
            MessageGroupId=group,
            AttributeName=name or None,
            AttributeValue=value if equals else None,
        )
        found += page["Messages"]
        token = page.get("NextToken")
    _show(session, found)


def _show(session: Session, messages: list[dict[str, Any]]) -> None:
    rows = [
        [
            message["MessageId"],
            message["Attributes"].get("MessageGroupId", ""),
            int(message["Attributes"]["ApproximateReceiveCount"]),
            message["Size"],
            message["Body"][:BODY_SHOWN],
        ]
        for message in messages
    ]
    session.show(messages, ["message id", "group", "received", "bytes", "body"], rows)
