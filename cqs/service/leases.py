"""Leases as the store writes them down, from what the cache says of a message."""

from __future__ import annotations

from cqs.cache.interface import Entry, Received
from cqs.store.interface import Lease


def of_received(received: Received) -> Lease:
    """The lease of a receive."""
    return Lease(
        received.address,
        received.hidden_until_ms,
        received.receive_count,
        received.first_receive_ms,
        received.receive_number,
    )


def of_entry(entry: Entry, until_ms: int) -> Lease:
    """The lease of a message in flight with another end."""
    return Lease(entry.address, until_ms, entry.receive_count, entry.first_receive_ms, entry.receive_number)
