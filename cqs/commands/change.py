"""`cqs change`: changes messages by id, without receiving them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cqs.commands.client import CallFailed
from cqs.commands.server_command import Session, server_command


@server_command
@click.argument("queue")
@click.argument("what", type=click.Choice(["delete", "reveal", "hide", "hasten"]))
@click.argument("message_ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--for", "hide_s", type=int, metavar="SECONDS", help="How long to hide, counted from now; only with hide."
)
def command(session: Session, queue: str, what: str, message_ids: Sequence[str], hide_s: int | None) -> None:
    """Change messages by id. `cqs peek` shows the ids.

    delete: in any state. reveal: make messages in flight visible now. hide: extend the time that messages in flight
    stay hidden. hasten: send delayed messages now, under new ids (standard queues only).

    Exits with 1 if some messages were gone or in another state.
    """
    if (what == "hide") != (hide_s is not None):
        raise click.UsageError("hide needs --for, and nothing else takes it")
    url = session.client.queue_url(queue)
    answer = session.client.call(
        "ChangeMessages", QueueUrl=url, MessageIds=list(message_ids), Change=what, VisibilityTimeout=hide_s
    )
    session.answer(answer, answer["Changed"])
    if missed := answer.get("Missed"):
        raise CallFailed(f"gone, or in another state: {', '.join(missed)}")
