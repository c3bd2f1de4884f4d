"""Dirty marks. A mark tells all nodes that a cache did not confirm something to one node, for as long as that matters.

    node A                                 store                         node B
    ──────                                 ─────                         ──────
    store.delete(m) ═════════════════════► gone
    cache.remove(m) … no answer
    mark(shard, m …) ════════════════════► marked ── each BEAT_MS ─────► checks what it takes of the shard with the
    answers its client                                                   store: m is gone, so B removes it
    … m2, m3: covered, nothing written
    the cache answers: repair m, m2, m3
    holds no message of the shard ───────► mark removed ───────────────► trusts the cache again
    dies before that                                                     a leader drops the shard, which is refilled

B trusts the cache until it has read the mark. So a delete is acknowledged only when every node knows:

    node A                                 node B
    ──────                                 ──────
    deletes m, handed out by A             reads the marks at r
    mark ════════════════════════════════► takes m from the cache unchecked until r + FRESH_S, and no longer:
    waits FRESH_S from here on             its last read is older by then, or it has seen this mark,
    answers its client                     and either way B checks m with the store: m is gone

At most the first delete of an outage waits. A node that serves from the store because the cache is unreachable makes
its mark known first (`is_known`) and answers empty until then; otherwise B would hand out the same messages.

A frozen node may have been declared dead and its mark removed. So a node relies on its mark only if it has read the
marks within LATE_S, which is sooner than anybody can declare it dead; a mark that is gone is written again:

    node A                                 store                         node B
    ──────                                 ─────                         ──────
    mark ════════════════════════════════► marked
    frozen …                                                             A is dead: drops the shard, removes the mark
    wakes, deletes m: "covered"                                          m … trusts the cache: m is handed out
                                           without the read

There is one mark per node, shard and outage. It covers the addresses of the next COVER_MS, and all old ones once it is
widened, so an outage costs a write or two instead of one per message. It stands until nothing is dirty and no message
that this node handed out from the store is hidden any more, since other takers find such messages ready in the cache.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

import structlog

from cqs import ids
from cqs.cache.interface import Shard
from cqs.errors import CqsError
from cqs.service.engine import Engine, shard_of
from cqs.service.marks import Marks
from cqs.service.membership import LIFE_MS
from cqs.service.retry import Pause, pause_ms
from cqs.store.coordination import DirtyMark

COVER_MS = 600_000
FRESH_S = 1.0
"""A node trusts the cache only if it has read the marks within this time."""
LATE_S = LIFE_MS / 1_000 - 1
LOOK_S = 0.25
"""Pause between two reads of the marks; longer if the last read took longer."""
LINGER_S = 3.0
"""How long a mark stays after the last receive served from the store under it, even if nothing else needs it."""
_log = structlog.get_logger("cqs.marks")


async def unconfirmed(engine: Engine, shard: Shard, addresses: Sequence[int]) -> None:
    """The cache did not confirm these addresses. Never raises: the client's success stands, and a mark that can't be
    written now is written later."""
    engine.dirt.note(shard, addresses)
    if engine.cluster.is_alone:
        return
    try:
        await _cover(engine, shard, addresses)
    except CqsError as error:
        _log.warning("mark_postponed", reason=str(error))


def is_doubted(engine: Engine, shard: Shard) -> bool:
    """Whether messages taken from the shard's cache must be checked against the store: it is marked, or may be."""
    if engine.cluster.is_alone:
        return False
    marks = engine.marks
    now_s = engine.cluster.leadership.now_s
    return marks.is_on(shard) or now_s - marks.read_s >= FRESH_S or now_s - marks.beaten_s >= LATE_S


async def is_known(engine: Engine, shard: Shard) -> bool:
    """Whether every node checks this shard's cache against the store, so that this node may serve it from the store. If
    not, marks the shard; all nodes will know some time later. Raises StoreUnavailable, OutcomeUnknown."""
    if engine.cluster.is_alone:
        return True
    await _look_if_late(engine)
    if shard not in engine.marks.own:
        await _cover(engine, shard, (0, 0))
    now_s = engine.marks.used_s[shard] = engine.cluster.leadership.now_s
    return engine.marks.known_s.get(shard, now_s) <= now_s


async def make_known(engine: Engine, shard: Shard) -> None:
    """Returns when every node checks this shard's cache against the store. Raises StoreUnavailable, OutcomeUnknown."""
    if not await is_known(engine, shard):
        await settle(engine, shard)


async def settle(engine: Engine, shard: Shard) -> None:
    """Returns when every node knows of this node's mark, if there is one."""
    known_s = engine.marks.known_s.get(shard)
    if known_s is not None:
        left_s = known_s - engine.cluster.leadership.now_s
        if left_s > 0:
            await pause_ms(round(left_s * 1_000))


async def run(engine: Engine, pause: Pause = pause_ms) -> None:
    """Reads the marks for ever; returns at once on a node that is alone. The heartbeat reports an unreachable store;
    until it returns, everything taken must be checked with it, so nothing is handed out."""
    while not engine.cluster.is_alone:
        began_s = engine.cluster.leadership.now_s
        with contextlib.suppress(CqsError):
            await look(engine)
        took_s = engine.cluster.leadership.now_s - began_s
        await pause(round(max(LOOK_S, took_s) * 1_000))


async def look(engine: Engine) -> None:
    """Reads all marks once. Raises StoreUnavailable, OutcomeUnknown."""
    marks, me = engine.marks, engine.cluster.membership.me
    began_s = engine.cluster.leadership.now_s
    found = await engine.cluster.coordination.dirty_marks()
    if began_s < marks.read_s:
        return
    marks.read_s = began_s
    marks.foreign = {}
    standing = {_key_of(mark) for mark in found if mark.node == me.life}
    for shard, own in list(marks.own.items()):
        is_old = began_s >= marks.known_s[shard] - FRESH_S
        if is_old and _key_of(own) not in standing:
            _forget(marks, shard)
    own_keys = _own_keys(marks)
    marks.strays = [mark for mark in found if mark.node == me.life and _key_of(mark) not in own_keys]
    for mark in found:
        if mark.node != me.life:
            marks.foreign.setdefault((mark.storage_id, mark.shard), []).append(mark)


async def step(engine: Engine) -> None:
    """Reads all marks once, and acts on them. Raises StoreUnavailable, OutcomeUnknown."""
    await _write_missing(engine)
    await remove_done(engine)
    await look(engine)
    await _remove_strays(engine)
    if engine.cluster.tending.is_held:
        await _take_over(engine, [mark for those in engine.marks.foreign.values() for mark in those])


async def _remove_strays(engine: Engine) -> None:
    """A mark of this run that this node does not know of would make all others doubt the shard until the run ends. No
    mark is written meanwhile."""
    marks = engine.marks
    if marks.strays:
        async with marks.writing:
            own_keys = _own_keys(marks)
            for mark in marks.strays:
                if _key_of(mark) not in own_keys:
                    await engine.cluster.coordination.repaired(mark)


def _own_keys(marks: Marks) -> set[tuple[int, int, int]]:
    return {_key_of(mark) for mark in marks.own.values()}


def _key_of(mark: DirtyMark) -> tuple[int, int, int]:
    """Unique within one run of a node."""
    return mark.storage_id, mark.shard, mark.since_ms


async def remove_done(engine: Engine, *, is_end: bool = False) -> None:
    """Removes this node's marks that are no longer needed. `is_end`: it stops serving. Raises StoreUnavailable,
    OutcomeUnknown."""
    now_ms, marks = engine.clock.now_ms(), engine.marks
    idle_s = engine.cluster.leadership.now_s - (0 if is_end else LINGER_S)
    for shard, mark in list(marks.own.items()):
        is_used = engine.dirt.is_on(shard) or engine.fallback.living(shard, now_ms)
        if not is_used and marks.used_s.get(shard, idle_s) <= idle_s:
            _forget(marks, shard)
            await engine.cluster.coordination.repaired(mark)


async def _cover(engine: Engine, shard: Shard, addresses: Iterable[int]) -> None:
    marks, low, high = engine.marks, min(addresses), max(addresses)
    await _look_if_late(engine)
    if marks.covers(shard, low, high):
        return
    async with marks.writing:
        if marks.covers(shard, low, high):
            return
        known, now_ms = marks.own.get(shard), engine.clock.now_ms()
        mark = DirtyMark(
            storage_id=shard.storage_id,
            shard=shard.number,
            node=engine.cluster.membership.me.life,
            since_ms=known.since_ms if known is not None else now_ms,
            low_address=low if known is None else 0,
            high_address=max(high, ids.first_at(now_ms + COVER_MS)),
        )
        await engine.cluster.coordination.mark_dirty(mark)
        marks.own[shard] = mark
        marks.known_s.setdefault(shard, engine.cluster.leadership.now_s + FRESH_S)


async def _look_if_late(engine: Engine) -> None:
    """A node that has not read the marks for a while may have been declared dead, and its marks removed."""
    marks, leadership = engine.marks, engine.cluster.leadership
    if leadership.now_s - marks.read_s >= LATE_S:
        async with marks.looking:
            if leadership.now_s - marks.read_s >= LATE_S:
                await look(engine)


def _forget(marks: Marks, shard: Shard) -> None:
    for known in (marks.own, marks.known_s, marks.used_s):
        known.pop(shard, None)


async def _write_missing(engine: Engine) -> None:
    for shard in engine.dirt.shards():
        if shard not in engine.marks.own and engine.registry.of_storage(shard.storage_id) is not None:
            await _cover(engine, shard, (0, 0))


async def _take_over(engine: Engine, marks: Iterable[DirtyMark]) -> None:
    """Dead nodes left these shards unrepaired. The store is the source of truth, so they are dropped and refilled."""
    membership, homes = engine.cluster.membership, engine.cluster.homes
    for mark in marks:
        if homes is not None and not homes.is_over(mark):
            continue
        if not membership.is_of_the_dead(mark.node):
            continue
        queue = engine.registry.of_storage(mark.storage_id)
        if queue is not None:
            try:
                await engine.cache.drop(shard_of(queue))
            except CqsError as error:
                _log.info("take_over_postponed", queue=queue.name, reason=str(error))
                continue
            _log.warning("shard_of_a_dead_node_dropped_to_be_filled", queue=queue.name, life=mark.node)
        await engine.cluster.coordination.repaired(mark)
