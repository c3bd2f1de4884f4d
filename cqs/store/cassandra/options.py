"""How to reach a Cassandra cluster, and how long to wait for it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from cqs.hosts import with_port


@dataclass(frozen=True, slots=True)
class Options:
    """`datacenter`: the one whose replicas answer (LOCAL_QUORUM); "" = that of the first contact point that answers."""

    hosts: tuple[str, ...] = ("127.0.0.1",)
    port: int = 9042
    keyspace: str = "cqs"
    datacenter: str = ""
    is_each: bool = False
    """Sends and deletes are durable in every data centre when they return, not only in this one."""
    user: str = ""
    password: str = field(default="", repr=False)
    tls: ssl.SSLContext | None = None
    connect_ms: int = 5_000
    """For the first connection to a host."""
    request_ms: int = 3_000
    """For one attempt; requests that are safe to repeat get two, which share it while half of the hosts are down."""
    rows: int = 100
    """Partitions per queue. Addresses contain the row, so this may be raised later, but lowered only for new queues."""

    @property
    def place(self) -> str:
        """For error texts."""
        return ", ".join(with_port(host, self.port) for host in self.hosts)

    @property
    def place_asked(self) -> str:
        """Likewise, with the data centre to which requests are limited."""
        return f"{self.place}, data centre {self.datacenter}" if self.datacenter else self.place
