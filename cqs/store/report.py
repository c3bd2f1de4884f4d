"""What a store tells of the places where its data lie, for people."""

from __future__ import annotations

import msgspec


class StoreHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host of a Cassandra cluster, as this node's driver knows it."""

    address: str
    datacenter: str = ""
    rack: str = ""
    version: str = ""
    """The release that runs there."""
    is_up: bool | None = None
    """Whether it can be reached; None = this node asks others only, and was told nothing of it yet."""


class StoreFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of an embedded store."""

    path: str
    size_bytes: int


class StoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """Both empty = the store is this process's memory."""

    hosts: tuple[StoreHost, ...] = ()
    files: tuple[StoreFile, ...] = ()

    @property
    def lost(self) -> list[StoreHost]:
        """Hosts that can't be reached."""
        return [host for host in self.hosts if host.is_up is False]
