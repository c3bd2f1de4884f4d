"""What this node has handed out directly from the store while the cache could not serve (see
`cqs.service.fallback`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from cqs.cache.interface import Shard
from cqs.receipt import first_receive_number
from cqs.store.interface import Lease

_CHANCE_BITS = 20
"""Half of the receive numbers of one second; see `cqs.receipt`."""


class Handed:
    """Per shard: address → lease. Holds only messages that are currently hidden."""

    def __init__(self) -> None:
        self._by_shard: dict[Shard, dict[int, Lease]] = {}
        self._number = 0

    def next_number(self, now_ms: int, rng: random.Random) -> int:
        """A receive number above those of earlier fills, and very unlikely to equal another node's."""
        self._number = max(self._number + 1, first_receive_number(now_ms) + rng.getrandbits(_CHANCE_BITS))
        return self._number

    def living(self, shard: Shard, now_ms: int) -> dict[int, Lease]:
        """The unexpired leases; expired ones are dropped."""
        held = self._by_shard.get(shard)
        if held is None:
            return {}
        for address in [address for address, lease in held.items() if lease.hidden_until_ms <= now_ms]:
            del held[address]
        if not held:
            del self._by_shard[shard]
        return held

    def note(self, shard: Shard, lease: Lease) -> None:
        self._by_shard.setdefault(shard, {})[lease.address] = lease

    def forget(self, shard: Shard, addresses: Sequence[int]) -> None:
        held = self._by_shard.get(shard)
        if held is not None:
            for address in addresses:
                held.pop(address, None)
