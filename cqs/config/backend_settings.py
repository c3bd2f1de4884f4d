"""Settings of the backends, and of this node among others."""

from __future__ import annotations

from dataclasses import dataclass

from cqs.config import values
from cqs.config.schema import setting

_REDIS = values.listed(
    r"spawn|(redis|rediss|unix)://\S+", 'addresses such as "redis://127.0.0.1:6379", or "spawn"', is_secret=True
)
_HOSTS = values.listed(r"[A-Za-z0-9.:_-]{1,253}", "host names or addresses")
_KEYSPACE = values.text("keyspace", pattern=r"[a-z][a-z0-9_]{0,47}", expects="a name such as cqs")


@dataclass(frozen=True, slots=True)
class Backends:
    """Redis, Cassandra and SQLite"""

    redis: tuple[str, ...] = setting(
        (), _REDIS, 'Redis servers that keep the hot state; "spawn" starts a private one. Empty: this process keeps it.'
    )
    redis_list_version: int = setting(
        1,
        values.integer(1, 1_000_000_000),
        "Raise it whenever the list of Redis servers changes: nodes with a lower one then leave the servers alone.",
    )
    redis_ca: str = setting("", values.path("file", "the path of a file"), "Authorities of Redis' TLS certificates.")
    redis_memory: int = setting(
        512_000_000, values.size(0, 1_000_000_000_000), "Above this, a Redis server is given no more message bodies."
    )
    cassandra: tuple[str, ...] = setting(
        (), _HOSTS, "Cassandra nodes that keep the messages. Empty: SQLite in data_dir keeps them."
    )
    cassandra_port: int = setting(9042, values.integer(1, 65_535), "Port of the Cassandra nodes.")
    cassandra_keyspace: str = setting("cqs", _KEYSPACE, "Keyspace; `cqs schema apply` makes it.")
    cassandra_datacenter: str = setting("", values.text("name"), "Data centre that answers. Empty: the first one met.")
    cassandra_writes: str = setting(
        "local",
        values.choice("local", "each"),
        "Data centres that have a message, or its delete, before that is answered: this one, or each of them.",
    )
    cassandra_user: str = setting("", values.text("name"), "User at Cassandra.")
    cassandra_password: str = setting("", values.text(is_secret=True), "That user's password.")
    sqlite_writer: str = setting(
        "process",
        values.choice("process", "thread"),
        "What writes SQLite: a process beside the one that serves, or (for a single core) a thread of it.",
    )


@dataclass(frozen=True, slots=True)
class Clustering:
    """This node among others"""

    node_name: str = setting(
        "",
        values.text("name", pattern=r"[A-Za-z0-9.:_-]{0,100}", expects="letters, digits and . : _ -"),
        "What the other nodes call this one, each by another name. Empty: the machine's name and the port.",
    )
    node_url: str = setting(
        "",
        values.base_url(),
        "Where the other nodes find this one. Empty: public_url, or the host and port it listens on.",
    )
    workers: int = setting(
        1,
        values.integer(1, 64),
        "Server processes on one port, each a node of its own with bounds of its own. More than one: Redis and "
        "Cassandra.",
    )
