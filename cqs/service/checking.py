"""Checks messages taken from the cache against the store before they are handed out, while the cache may be out of
date.

    node A, cut off from the cache                    node B, or A itself when the cache is back
    ──────────────────────────────                    ─────────────────────────────────────────
    deletes m: the cache still has it ready           takes m ── the store has no m ──► removed, not handed out
    hands n out from the store, for 30 s              takes n ── n is leased ──► hidden until that lease ends

Outages mark the shard (`cqs.service.marking`). If there is no mark and this node has checked the marks a moment ago,
the only cost is a lookup among the messages that this node itself has handed out.
"""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.interface import Received
from cqs.errors import CacheUnavailable, CqsError
from cqs.queue import Queue
from cqs.service import confirm, deliver, marking
from cqs.service.engine import Engine, shard_of
from cqs.store.interface import Lease


async def checked(engine: Engine, queue: Queue, received: list[Received], attempt_id: str) -> list[Received]:
    """Those of the messages just taken that exist and that nobody else holds. Raises StoreUnavailable, OutcomeUnknown.
    On these errors, and if the cache does not answer, all are given back."""
    shard, now_ms = shard_of(queue), engine.clock.now_ms()
    held = engine.fallback.living(shard, now_ms)
    is_marked = marking.is_doubted(engine, shard)
    if not received or not (held or is_marked):
        return received
    try:
        gone, leased = await _told(engine, queue, received, now_ms) if is_marked else (set[int](), dict[int, Lease]())
        leased = {**held, **leased}
        others = [one for one in received if one.address not in gone and _is_anothers(one, leased.get(one.address))]
        for one in others:
            await engine.cache.hide(shard, one.ticket, leased[one.address].hidden_until_ms)
    except CqsError as error:
        await deliver.give_back(engine, queue, received, attempt_id)
        if isinstance(error, CacheUnavailable):
            return []
        raise
    if gone:
        await confirm.remove(engine, queue, sorted(gone))
    passed_over = gone | {one.address for one in others}
    return [one for one in received if one.address not in passed_over]


async def _told(
    engine: Engine, queue: Queue, received: Sequence[Received], now_ms: int
) -> tuple[set[int], dict[int, Lease]]:
    """The addresses that the store does not have, and the unexpired leases that it has."""
    addresses = [one.address for one in received]
    present = {message.address for message in await engine.store.read(queue, addresses)}
    leases = await engine.store.leases(queue, addresses)
    living = {lease.address: lease for lease in leases if lease is not None and lease.hidden_until_ms > now_ms}
    return set(addresses) - present, living


def _is_anothers(one: Received, lease: Lease | None) -> bool:
    return lease is not None and lease.receive_number != one.receive_number
