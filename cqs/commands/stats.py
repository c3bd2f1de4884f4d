"""`cqs stats`: shows statistics of a server or a queue."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import click

from cqs.commands.server_command import Session, server_command, table
from cqs.plural import counted

_CLEAR = "\x1b[H\x1b[2J"
_ROWS = {
    "visible": "Visible",
    "in flight": "InFlight",
    "delayed": "Delayed",
    "oldest message, s": "OldestMessageAge",
    "waiting receives": "WaitingReceives",
    "sent, 10 min": "Sent",
    "received, 10 min": "Received",
    "deleted, 10 min": "Deleted",
    "empty receives, 10 min": "EmptyReceives",
    "cache hit ratio": "CacheHitRatio",
}


@server_command
@click.argument("queue", required=False)
@click.option("--watch", is_flag=True, help="Refresh until Ctrl-C.")
@click.option("--every", type=click.FloatRange(0.1), default=2.0, show_default=True, metavar="SECONDS")
def command(session: Session, queue: str | None, watch: bool, every: float) -> None:
    """Show statistics of the server, or of one QUEUE as this node sees it. Ten-minute sums lag by some seconds."""
    url = None if queue is None else session.client.queue_url(queue)
    while True:
        told = session.client.call("GetNodeStatistics", QueueUrl=url)
        if session.is_json:
            session.show_json(told)
        else:
            click.echo((_CLEAR if watch else "") + _text(told, queue))
        if not watch:
            return
        time.sleep(every)


def _text(told: Mapping[str, Any], queue: str | None) -> str:
    title = queue or _server(told)
    rows = [*_home(told), *([name, told["Totals"][member]] for name, member in _ROWS.items())]
    parts = [table([title, ""], rows)]
    actions = [
        [name, one["Calls"], sum(one.get("Failures", {}).values()), _ms(one["MedianSeconds"]), _ms(one["P99Seconds"])]
        for name, one in sorted(told.get("Actions", {}).items())
    ]
    if actions:
        parts.append(table(["action", "calls", "failed", "median ms", "p99 ms"], actions))
    if hosts := told.get("Store", {}).get("Hosts"):
        states = {True: "up", False: "down", None: "not told"}
        rows = [[one["Address"], one["DataCenter"], states[one["Up"]]] for one in hosts]
        parts.append(table(["Cassandra host", "data centre", "state"], rows))
    return "\n\n".join(parts)


def _server(told: Mapping[str, Any]) -> str:
    queues, connections = counted(told["Queues"], "queue"), counted(told["Connections"], "connection")
    return f"cqs {told['Version']}, {queues}, {connections}"


def _home(told: Mapping[str, Any]) -> list[list[object]]:
    """If the store has several data centres: the queue's home, and this node's own."""
    rows: list[list[object]] = []
    if "Home" in told:
        rows.append(["home data centre", told["Home"].get("DataCenter") or "none yet"])
    if "DataCenter" in told:
        rows.append(["this node's data centre", told["DataCenter"]])
    return rows


def _ms(seconds: float) -> float:
    """Milliseconds with six significant digits."""
    number = float(f"{seconds * 1_000:g}")
    return int(number) if number.is_integer() else number
