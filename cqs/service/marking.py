"""Dirty marks: that a cache did not confirm something to one node, told to all nodes, for as long as it matters.

    node A                                 store                         node B
    ──────                                 ─────                         ──────
    store.delete(m) ═════════════════════► gone
    cache.remove(m) … no answer
    mark(shard, m …) ════════════════════► marked ── each BEAT_MS ─────► checks what it takes of the shard with the
    answers its client                                                   store: m is gone, so B removes it
    … m2, m3: covered, nothing written
    the cache answers: repair m, m2, m3
    nothing of it is in its hands ───────► mark removed ───────────────► believes the cache again
    dies before that                                                     a leader drops the shard, which is filled anew

One mark a node, shard and outage: it covers the addresses of the next COVER_MS at once, and all old ones when an old
one is concerned, so an outage costs a write or two and not one a message. It stands until nothing is dirty and no
message that this node handed out from the store is hidden any more: other takers find such messages ready in the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import structlog

from cqs import ids
from cqs.cache.interface import Shard
from cqs.errors import CqsError
from cqs.service.engine import Engine, shard_of
from cqs.store.coordination import DirtyMark

COVER_MS = 600_000
FRESH_S = 2.0
"""FIFO messages are handed out by nodes that looked at the marks within this time."""
_log = structlog.get_logger("cqs.marks")


async def unconfirmed(engine: Engine, shard: Shard, addresses: Sequence[int]) -> None:
    """The cache's answer about these is missing. Never raises: the client's success stands, and a mark that could not
    be written is written later."""
    engine.dirt.note(shard, addresses)
    if engine.cluster.is_alone:
        return
    try:
        await _cover(engine, shard, addresses)
    except CqsError as error:
        _log.warning("mark_postponed", reason=str(error))


async def step(engine: Engine) -> None:
    """One look at all marks, and what follows from it. Raises StoreUnavailable, OutcomeUnknown."""
    await _write_missing(engine)
    await _remove_done(engine)
    marks, me = engine.marks, engine.cluster.membership.me
    began_s = engine.cluster.leadership.now_s
    found = await engine.cluster.coordination.dirty_marks()
    marks.read_s = began_s
    marks.foreign = {}
    for mark in found:
        if mark.node != me.name or mark.since_ms < me.started_ms:
            marks.foreign.setdefault((mark.storage_id, mark.shard), []).append(mark)
    if engine.cluster.tending.is_held:
        await _take_over(engine, [mark for those in marks.foreign.values() for mark in those])


async def _cover(engine: Engine, shard: Shard, addresses: Iterable[int]) -> None:
    marks, low, high = engine.marks, min(addresses), max(addresses)
    if marks.covers(shard, low, high):
        return
    async with marks.writing:
        if marks.covers(shard, low, high):
            return
        known, now_ms = marks.own.get(shard), engine.clock.now_ms()
        mark = DirtyMark(
            storage_id=shard.storage_id,
            shard=shard.number,
            node=engine.cluster.name,
            since_ms=known.since_ms if known is not None else now_ms,
            low_address=low if known is None else 0,
            high_address=max(high, ids.first_at(now_ms + COVER_MS)),
        )
        await engine.cluster.coordination.mark_dirty(mark)
        marks.own[shard] = mark
        marks.known_s.setdefault(shard, engine.cluster.leadership.now_s + FRESH_S)


async def _write_missing(engine: Engine) -> None:
    for shard in engine.dirt.shards():
        if shard not in engine.marks.own and engine.registry.of_storage(shard.storage_id) is not None:
            await _cover(engine, shard, (0, 0))


async def _remove_done(engine: Engine) -> None:
    now_ms = engine.clock.now_ms()
    for shard, mark in list(engine.marks.own.items()):
        if not engine.dirt.is_on(shard) and not engine.fallback.living(shard, now_ms):
            del engine.marks.own[shard]
            engine.marks.known_s.pop(shard, None)
            await engine.cluster.coordination.repaired(mark)


async def _take_over(engine: Engine, marks: Iterable[DirtyMark]) -> None:
    """What the dead did not repair: the store is the truth, so their shards are filled anew."""
    membership, homes = engine.cluster.membership, engine.cluster.homes
    for mark in marks:
        if homes is not None and not homes.is_over(mark):
            continue
        if not membership.is_of_the_dead(mark.node, mark.since_ms):
            continue
        queue = engine.registry.of_storage(mark.storage_id)
        if queue is not None:
            try:
                await engine.cache.drop(shard_of(queue))
            except CqsError as error:
                _log.info("take_over_postponed", queue=queue.name, reason=str(error))
                continue
            _log.warning("shard_of_a_dead_node_dropped_to_be_filled", queue=queue.name, node=mark.node)
        await engine.cluster.coordination.repaired(mark)
