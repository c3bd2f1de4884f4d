"""Inspects a Cassandra cluster once, before any server uses it: its nodes, its replication, its clocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from cqs.clock import Clock
from cqs.errors import StoreUnavailable
from cqs.store.cassandra import schema
from cqs.store.cassandra.link import Link
from cqs.store.cassandra.options import Options

_LOCAL = "SELECT data_center, release_version, toTimestamp(now()) FROM system.local"
_SYNC = "SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'"
_REPLICATION = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = %s"


@dataclass(frozen=True, slots=True)
class NodeLook:
    """One node. `problem`: why it did not answer, "" = it did. `datacenter` is known in both cases, from other nodes;
    the rest only if it answered. `sync`: commitlog_sync, "" = the node does not report it. `ahead_ms`: its clock
    relative to ours."""

    address: str
    problem: str = ""
    datacenter: str = ""
    version: str = ""
    sync: str = ""
    ahead_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Look:
    """`replication`: of the keyspace, as Cassandra reports it; None when there is no such keyspace. `schema_problem`:
    why a server would not start on it, "" = it would. `unread`: why the schema can't be read, so that its state is
    unknown; "" = it can. `outstanding`: the statements that `cqs schema apply` would run, if the version is right."""

    nodes: list[NodeLook]
    replication: Mapping[str, str] | None
    schema_problem: str = ""
    unread: str = ""
    outstanding: Sequence[str] = ()


async def look(options: Options, clock: Clock) -> Look:
    """Asks any node that answers, and through it all others. Raises StoreUnavailable."""
    link = Link(replace(options, datacenter=""), reaches_all=True)
    await link.connect()
    try:
        nodes = await _nodes(link, clock)
        found = await link.ask(_REPLICATION, (options.keyspace,))
        seen = Look(nodes, dict(found[0][0]) if found else None)
        try:
            await schema.check(link, options)
        except schema.WrongSchema as error:
            return replace(seen, schema_problem=str(error))
        except StoreUnavailable as error:
            return replace(seen, unread=str(error))
        return replace(seen, outstanding=schema.outstanding(await schema.graces_of(link, options)))
    finally:
        await link.close()


async def _nodes(link: Link, clock: Clock) -> list[NodeLook]:
    before_ms = clock.now_ms()
    answers = await link.ask_each(_LOCAL)
    middle_ms = (before_ms + clock.now_ms()) / 2
    syncs = await link.ask_each(_SYNC)
    places = {host.address: host.datacenter for host in link.hosts()}
    nodes: list[NodeLook] = []
    for address, answer in sorted(answers.items()):
        if isinstance(answer, Exception):
            nodes.append(NodeLook(address, str(answer), places.get(address, "")))
            continue
        datacenter, version, now = answer[0]
        sync = syncs.get(address)
        told = str(sync[0][0]) if isinstance(sync, list) and sync else ""
        nodes.append(NodeLook(address, "", datacenter, version, told, _ms_of(now) - middle_ms))
    return nodes


def _ms_of(moment: datetime) -> float:
    """The driver's datetime, which is UTC without a time zone."""
    return moment.replace(tzinfo=UTC).timestamp() * 1_000
