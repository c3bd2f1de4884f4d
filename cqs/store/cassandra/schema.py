"""The schema: created by an operator's command, checked when a store opens.

A server never changes the schema by itself: two that did so at once would leave Cassandra with two versions of a table.
The cluster's secret is created here for the same reason: data centres that start at the same time can't agree on one.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from importlib import resources

from cqs.errors import StoreUnavailable
from cqs.store.cassandra.link import Link
from cqs.store.cassandra.options import Options
from cqs.store.cassandra.session import whole

VERSION = 1
_VERSION_NAME = "schema_version"
_SECRET_NAME = "secret"
_SECRET_BYTES = 32
_COMMENT = re.compile(r"--[^\n]*")


class WrongSchema(StoreUnavailable):
    """Cassandra answers, but the keyspace has no schema or one of another version. The text says what to do."""


def table_statements() -> list[str]:
    """The statements of schema.cql, in order."""
    text = resources.files("cqs.store.cassandra").joinpath("schema.cql").read_text()
    return [statement.strip() for statement in _COMMENT.sub("", text).split(";") if statement.strip()]


async def apply(options: Options, replicas: dict[str, int]) -> bool:
    """Creates the keyspace (`replicas` by data centre; {} = 1 in the data centre that answers) and any missing tables.
    Idempotent; False when there was nothing to do. Raises StoreUnavailable when Cassandra is not reachable or has
    another version; and, where nothing was created, when the keyspace has a different replication, or more replicas are
    requested than there are nodes. If the schema is in place, the replication is not checked: an operator may have
    changed it since."""
    link = Link(options)
    await link.connect()
    try:
        found = await _version(link, options)
        if found is not None:
            _check(found, options)
            return False
        await _check_copies(link, options, replicas)
        await link.ask(_create_keyspace(options, replicas or {link.datacenter: 1}))
        await link.ask(f'USE "{options.keyspace}"')
        for statement in table_statements():
            await link.ask(statement)
        for name, value in ((_SECRET_NAME, os.urandom(_SECRET_BYTES).hex()), (_VERSION_NAME, str(VERSION))):
            await link.ask("INSERT INTO meta (name, value) VALUES (%s, %s) IF NOT EXISTS", (name, value))
        return True
    finally:
        await link.close()


async def secret(link: Link, options: Options) -> bytes:
    """The cluster's secret. Raises StoreUnavailable."""
    rows = whole(await link.ask(f'SELECT value FROM "{options.keyspace}".meta WHERE name = %s', (_SECRET_NAME,)))
    if not rows:
        raise StoreUnavailable(f"Keyspace {options.keyspace} at {options.place} has no secret: run `cqs schema apply`.")
    return bytes.fromhex(rows[0][0])


async def datacenters(link: Link, options: Options) -> list[str]:
    """The data centres that hold replicas of the keyspace. Raises StoreUnavailable."""
    found = await _replication(link, options)
    return sorted(key for key in found if key not in ("class", "replication_factor"))


async def _replication(link: Link, options: Options) -> dict[str, str]:
    """As Cassandra reports it; {} when there is no such keyspace."""
    rows = await link.ask(
        "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = %s", (options.keyspace,)
    )
    return dict(rows[0][0]) if rows else {}


async def check(link: Link, options: Options) -> None:
    """Raises WrongSchema unless the keyspace has this version's schema; StoreUnavailable when that can't be read."""
    found = await _version(link, options)
    if found is None:
        raise WrongSchema(
            f"Cassandra at {options.place} has no schema in keyspace {options.keyspace}: run `cqs schema apply`."
        )
    _check(found, options)


def _check(found: str, options: Options) -> None:
    if found != str(VERSION):
        raise WrongSchema(
            f"Keyspace {options.keyspace} at {options.place} has schema version {found}, this cqs-server needs version "
            f"{VERSION}: use the version of cqs-server that made it, or another keyspace."
        )


async def _version(link: Link, options: Options) -> str | None:
    """None when the keyspace, or the table with the version, does not exist."""
    tables = await link.ask(
        "SELECT table_name FROM system_schema.tables WHERE keyspace_name = %s AND table_name = 'meta'",
        (options.keyspace,),
    )
    if not tables:
        return None
    rows = whole(await link.ask(f'SELECT value FROM "{options.keyspace}".meta WHERE name = %s', (_VERSION_NAME,)))
    return str(rows[0][0]) if rows else None


async def _check_copies(link: Link, options: Options, replicas: dict[str, int]) -> None:
    nodes = Counter(host.datacenter for host in link.hosts())
    for datacenter, count in replicas.items():
        if datacenter not in nodes:
            raise StoreUnavailable(f"There is no data centre {datacenter}, only {', '.join(sorted(nodes))}.")
        if count > nodes[datacenter]:
            raise StoreUnavailable(
                f"--replicas {datacenter}={count}: the data centre has {nodes[datacenter]} node(s). Add nodes, or ask "
                "for fewer copies."
            )
    found = await _replication(link, options)
    copies = {name: int(value) for name, value in found.items() if value.isdigit()}
    if replicas and found and copies != replicas:
        told = ", ".join(f"{name}={count}" for name, count in sorted(copies.items()))
        raise StoreUnavailable(
            f"Keyspace {options.keyspace} exists with a different replication ({told}): change that by ALTER KEYSPACE "
            "and nodetool repair, or drop it if it is empty."
        )


def _create_keyspace(options: Options, replicas: dict[str, int]) -> str:
    counts = "".join(f", '{datacenter}': {int(count)}" for datacenter, count in replicas.items())
    return (
        f'CREATE KEYSPACE IF NOT EXISTS "{options.keyspace}"'
        f" WITH replication = {{'class': 'NetworkTopologyStrategy'{counts}}}"
    )
