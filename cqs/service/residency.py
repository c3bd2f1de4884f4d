"""Q.STATE: whether a queue's messages are in the cache.

    absent ──begin_fill──► Initializing ──last page──► ready
       ▲                                                 │
       └───────────────── drop (purged, deleted) ◄───────┘

A fill reads ids, times and leases from the store, but no bodies: those are read when a message is received. Leases keep
messages in flight hidden until their own time, with their receive counts.

Several nodes start       node A, first               node B                      node C, later
                          ──────────────              ──────                      ─────────────
                          beat: nobody serves         beat: nobody serves
                          opening: mine               opening: A's, so wait       beat: A serves: use what is there
                          drop and fill all ════ serves ──► use what is there, once no node uses an older
                                                            list of cache servers

Where several data centres share the store, a fill moves a queue's home to its data centre; a start moves none
(`cqs.service.homes`). A fill here misses messages that the other data centre acknowledged but had not replicated when
it died. They reappear when that data centre returns, and then the sweep finds them.
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
"""A fill in progress renews its shard at least this often."""
_log = structlog.get_logger("cqs.residency")


async def open_all(engine: Engine, pause: Pause = pause_ms) -> None:
    """At startup: loads the queues and makes new addresses higher than every stored one. If another node serves, and so
    maintains the caches, they are used as they are. Otherwise they may be older than the store, and one of the nodes
    starting now refills every queue. A queue whose cache is unreachable is filled later. Raises StoreUnavailable,
    OutcomeUnknown; CannotStart for a node with peers that does not share its cache."""
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
    """A node that does not share its cache must be the only one. Waits out one that has just died."""
    membership = engine.cluster.membership
    for _ in range(LIFE_MS // OPENING_LOOK_MS + 1):
        await membership.beat()
        if engine.cluster.is_cache_shared or not membership.others:
            return
        await pause(OPENING_LOOK_MS)
    raise CannotStart(
        f"node {membership.others[0].name} serves the same keyspace, but this node does not share its cache: "
        "give all nodes the same Redis servers (--redis), or this one another keyspace"
    )


async def _fill_beating(engine: Engine) -> None:
    """Keeps beating during the fill, so that no other node takes this one for dead."""
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
    """Fills the queue's shard in the background, unless that is under way. Only a few at a time: after a Redis server
    has lost hundreds of shards, parallel fills would be too slow to keep their leases, and all would start over
    repeatedly. Receives are served from the store meanwhile."""
    engine.background.start_in_turn(f"fill {queue.storage_id}", lambda: fill(engine, queue))


async def fill(engine: Engine, queue: Queue) -> None:
    """Fills the queue's shard from the store if it is absent; does nothing if another fill is running or done. Messages
    that this node handed out from the store meanwhile stay hidden. Raises CacheUnavailable, StoreUnavailable; the shard
    is absent then, and the next access starts over."""
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


async def fill_to_look(engine: Engine, queue: Queue) -> None:
    """As `fill`, before messages are looked at. Looking is no traffic, so it does not take a queue's home from a data
    centre with living nodes: there its senders and receivers would be refused for a while."""
    homes = engine.cluster.homes
    if homes is not None and not homes.is_known_here(shard_of(queue)):
        home = await homes.look(shard_of(queue))
        where = home.datacenter if home is not None else homes.datacenter
        if where != homes.datacenter and await engine.cluster.coordination.nodes(where):
            return
    await fill(engine, queue)


async def _fill(engine: Engine, queue: Queue, shard: Shard, epoch: int) -> None:
    if not await _is_current(engine, queue):
        return
    queue = engine.registry.of_storage(queue.storage_id) or queue
    started_ns = perf_counter_ns()
    now_ms = await expiry.earlier_ms(engine)
    async for page in _kept(engine, shard, epoch, _certain(engine, queue)):
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


async def _certain(engine: Engine, queue: Queue) -> AsyncIterator[list[Stored]]:
    """The pages of the store, without messages of unknown outcome that do not count as sent."""
    async for page in engine.store.scan(queue):
        if queue.settings.is_fifo:
            certain = await engine.cluster.certain(queue, [stored.address for stored in page])
            yield [stored for stored in page if stored.address in certain]
        else:
            yield page


async def _kept(
    engine: Engine, shard: Shard, epoch: int, pages: AsyncIterator[list[Stored]]
) -> AsyncIterator[list[Stored]]:
    """Yields the pages for as long as the fill holds its shard, and renews its hold while a page is slow, such as one
    behind many tombstones. Otherwise this fill would lose the shard, and so would the next one."""
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
    """Whether the queue's messages are still here. Checked while the shard is Initializing: a later purge or delete
    drops the shard, and an earlier one is seen here."""
    present = await lookup.present(engine, queue.key)
    if present is not None and present.storage_id == queue.storage_id:
        return True
    await engine.cache.drop(shard_of(queue))
    return False


def hide_handed(handed: dict[int, Lease], entries: Sequence[Entry]) -> None:
    """Marks entries with a lease here, by address, as in flight: leases given after a page was read are not in the
    page."""
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
