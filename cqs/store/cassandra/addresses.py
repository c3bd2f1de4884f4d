"""A message's address as the columns of its row, and the write timestamps (stamps) of its statements.

    queue_id, row  │  at = milliseconds (42), counter (20)  │  incarnation (50)
    partition key  │  clustering, in order of time          │  clustering

    INSERT … USING TIMESTAMP t        DELETE … USING TIMESTAMP t + 1        t = the address's time in microseconds

So the writes of a message are ordered by their meaning, not by when they arrive.
"""

from __future__ import annotations

from collections.abc import Iterable

from cqs import ids
from cqs.limits import RETENTION_S_MAX

INCARNATION_MASK = (1 << ids.INCARNATION_BITS) - 1
END_AT = 1 << 62
"""Greater than any `at`."""
FAR_STAMP = 1 << 62
"""Greater than any stamp: for partitions that nobody will ever write to again."""
TTL_S_MIN = 60

Place = tuple[int, int]
"""(at, incarnation)"""


def place_of(address: int) -> Place:
    return ids.key_of(address), address & INCARNATION_MASK


def address_of(row: int, at: int, incarnation: int) -> int:
    return ids.pack(at, row << ids.INCARNATION_BITS | incarnation)


def at_of_ms(ms: int) -> int:
    """The lowest `at` of this millisecond; 0 for times before 1970."""
    return max(0, ms) << ids.COUNTER_BITS


def stamp_of(address: int) -> int:
    """The insert's stamp; the delete's is one more."""
    return ids.ms_of(address) * 1_000


def ttl_s_of(address: int, now_ms: int) -> int:
    """Seconds until the address is older than any retention."""
    return max(TTL_S_MIN, min(RETENTION_S_MAX, RETENTION_S_MAX - (now_ms - ids.ms_of(address)) // 1_000))


def by_row(addresses: Iterable[int]) -> dict[int, list[int]]:
    """The addresses, grouped by row."""
    rows: dict[int, list[int]] = {}
    for address in addresses:
        rows.setdefault(ids.row_of(address), []).append(address)
    return rows
