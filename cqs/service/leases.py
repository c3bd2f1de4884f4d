"""Leases as written to the store, built from cache data."""

from __future__ import annotations

from cqs.cache.entry import Entry
from cqs.cache.interface import Received
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


def undone(received: Received) -> Lease:
    """The lease to store when a receive is given back, so that after a cache loss it neither hides the message nor
    counts."""
    count = received.receive_count - 1
    return Lease(received.address, 0, count, received.first_receive_ms if count else 0, received.receive_number)


def of_entry(entry: Entry, until_ms: int) -> Lease:
    """The lease of a message in flight with a new end."""
    return Lease(entry.address, until_ms, entry.receive_count, entry.first_receive_ms, entry.receive_number)
