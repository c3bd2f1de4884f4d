"""Which server holds a key: rendezvous hashing. Nodes that know the same servers give the same answer without
coordination.

Each server draws a number from the key, and the highest wins. So a new server takes a share of each other server's
keys, and a removed one leaves each of the others a share of its own; all other keys stay where they are. With n servers
of equal weight, adding one moves 1/(n + 1) of the keys, all of them to the new one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from hashlib import blake2b

_BITS = 53


class Ring:
    """Servers by name, each with a weight above 0: one of weight 2 gets twice as many keys as one of weight 1."""

    __slots__ = ("_servers",)

    def __init__(self, weights: Mapping[str, float]) -> None:
        if not weights or min(weights.values()) <= 0:
            raise ValueError("a ring needs servers, each with a weight above 0")
        self._servers = [(name, name.encode(), weight) for name, weight in sorted(weights.items())]

    def owner(self, key: bytes) -> str:
        """The name of the server that holds the key."""
        if len(self._servers) == 1:
            return self._servers[0][0]
        return max(self._servers, key=lambda server: _score(server[1], server[2], key))[0]


def _score(name: bytes, weight: float, key: bytes) -> float:
    """weight / -ln(u) with u uniform in (0, 1): the probability that a server has the highest score is its share of the
    total weight."""
    drawn = int.from_bytes(blake2b(key, digest_size=8, key=blake2b(name, digest_size=32).digest()).digest(), "big")
    uniform = ((drawn >> (64 - _BITS)) + 0.5) / (1 << _BITS)
    return weight / -math.log(uniform)
