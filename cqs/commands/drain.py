"""`cqs drain`: takes a node with all its workers out of service, or puts it back."""

from __future__ import annotations

import click

from cqs.commands.server_command import Session, server_command
from cqs.plural import counted


@server_command
@click.option("--undo", "is_over", is_flag=True, help="Put the node back into service.")
def command(session: Session, is_over: bool) -> None:
    """Drain the node at the endpoint before it is stopped: /ready returns 503, and waiting receives are answered.

    The endpoint must be that of the node itself, not of a load balancer. A restarted node is no longer draining.
    """
    told = session.client.call("DrainNode", Draining=not is_over)
    workers = f" ({counted(told['Workers'], 'worker')})" if told["Workers"] > 1 else ""
    answered = counted(told["AnsweredReceives"], "waiting receive")
    if is_over:
        text = f"{session.client.endpoint} is back in service{workers}"
    else:
        text = f"{session.client.endpoint} is draining{workers}: {answered} answered"
    session.answer(told, text)
