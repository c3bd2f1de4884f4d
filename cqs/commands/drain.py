"""`cqs drain`: takes a node out, with all its workers, or in again."""

from __future__ import annotations

import click

from cqs.commands.server_command import Session, server_command
from cqs.plural import counted


@server_command
@click.option("--undo", "is_over", is_flag=True, help="Take it in again.")
def command(session: Session, is_over: bool) -> None:
    """Take the node at the endpoint out: /ready says 503, and receives that wait are answered.

    The endpoint must be the node's own, not that of a balancer. Forgotten when the node ends.
    """
    told = session.client.call("DrainNode", Draining=not is_over)
    workers = f" ({counted(told['Workers'], 'worker')})" if told["Workers"] > 1 else ""
    answered = counted(told["AnsweredReceives"], "waiting receive")
    if is_over:
        text = f"{session.client.endpoint} is in again{workers}"
    else:
        text = f"{session.client.endpoint} is draining{workers}: {answered} answered"
    session.answer(told, text)
