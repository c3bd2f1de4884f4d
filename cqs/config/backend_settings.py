"""Settings of the backends, and of this node in its cluster."""

from __future__ import annotations

from dataclasses import dataclass

from cqs.config import values
from cqs.config.schema import setting

_REDIS = values.addresses(r"spawn|(redis|rediss|unix)://\S+", 'addresses such as "redis://127.0.0.1:6379", or "spawn"')
_HOSTS = values.listed(
    r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*",
    "host names or addresses, without a port (that is cassandra_port)",
)
_KEYSPACE = values.text("keyspace", pattern=r"[a-z][a-z0-9_]{0,47}", expects="a name such as cqs")


@dataclass(frozen=True, slots=True)
class Backends:
    """Backends: Redis, Cassandra and SQLite"""

    redis: tuple[str, ...] = setting(
        (),
        _REDIS,
        'Redis servers for the hot state; "spawn" starts a private one. Empty: this process keeps it in memory.',
    )
    redis_list_version: int = setting(
        1,
        values.integer(1, 1_000_000_000),
        "Version of the list of Redis servers. Raise it whenever the list changes; nodes with a lower version then "
        "stop using the servers.",
    )
    redis_ca: str = setting("", values.path("file", "the path of a file"), "CA certificates for TLS to Redis.")
    redis_memory: int = setting(
        512_000_000,
        values.size(0, 1_000_000_000_000),
        "Memory use above which a Redis server is given no more message bodies.",
    )
    cassandra: tuple[str, ...] = setting(
        (), _HOSTS, "Cassandra nodes that store the messages. Empty: SQLite in data_dir stores them."
    )
    cassandra_port: int = setting(9042, values.integer(1, 65_535), "Port of the Cassandra nodes.")
    cassandra_keyspace: str = setting("cqs", _KEYSPACE, "Keyspace; `cqs schema apply` creates it.")
    cassandra_datacenter: str = setting(
        "", values.text("name"), "Local data centre. Empty: that of the first node reached."
    )
    cassandra_writes: str = setting(
        "local",
        values.choice("local", "each"),
        "Data centres that must have stored a send or delete before it is acknowledged: the local one, or each.",
    )
    cassandra_user: str = setting("", values.text("name"), "User name for Cassandra.")
    cassandra_password: str = setting("", values.text(is_secret=True), "Password for Cassandra.")
    sqlite_writer: str = setting(
        "process",
        values.choice("process", "thread"),
        "What writes SQLite: a separate process, or (better on a single core) a thread of the server.",
    )


@dataclass(frozen=True, slots=True)
class Clustering:
    """Cluster node"""

    node_name: str = setting(
        "",
        values.text("name", pattern=r"[A-Za-z0-9.:_-]{0,100}", expects="letters, digits and . : _ -"),
        "Name of this node, unique in the cluster. Empty: the host name and the port.",
    )
    node_url: str = setting(
        "",
        values.base_url(),
        "URL of this node, which the consoles of the other nodes link to. Empty: public_url, or the host (the "
        "host name, where it listens on all addresses) and the port.",
    )
    workers: int = setting(
        1,
        values.integer(1, 64),
        "Server processes on one port. Each is a node of its own with its own limits. More than one needs Redis and "
        "Cassandra.",
    )
