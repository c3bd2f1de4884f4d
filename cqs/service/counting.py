"""How many messages a queue holds, and filling what is found lost by it.

    Redis restarts, or is flushed ──► every shard absent ──► whoever sends or receives has its queue filled
                                                        └──► nobody does: seen absent when it is counted, and filled

Without it the counts of such a queue would be 0 for as long as nobody uses it, and who starts consumers by its counts
would start none: what is in the store would wait for ever. One after another, for a few seconds, and again at the next
count; where several data centres share the store only what is known to be at home here, since a fill draws a home.
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
"""How long fills begin in a row: a server that ends waits for it."""
FAILURES_MAX = 3


async def counts(engine: Engine, queue: Queue) -> Counts:
    """How many messages are ready, in flight and delayed, as the cache knows. When it has lost the queue, it knows of
    none until it is filled, which begins. Raises CacheUnavailable."""
    shard = shard_of(queue)
    (sight,) = await _sights(engine, [queue])
    if is_lost(engine, shard, sight.state.residency):
        refill(engine, [queue])
    return sight.counts


async def holding(engine: Engine, queues: Sequence[Queue]) -> list[Queue]:
    """Those that hold messages in whatever state. What the cache has lost is filled before it is counted, or, when that
    takes too long, may hold some. Raises CacheUnavailable."""
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
    """Whether a shard in this state should be in the cache: its counts are no counts then."""
    homes = engine.cluster.homes
    return state is Residency.ABSENT and (homes is None or homes.is_known_here(shard))


def refill(engine: Engine, lost: Sequence[Queue]) -> None:
    """Fills them in the background, unless some are being filled so. A cache server that has hardly any room is left to
    the queues that are used."""
    short = engine.cluster.short()
    wanted = [queue for queue in lost if engine.cluster.place(shard_of(queue)) not in short]
    if wanted:
        engine.background.start_in_turn("fill what the cache has lost", lambda: _fill(engine, wanted))


async def _fill(engine: Engine, lost: Sequence[Queue]) -> None:
    """One that fails does not hold up the others; after FAILURES_MAX it is left to the next count. Raises what the last
    one raised."""
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
