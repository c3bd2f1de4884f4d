"""How many messages a queue holds, and refilling shards that a count finds lost.

    Redis restarts, or is flushed ──► every shard absent ──► queue in use: the next send or receive fills it
                                                        └──► idle queue: the next count finds it absent and fills it

Without this, the counts of an idle queue would stay 0, and an autoscaler that starts consumers by those counts would
start none: its messages would wait for ever. Shards are filled one after another, for a few seconds per count. Where
several data centres share the store, only shards known to be at home here are filled, since a fill moves a home.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from cqs.cache.counts import Counts
from cqs.cache.interface import Residency, Shard, Sight
from cqs.errors import CacheUnavailable, CqsError, OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.service import residency
from cqs.service.engine import Engine, shard_of

SPELL_S = 4.0
"""How long one run keeps starting fills. A stopping server waits for it."""
FAILURES_MAX = 3


async def counts(engine: Engine, queue: Queue) -> Counts:
    """How many messages are ready, in flight and delayed, according to the cache. If the cache has lost the queue, the
    counts are 0 until it is filled; the fill is started. Raises CacheUnavailable."""
    shard = shard_of(queue)
    (sight,) = await _sights(engine, [queue])
    if is_lost(engine, shard, sight.state.residency):
        refill(engine, [queue])
    return sight.counts


async def holding(engine: Engine, queues: Sequence[Queue]) -> list[Queue]:
    """The queues that hold messages in any state. Shards that the cache has lost are filled before they are counted; if
    that takes too long, the queue is assumed to hold some. Raises CacheUnavailable."""
    sights = await _sights(engine, queues)
    lost = [
        queue
        for queue, one in zip(queues, sights, strict=True)
        if is_lost(engine, shard_of(queue), one.state.residency)
    ]
    if lost:
        with suppress(CqsError):
            await _fill(engine, lost)
        sights = await _sights(engine, queues)
    return [queue for queue, one in zip(queues, sights, strict=True) if _may_hold(engine, queue, one)]


def _may_hold(engine: Engine, queue: Queue, sight: Sight) -> bool:
    counts, state = sight.counts, sight.state.residency
    is_unknown = state is Residency.INITIALIZING or is_lost(engine, shard_of(queue), state)
    return bool(is_unknown or counts.ready or counts.in_flight or counts.delayed)


async def _sights(engine: Engine, queues: Sequence[Queue]) -> list[Sight]:
    sights = await engine.cache.survey([shard_of(queue) for queue in queues])
    found = [sight for sight in sights if sight is not None]
    if len(found) < len(queues):
        raise CacheUnavailable("One of the cache servers does not answer.")
    return found


def is_lost(engine: Engine, shard: Shard, state: Residency) -> bool:
    """Whether a shard in this state should be in the cache; if so, its counts are meaningless."""
    homes = engine.cluster.homes
    return state is Residency.ABSENT and (homes is None or homes.is_known_here(shard))


def refill(engine: Engine, lost: Sequence[Queue]) -> None:
    """Fills them in the background, unless such a fill is under way already. A cache server with hardly any memory left
    is reserved for queues in use."""
    short = engine.cluster.short()
    wanted = [queue for queue in lost if engine.cluster.place(shard_of(queue)) not in short]
    if wanted:
        engine.background.start_in_turn("fill what the cache has lost", lambda: _fill(engine, wanted))


async def _fill(engine: Engine, lost: Sequence[Queue]) -> None:
    """A failed fill does not stop the others; after FAILURES_MAX failures the rest is left to the next count. Raises
    the last error then."""
    now_s = asyncio.get_running_loop().time
    begun_s, failures = now_s(), 0
    for queue in lost:
        if now_s() - begun_s >= SPELL_S:
            return
        try:
            await residency.fill(engine, queue)
        except (CacheUnavailable, StoreUnavailable, OutcomeUnknown):
            failures += 1
            if failures == FAILURES_MAX:
                raise
