"""Q.STATE: whether a queue's messages are in the cache.

    absent ──begin_fill──► Initializing ──last page──► ready
       ▲                                                 │
       └───────────────── drop (purged, deleted) ◄───────┘

Filling reads ids, times and leases from the store, never bodies: those are read when a message is received. Leases keep
what was in flight hidden until its own time, with its receive count.

Several nodes start       node A, first               node B                      node C, later
                          ──────────────              ──────                      ─────────────
                          beat: nobody serves         beat: nobody serves
                          opening: mine               opening: A's, so wait       beat: A serves: use what is there
                          drop and fill all ════ serves ──► use what is there, when no node goes by an older
                                                            list of cache servers

Where several data centres share the store, a fill is what draws a queue's home to its data centre, and a start draws
none (`cqs.service.homes`). What the other one acknowledged but had not replicated when it died, a fill here misses; it
comes back with the other data centre, and then the sweep finds it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from time import perf_counter_ns

import structlog

from cqs.cache.entry import Entry, State
from cqs.cache.interface import Shard
from cqs.errors import CacheUnavailable, CannotStart, CqsError
from cqs.queue import Queue
from cqs.service import expiry, lookup
from cqs.service.engine import Engine, shard_of
from cqs.service.entries import entry_of_stored
from cqs.service.membership import BEAT_MS, LIFE_MS
from cqs.service.retry import Pause, pause_ms
from cqs.store.interface import Lease, Stored

OPENING_LOOK_MS = 200
KEEP_S = 3.0
"""A fill tells its shard at least so often that it goes on."""
_log = structlog.get_logger("cqs.residency")


async def open_all(engine: Engine, pause: Pause = pause_ms) -> None:
    """At start: loads the queues and makes new addresses higher than every stored one. What lies in the caches is used
    as it is when another node serves, and so looks after it; else it may be older than the store, and every queue is
    filled anew, by one of the nodes that start now. A queue whose cache can't be reached is filled when it can. Raises
    StoreUnavailable, OutcomeUnknown; CannotStart for a node among others whose cache is its own."""
    engine.addresses.raise_above(await engine.store.highest_address())
    for queue in await engine.store.queues():
        engine.registry.put(queue)
    if engine.cluster.is_alone:
        await _fill_all(engine)
    else:
        await _open_among_others(engine, pause)


async def _open_among_others(engine: Engine, pause: Pause) -> None:
    membership, opening = engine.cluster.membership, engine.cluster.opening
    await _check_cache(engine, pause)
    is_told = False
    while True:
        await membership.beat()
        if not membership.is_served():
            await opening.renew()
        elif membership.lists.is_settled:
            break
        elif not is_told:
            is_told = True
            _log.info("waits_for_nodes_to_give_up_their_list_of_redis_servers")
        if opening.is_held and not membership.is_served():
            await _fill_beating(engine)
            break
        await pause(OPENING_LOOK_MS)
    membership.open()
    await membership.beat()
    await opening.resign()


async def _check_cache(engine: Engine, pause: Pause) -> None:
    """A node that shares its cache with nobody must be the only one. One that just died is waited for."""
    membership = engine.cluster.membership
    for _ in range(LIFE_MS // OPENING_LOOK_MS + 1):
        await membership.beat()
        if engine.cluster.is_cache_shared or not membership.others:
            return
        await pause(OPENING_LOOK_MS)
    raise CannotStart(
        f"node {membership.others[0].name} serves the same keyspace, and this one has a hot state of its own: "
        "give all nodes the same Redis servers (--redis), or this one another keyspace"
    )


async def _fill_beating(engine: Engine) -> None:
    """Nobody else may think that this node has died while it fills."""
    filling = asyncio.ensure_future(_fill_all(engine))
    try:
        while not filling.done():
            await asyncio.wait((filling,), timeout=BEAT_MS / 1_000)
            await engine.cluster.membership.beat()
            await engine.cluster.opening.renew()
    finally:
        filling.cancel()
    filling.result()


async def _fill_all(engine: Engine) -> None:
    is_told = False
    for queue in engine.registry:
        homes = engine.cluster.homes
        if homes is not None and not await homes.is_here(shard_of(queue)):
            continue
        try:
            await engine.cache.drop(shard_of(queue))
            await fill(engine, queue)
        except CacheUnavailable as error:
            if not is_told:
                served = "from the store until it is reached"
                _log.warning("cache_unreachable_at_start", reason=str(error), served=served)
            is_told = True


def ensure(engine: Engine, queue: Queue) -> None:
    """Fills the queue's shard in the background, unless that is under way. A few at a time: when a Redis has lost
    hundreds of them, none would get its next page in before its lease ends, and all would begin again and again.
    Receives are answered from the store meanwhile."""
    engine.background.start_in_turn(f"fill {queue.storage_id}", lambda: fill(engine, queue))


async def fill(engine: Engine, queue: Queue) -> None:
    """Fills the queue's shard from the store, if it is absent; does nothing when somebody else fills or has filled.
    What this node has handed out from the store meanwhile stays hidden. Raises CacheUnavailable, StoreUnavailable; the
    shard is absent then, and the next touch begins anew."""
    shard = shard_of(queue)
    epoch = await engine.cache.begin_fill(shard, queue.settings.retention_ms)
    if epoch is None:
        return
    engine.epochs.note(shard, epoch)
    try:
        await _fill(engine, queue, shard, epoch)
    except CqsError:
        with contextlib.suppress(CacheUnavailable):
            if (await engine.cache.state(shard)).epoch == epoch:
                await engine.cache.drop(shard)
        raise


async def _fill(engine: Engine, queue: Queue, shard: Shard, epoch: int) -> None:
    if not await _is_current(engine, queue):
        return
    queue = engine.registry.of_storage(queue.storage_id) or queue
    started_ns = perf_counter_ns()
    now_ms = await expiry.earlier_ms(engine)
    async for page in _kept(engine, shard, epoch, engine.store.scan(queue)):
        expired = [stored.address for stored in page if _is_expired(queue, stored, now_ms)]
        expiry.start(engine, queue, expired)
        entries = [entry_of_stored(queue, stored, now_ms) for stored in page if not _is_expired(queue, stored, now_ms)]
        hide_handed(engine.fallback.living(shard, now_ms), entries)
        if not await engine.cache.fill(shard, epoch, entries, is_last=False):
            return
    if not await engine.cache.fill(shard, epoch, [], is_last=True):
        return
    engine.metrics.fill_duration.observe(perf_counter_ns() - started_ns)
    engine.waiters.wake_all(queue.uid)


async def _kept(
    engine: Engine, shard: Shard, epoch: int, pages: AsyncIterator[list[Stored]]
) -> AsyncIterator[list[Stored]]:
    """The pages, as long as the fill has its shard: it says that it goes on while one takes long, as those behind many
    tombstones do. Else the shard would be absent again by then, and the next fill would fare alike."""
    while True:
        coming = asyncio.ensure_future(_next(pages))
        try:
            while not (await asyncio.wait((coming,), timeout=KEEP_S))[0]:
                if not await engine.cache.fill(shard, epoch, [], is_last=False):
                    return
        finally:
            coming.cancel()
        page = coming.result()
        if page is None:
            return
        yield page


async def _next(pages: AsyncIterator[list[Stored]]) -> list[Stored] | None:
    return await anext(pages, None)


async def _is_current(engine: Engine, queue: Queue) -> bool:
    """Whether this is still where the queue's messages are. Asked once the shard is Initializing: whoever purges or
    deletes the queue later drops the shard, and whoever did so before is seen here."""
    present = await lookup.present(engine, queue.key)
    if present is not None and present.storage_id == queue.storage_id:
        return True
    await engine.cache.drop(shard_of(queue))
    return False


def hide_handed(handed: dict[int, Lease], entries: Sequence[Entry]) -> None:
    """Entries that have a lease here, by address, are in flight: one given after a page was read is not in the page."""
    if not handed:
        return
    for entry in entries:
        lease = handed.get(entry.address)
        if lease is not None:
            entry.state, entry.visible_ms = State.IN_FLIGHT, lease.hidden_until_ms
            entry.receive_count, entry.receive_number = lease.receive_count, lease.receive_number
            entry.first_receive_ms = lease.first_receive_ms


def _is_expired(queue: Queue, stored: Stored, now_ms: int) -> bool:
    return stored.sent_ms + queue.settings.retention_ms <= now_ms
