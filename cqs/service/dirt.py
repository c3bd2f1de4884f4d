"""Addresses that the cache did not confirm, by shard: their state in the cache is unknown.

    store: appended ══ the client has its success ══► cache.put …  no answer   ┐
    store: deleted  ══ the client has its success ══► cache.remove … no answer ┴─► dirt ──► `cqs.service.repair`

While a shard is dirty, this node serves the queue from the store: the cache may still hold deleted messages or lack
sent ones. (A Redis that was cut off but not restarted reports "ready" all the while; the first CQS lost messages that
way.) Repair reads exactly these addresses from the store and corrects the cache. Beyond ADDRESSES_MAX the whole shard
counts as dirty and is refilled.

Notes are numbered, since an address may become dirty again while it is being repaired:

    repair                              a consumer
    ──────                              ──────────
    store: m is there
    cache.put(m) ══ done
                                        deletes m: store.delete ══ done, cache.remove … no answer: noted again
    m is clean                          without the numbers, m would be handed out for ever
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cqs.cache.interface import Shard

ADDRESSES_MAX = 100_000


class _Note(NamedTuple):
    number: int
    """The number of the address's last note. Anything read before that note does not clean it."""
    telling: int
    """The number of the announcement that named it to other nodes; 0 = none."""
    told_s: float = 0.0
    """When it was announced."""


class Dirt:
    """Belongs to one event loop. Kept in memory only: a restarted node fills its shards from the store."""

    def __init__(self) -> None:
        self._by_shard: dict[Shard, dict[int, _Note]] = {}
        self._last: dict[Shard, int] = {}
        """The number of each dirty shard's last note."""
        self._whole: set[Shard] = set()
        self._tellings = 0
        self.stand = 0
        """How many notes have been made. A repair reads this before it starts; later notes stay dirty."""

    def __len__(self) -> int:
        """How many shards are dirty."""
        return len(self._by_shard)

    def is_on(self, shard: Shard) -> bool:
        return shard in self._by_shard

    def is_whole(self, shard: Shard) -> bool:
        """Whether it has too many dirty addresses to be repaired one by one."""
        return shard in self._whole

    def has(self, shard: Shard, addresses: Iterable[int]) -> bool:
        """Whether the cache may be wrong about one of these."""
        held = self._by_shard.get(shard, {})
        return shard in self._whole or any(address in held for address in addresses)

    def note(self, shard: Shard, addresses: Iterable[int]) -> None:
        """The cache did not confirm these addresses."""
        self.stand = self._last[shard] = self.stand + 1
        held = self._by_shard.setdefault(shard, {})
        if shard not in self._whole:
            held.update(dict.fromkeys(addresses, _Note(self.stand, 0)))
            if len(held) > ADDRESSES_MAX:
                self._whole.add(shard)
                held.clear()

    def shards(self) -> list[Shard]:
        return list(self._by_shard)

    def some(self, shard: Shard, limit: int) -> list[int]:
        """Up to `limit` of the shard's dirty addresses."""
        return [address for address, _ in zip(self._by_shard.get(shard, ()), range(limit), strict=False)]

    def tell(self, shard: Shard, limit: int, now_s: float, again_s: float) -> tuple[int, list[int]]:
        """Up to `limit` of the shard's dirty addresses that have not been announced within `again_s`, and the number of
        this announcement."""
        held = self._by_shard.get(shard, {})
        due = [at for at, note in held.items() if not note.telling or now_s - note.told_s >= again_s][:limit]
        self._tellings += 1
        held.update({at: held[at]._replace(telling=self._tellings, told_s=now_s) for at in due})
        return self._tellings, due

    def confirm(self, shard: Shard, number: int) -> None:
        """The addresses of this announcement are correct in the cache, except those that became dirty again since."""
        held = self._by_shard.get(shard, {})
        self.clean(shard, [address for address, note in held.items() if note.telling == number], self.stand)

    def clean(self, shard: Shard, addresses: Sequence[int], stand: int) -> None:
        """These addresses are correct in the cache as of this `stand`; those noted later stay dirty. The shard is clean
        when its last address is."""
        held = self._by_shard.get(shard)
        if held is None:
            return
        for address in addresses:
            if address in held and held[address].number <= stand:
                del held[address]
        if not held and shard not in self._whole:
            self._forget(shard)

    def forget(self, shard: Shard, stand: int) -> None:
        """The shard was absent from the cache as of this `stand`, so its next fill reads the store. It stays dirty if
        anything was noted since."""
        if self._last.get(shard, 0) <= stand:
            self._forget(shard)

    def _forget(self, shard: Shard) -> None:
        self._by_shard.pop(shard, None)
        self._last.pop(shard, None)
        self._whole.discard(shard)
