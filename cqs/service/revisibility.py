"""The worker that makes due messages ready again and wakes whoever waits for them.

The CQS paper walks the whole hidden hash, O(h). Here the cache's `vesting` index names the shards that have work now,
and `reveal` costs what is due; idle queues cost nothing.

A shard of a queue that this node does not know is left alone where there are other nodes. It may be a new one:

    node A                                 cache                       node B
    ──────                                 ─────                       ──────
    creates the queue, sends, receives     m in flight
                                           m is due ─────────────────► does not know the queue: dropped, m would come
    hears the news, a beat later                                       without its lease, from the store
"""

from __future__ import annotations

import contextlib
from collections.abc import Container

import structlog

from cqs.cache.interface import Shard
from cqs.errors import CacheUnavailable, CqsError
from cqs.queue import Queue
from cqs.service import expiry
from cqs.service.engine import Engine, shard_of
from cqs.service.retry import Pause, pause_ms

SHARDS_MAX, MESSAGES_MAX = 100, 1_000
PAUSE_MIN_MS, PAUSE_MAX_MS = 5, 50
"""The bounds of a pause: a due message is late by at most the upper one."""

_log = structlog.get_logger("cqs.revisibility")


async def run(engine: Engine, pause: Pause = pause_ms) -> None:
    """For ever: one step after the other, with pauses until the next work is due. Survives an unavailable cache, of
    which it tells when that begins and when it is over."""
    is_failing = False
    while True:
        try:
            is_more = await step(engine)
            next_ms = await engine.cache.next_vesting_ms()
            if is_failing:
                _log.info("revisibility_resumed")
            is_failing = False
        except CqsError as error:
            if not is_failing:
                _log.warning("revisibility_failed", reason=str(error))
            is_failing, is_more, next_ms = True, False, None
        left_ms = PAUSE_MAX_MS if next_ms is None else next_ms - engine.clock.now_ms()
        await pause(0 if is_more else min(max(left_ms, PAUSE_MIN_MS), PAUSE_MAX_MS))
        if next_ms is not None and next_ms <= engine.clock.now_ms():
            engine.metrics.due_lag.observe((engine.clock.now_ms() - next_ms) * 1_000_000)


async def step(engine: Engine) -> bool:
    """Reveals what is due in up to SHARDS_MAX shards, MESSAGES_MAX each; True when there may be more. Raises
    CacheUnavailable when that failed for a shard, once all others had their turn: they are leased to this node."""
    shards = await engine.cache.vesting(SHARDS_MAX)
    is_more, failure = len(shards) == SHARDS_MAX, None
    for shard in shards:
        try:
            is_more |= await reveal(engine, shard)
        except CacheUnavailable as error:
            failure = error
    if failure is not None:
        raise failure
    return is_more


async def settle(engine: Engine, queue: Queue, fields: Container[str]) -> None:
    """Lets these settings rule for what is there: a FIFO queue's delay, retention, waiting receives. Idempotent."""
    is_delay_new = queue.settings.is_fifo and "delay_ms" in fields
    if is_delay_new:
        await engine.cache.redelay(shard_of(queue), queue.settings.delay_ms)
    if is_delay_new or "retention_ms" in fields:
        with contextlib.suppress(CacheUnavailable):
            await reveal(engine, shard_of(queue))
    engine.waiters.wake_all(queue.uid)


async def reveal(engine: Engine, shard: Shard) -> bool:
    """Reveals what is due in the shard, and lets the queue's present retention rule there; True when there may be more.
    Raises CacheUnavailable."""
    queue = engine.registry.of_storage(shard.storage_id)
    if queue is None:
        if engine.cluster.is_alone:
            await engine.cache.drop(shard)
        return False
    revealed = await engine.cache.reveal(shard, queue.settings.retention_ms, MESSAGES_MAX)
    freed = revealed.visible + (len(revealed.expired) if queue.settings.is_fifo else 0)
    if freed:
        engine.waiters.wake(queue.uid, freed)
    if revealed.visible:
        engine.witness.revealed(queue, revealed.visible)
    expiry.start(engine, queue, revealed.expired)
    return revealed.visible + len(revealed.expired) >= MESSAGES_MAX
