"""Deduplication windows under a clock that is set back: they last five minutes, and are then forgotten."""

from __future__ import annotations

from collections.abc import Sequence

from cqs import limits
from cqs.queue import Queue
from cqs.store.claims import Claims
from cqs.store.interface import Wanted
from cqs.store.windows import Held
from cqs.testing.clock import ManualClock

DAY_MS = 86_400_000
WINDOW_MS = limits.DEDUP_WINDOW_MS
QUEUE = Queue(account="1", name="orders.fifo", region="r", uid=7, created_ms=0, modified_ms=0)


async def nothing(_: int, __: Sequence[int]) -> set[int]:
    return set()


async def is_new(claims: Claims, dedup_id: str, address: int) -> bool:
    """Sends one message, and forgets what has expired, like a store."""
    claims.pop_expired()
    (claim,) = await claims.claim(QUEUE, [Wanted("", dedup_id, address)], WINDOW_MS)
    claims.confirm([address])
    return claim.is_new


async def test_a_window_keeps_the_time_that_it_had_left() -> None:
    clock = ManualClock()
    claims = Claims(clock, nothing)
    assert await is_new(claims, "d", 1)
    clock.advance_ms(WINDOW_MS - 10)
    assert not await is_new(claims, "d", 2)

    clock.advance_ms(-DAY_MS)
    assert not await is_new(claims, "d", 3)
    clock.advance_ms(9)
    assert not await is_new(claims, "d", 4)
    clock.advance_ms(1)
    assert await is_new(claims, "d", 5)


async def test_a_window_read_from_the_store_ends_after_five_minutes() -> None:
    clock = ManualClock()
    claims = Claims(clock, nothing)
    claims.load((QUEUE.storage_id, "", "d"), Held(1, 1, clock.now_ms() + DAY_MS))

    clock.advance_ms(WINDOW_MS - 1)
    assert not await is_new(claims, "d", 2)
    clock.advance_ms(1)
    assert await is_new(claims, "d", 3)


async def test_windows_from_before_do_not_keep_later_ones_in_memory() -> None:
    clock = ManualClock()
    claims = Claims(clock, nothing)
    await is_new(claims, "before", 1)
    clock.advance_ms(-DAY_MS)

    for address in range(2, 12):
        await is_new(claims, "after", address)
        clock.advance_ms(WINDOW_MS)
    claims.pop_expired()

    assert len(claims) == 0
