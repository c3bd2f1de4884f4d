"""Recently deleted addresses, so that a delete wins over a later append of the same address.

A send whose outcome was unknown is retried under the same address, and the retry may arrive after the message was
received and deleted. The row is gone by then, so only memory can tell. Two sets take turns: the young one fills up and
becomes the old one, and the previous old one is dropped; no order is kept and nothing is evicted one by one.
"""

from __future__ import annotations

from collections.abc import Iterable

TOMBSTONES_MAX = 65_536


class Tombstones:
    """A bounded set of addresses; remembers at least the last TOMBSTONES_MAX / 2. Belongs to one thread."""

    def __init__(self, count_max: int = TOMBSTONES_MAX) -> None:
        self._young_max = count_max // 2
        self._young: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, address: int) -> bool:
        return address in self._young or address in self._old

    def add(self, addresses: Iterable[int]) -> None:
        self._young.update(addresses)
        if len(self._young) >= self._young_max:
            self._young, self._old = set(), self._young
