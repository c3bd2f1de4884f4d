"""The worker that makes due messages ready again and wakes the receives that wait for them.

The CQS paper scans the whole hidden hash, O(h). Here the cache's `vesting` index names the shards with due work, so
`reveal` costs only what is due, and idle queues cost nothing.

A node with peers leaves alone a shard whose queue it does not know. The queue may be new:

    node A                                 cache                       node B
    ──────                                 ─────                       ──────
    creates the queue, sends, receives     m in flight
                                           m is due ─────────────────► does not know the queue: if it dropped the
    B learns of it a beat later                                        shard, m would come back without its lease
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
"""The bounds of a pause; a due message is late by at most the upper one."""

_log = structlog.get_logger("cqs.revisibility")


async def run(engine: Engine, pause: Pause = pause_ms) -> None:
    """Runs for ever, step by step, with pauses until the next work is due. Survives an unavailable cache; logs when
    that begins and ends."""
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
    """Reveals what is due in up to SHARDS_MAX shards, MESSAGES_MAX each; True if there may be more. If that fails for a
    shard, raises CacheUnavailable once the others are done, since they are leased to this node."""
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
    """Applies these settings to existing messages and receives: a FIFO queue's delay, retention, waiting receives.
    Idempotent."""
    is_delay_new = queue.settings.is_fifo and "delay_ms" in fields
    if is_delay_new:
        await engine.cache.redelay(shard_of(queue), queue.settings.delay_ms)
    if is_delay_new or "retention_ms" in fields:
        with contextlib.suppress(CacheUnavailable):
            await reveal(engine, shard_of(queue))
    engine.waiters.wake_all(queue.uid)


async def reveal(engine: Engine, shard: Shard) -> bool:
    """Reveals what is due in the shard and applies the queue's current retention; True if there may be more. Raises
    CacheUnavailable."""
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
