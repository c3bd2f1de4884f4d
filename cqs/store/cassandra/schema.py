"""The schema: created by an operator's command, checked when a store opens.

A server never changes the schema by itself: two that did so at once would leave Cassandra with two versions of a table.
The cluster's secret is created here for the same reason: data centres that start at the same time can't agree on one.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
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
_TABLE_OF = re.compile(r"CREATE TABLE IF NOT EXISTS (\w+)")
_GRACES = "SELECT table_name, gc_grace_seconds FROM system_schema.tables WHERE keyspace_name = %s"
_CHANGED_GRACES = {"dirty_marks": (14_400, 60)}
"""gc_grace_seconds that an earlier schema.cql gave to a table, and today's. Where an operator set another, it stays."""


class Outcome(StrEnum):
    """What `apply` did."""

    CREATED = "created"
    UPDATED = "updated"
    IN_PLACE = "already in place"


class WrongSchema(StoreUnavailable):
    """Cassandra answers, but the keyspace has no schema or one of another version. The text says what to do."""


def table_statements() -> list[str]:
    """The statements of schema.cql, in order."""
    text = resources.files("cqs.store.cassandra").joinpath("schema.cql").read_text()
    return [statement.strip() for statement in _COMMENT.sub("", text).split(";") if statement.strip()]


def outstanding(graces: Mapping[str, int]) -> list[str]:
    """The statements that a keyspace lacks which an earlier version made. `graces`: gc_grace_seconds of its tables, by
    name."""
    missing = [text for text in table_statements() if _table_of(text) not in graces]
    changed = [
        f"ALTER TABLE {table} WITH gc_grace_seconds = {now}"
        for table, (earlier, now) in _CHANGED_GRACES.items()
        if graces.get(table) == earlier
    ]
    return missing + changed


async def apply(options: Options, replicas: dict[str, int]) -> Outcome:
    """Creates the keyspace (`replicas` by data centre; {} = 1 in the data centre that answers) and any missing tables,
    and changes what an earlier version created differently. Idempotent. Raises StoreUnavailable when Cassandra is not
    reachable or has another version; and, where the schema is not in place, when the keyspace has a different
    replication, or more replicas are requested than there are nodes. If the schema is in place, the replication is not
    checked: an operator may have changed it since."""
    link = Link(options)
    await link.connect()
    try:
        graces = await graces_of(link, options)
        found = await _version(link, options, graces)
        if found is not None:
            _check(found, options)
            return await _update(link, options, outstanding(graces))
        await _check_copies(link, options, replicas)
        await link.ask(_create_keyspace(options, replicas or {link.datacenter: 1}))
        await _update(link, options, table_statements())
        for name, value in ((_SECRET_NAME, os.urandom(_SECRET_BYTES).hex()), (_VERSION_NAME, str(VERSION))):
            await link.ask("INSERT INTO meta (name, value) VALUES (%s, %s) IF NOT EXISTS", (name, value))
        return Outcome.CREATED
    finally:
        await link.close()


async def _update(link: Link, options: Options, statements: list[str]) -> Outcome:
    if not statements:
        return Outcome.IN_PLACE
    for statement in (f'USE "{options.keyspace}"', *statements):
        await link.ask(statement)
    return Outcome.UPDATED


async def graces_of(link: Link, options: Options) -> dict[str, int]:
    """gc_grace_seconds of the keyspace's tables, by name; {} = there is no keyspace. Raises StoreUnavailable."""
    return {name: grace for name, grace in await link.ask(_GRACES, (options.keyspace,))}


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
    """Raises WrongSchema unless the keyspace has all tables of this version's schema; StoreUnavailable when that can't
    be read."""
    graces = await graces_of(link, options)
    found = await _version(link, options, graces)
    if found is None:
        raise WrongSchema(
            f"Cassandra at {options.place} has no schema in keyspace {options.keyspace}: run `cqs schema apply`."
        )
    _check(found, options)
    missing = " or ".join(table for table in map(_table_of, table_statements()) if table not in graces)
    if missing:
        raise WrongSchema(
            f"Keyspace {options.keyspace} at {options.place} has no table {missing}: run `cqs schema apply`."
        )


def _check(found: str, options: Options) -> None:
    if found != str(VERSION):
        raise WrongSchema(
            f"Keyspace {options.keyspace} at {options.place} has schema version {found}, this cqs-server needs version "
            f"{VERSION}: use the version of cqs-server that made it, or another keyspace."
        )


async def _version(link: Link, options: Options, graces: Mapping[str, int]) -> str | None:
    """None when the keyspace, or the table with the version, does not exist."""
    if "meta" not in graces:
        return None
    rows = whole(await link.ask(f'SELECT value FROM "{options.keyspace}".meta WHERE name = %s', (_VERSION_NAME,)))
    return str(rows[0][0]) if rows else None


def _table_of(statement: str) -> str:
    found = _TABLE_OF.match(statement)
    assert found is not None, statement
    return found[1]


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
