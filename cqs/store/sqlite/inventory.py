"""The one pass at start: what the file holds, by queue, without bodies.

Every queue's cache is filled at start, and there is no index on the queue: so one pass reads ids, times, groups,
sequences and leases of all queues, and `scan` hands each queue its part, once. A million messages must not take a
gigabyte meanwhile: columns are arrays (48 bytes a message), converted to `Stored` values one page at a time.

A part is valid as long as nothing has been written to its queue. The store drops it at the first write; scans then read
the table.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Collection, Iterator

from cqs import ids
from cqs.queue import GENERATION_BITS
from cqs.store.interface import Lease, Stored

PAGE = 1_000
_FETCH = 2_000


class Part:
    """One queue's messages in address order, as columns."""

    __slots__ = ("_groups", "_keys", "_leases", "_sent", "_sequences", "_tails", "_visible")

    def __init__(self) -> None:
        self._keys = array("q")
        self._tails = array("q")
        self._sequences = array("q")
        self._sent = array("q")
        self._visible = array("q")
        self._groups: list[str | None] = []
        self._leases: dict[int, tuple[int, int, int, int]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def last_sequence(self) -> int:
        return max(self._sequences, default=0)

    def add(self, key: int, tail: int, sequence: int, sent_ms: int | None, visible_ms: int, group: str | None) -> None:
        self._keys.append(key)
        self._tails.append(tail)
        self._sequences.append(sequence)
        self._sent.append(key >> ids.COUNTER_BITS if sent_ms is None else sent_ms)
        self._visible.append(visible_ms)
        self._groups.append(group)

    def add_lease(self, key: int, lease: tuple[int, int, int, int]) -> None:
        self._leases[key] = lease

    def pages(self) -> Iterator[list[Stored]]:
        for start in range(0, len(self._keys), PAGE):
            yield [self._stored(place) for place in range(start, min(start + PAGE, len(self._keys)))]

    def _stored(self, place: int) -> Stored:
        key = self._keys[place]
        address = ids.pack(key, self._tails[place])
        lease = self._leases.get(key)
        return Stored(
            address,
            self._sent[place],
            self._visible[place],
            self._groups[place],
            self._sequences[place],
            None if lease is None else Lease(address, *lease),
        )


class Inventory:
    """The result of `take`: `parts` by storage id of existing queues, and the storage ids that are `garbage`."""

    def __init__(self) -> None:
        self.parts: dict[int, Part] = {}
        self.garbage: set[int] = set()
        self.last_sequences: dict[int, int] = {}
        """Highest sequence of a stored message, by queue uid."""


def take(connection: sqlite3.Connection, living: Collection[int]) -> Inventory:
    """For a `Query`. Raises sqlite3.Error."""
    inventory = Inventory()
    parts = inventory.parts
    groups: dict[str, str] = {}
    cursor = connection.execute(
        "SELECT queue, m.id, tail, sequence, sent_ms, visible_ms, grp, hidden_until_ms, receive_count,"
        " first_receive_ms, receive_number FROM messages m LEFT JOIN leases l ON l.id = m.id ORDER BY m.id"
    )
    while found := cursor.fetchmany(_FETCH):
        for storage_id, key, tail, sequence, sent_ms, visible_ms, group, *lease in found:
            part = parts.get(storage_id)
            if part is None:
                if storage_id not in living:
                    inventory.garbage.add(storage_id)
                    continue
                part = parts[storage_id] = Part()
            part.add(key, tail, sequence, sent_ms, visible_ms, groups.setdefault(group, group) if group else group)
            if lease[0] is not None:
                part.add_lease(key, tuple(lease))
    for storage_id, part in parts.items():
        inventory.last_sequences[storage_id >> GENERATION_BITS] = part.last_sequence
    return inventory
