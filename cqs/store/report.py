"""What a store reports about the places where its data is, for people."""

from __future__ import annotations

import msgspec


class StoreHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host of a Cassandra cluster, as this node's driver knows it."""

    address: str
    datacenter: str = ""
    rack: str = ""
    version: str = ""
    """The Cassandra release the host runs."""
    is_up: bool | None = None
    """Whether the host can be reached; None = this node talks only to other hosts and has no information about it
    yet."""


class StoreFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of an embedded store."""

    path: str
    size_bytes: int


class StoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """Both empty = the data is in this process's memory."""

    hosts: tuple[StoreHost, ...] = ()
    files: tuple[StoreFile, ...] = ()

    @property
    def lost(self) -> list[StoreHost]:
        """Hosts that can't be reached."""
        return [host for host in self.hosts if host.is_up is False]
