"""Repairs the cache after an outage, using what the store says about each dirty address.

in the store      ──► put (if unknown there)          unreachable      ──► later
not in the store  ──► remove                          shard absent     ──► nothing: the next fill reads the store
leased in the store but ready in the cache            filling          ──► when it is ready
                  ──► drop and refill                 refused (full)   ──► later; on a FIFO queue drop and refill

node A                         Redis                          without the order "repair, then serve"
──────                         ─────
store.delete(m) ══ answered
cache.remove(m) … cut off      m ready
                               reachable again: "ready"       A takes m: a deleted message returns
repair: remove(m)              m gone
A serves from Redis again
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import structlog

from cqs.cache.entry import State
from cqs.cache.interface import Residency, Shard
from cqs.errors import CacheUnavailable, CqsError
from cqs.message import Message
from cqs.queue import Queue
from cqs.service.engine import Engine, shard_of
from cqs.service.entries import entries_of
from cqs.service.epochs import Known
from cqs.service.retry import Pause, pause_ms

PAUSE_MS, PAUSE_MS_MAX = 100, 3_000
"""Between two steps; grows while a cache that answers refuses the steps (a full one)."""
BATCH = 500
_log = structlog.get_logger("cqs.repair")


async def run(engine: Engine, pause: Pause = pause_ms) -> None:
    """Repairs for ever."""
    wait_ms = PAUSE_MS
    while True:
        await pause(wait_ms)
        is_refused = len(engine.dirt) > 0 and await step(engine)
        wait_ms = min(2 * wait_ms, PAUSE_MS_MAX) if is_refused else PAUSE_MS


async def step(engine: Engine) -> bool:
    """Repairs what can be repaired now. True: messages were read from the store but the cache refused them. Reading
    them again at once would keep store and node busy for as long as the cache is full."""
    is_refused = False
    for shard in engine.dirt.shards():
        queue = engine.registry.of_storage(shard.storage_id)
        if queue is None:
            engine.dirt.forget(shard, engine.dirt.stand)
            continue
        stand = engine.dirt.stand
        try:
            state = (await engine.cache.state(shard)).residency
        except CqsError as error:
            _log.debug("repair_postponed", queue=queue.name, reason=str(error))
            continue
        try:
            await _repair(engine, queue, shard, stand, state)
        except CqsError as error:
            _log.debug("repair_postponed", queue=queue.name, reason=str(error))
            is_refused = True
            is_short = engine.cluster.place(shard) in engine.cluster.short()
            if shard.is_fifo and is_short and isinstance(error, CacheUnavailable):
                await _make_room(engine, queue, shard)
    return is_refused


async def _make_room(engine: Engine, queue: Queue, shard: Shard) -> None:
    """A FIFO queue hands out nothing while its shard is incomplete, so it would never free memory in a full cache. A
    refill brings no contents, and may fit."""
    stand = engine.dirt.stand
    with contextlib.suppress(CqsError):
        await engine.cache.drop(shard)
        engine.dirt.forget(shard, stand)
        _log.warning("shard_dropped_to_be_filled", queue=queue.name, reason="the cache refused the missing messages")


async def _repair(engine: Engine, queue: Queue, shard: Shard, stand: int, state: Residency) -> None:
    """`state`: read after this `stand`."""
    if state is Residency.ABSENT:
        engine.dirt.forget(shard, stand)
        return
    if state is Residency.INITIALIZING:
        return
    if engine.dirt.is_whole(shard):
        await engine.cache.drop(shard)
        engine.dirt.forget(shard, stand)
        _log.warning("shard_dropped_to_be_filled", queue=queue.name)
        return
    count = 0
    while addresses := engine.dirt.some(shard, BATCH):
        stand = engine.dirt.stand
        await make_true(engine, queue, addresses)
        engine.dirt.clean(shard, addresses, stand)
        count += len(addresses)
    engine.waiters.wake_all(queue.uid)
    _log.info("shard_repaired", queue=queue.name, addresses=count)


async def make_true(engine: Engine, queue: Queue, addresses: Sequence[int]) -> None:
    """Makes the cache's knowledge of these addresses equal to the store's. A shard that is refilled meanwhile reads the
    store itself. Raises CacheUnavailable, StoreUnavailable; idempotent."""
    shard = shard_of(queue)
    seen = engine.epochs.note(shard, (await engine.cache.state(shard)).epoch)
    stored = {message.address: message for message in await engine.store.read(queue, addresses)}
    if queue.settings.is_fifo:
        certain = await engine.cluster.certain(queue, list(stored))
        stored = {address: message for address, message in stored.items() if address in certain}
    gone = [address for address in addresses if address not in stored]
    if stored and not await _put(engine, queue, shard, list(stored.values()), seen):
        await engine.cache.drop(shard)
        _log.warning("shard_dropped_to_be_filled", queue=queue.name, reason="messages were served from the store")
        return
    if gone:
        await engine.cache.remove(shard, gone)


async def _put(engine: Engine, queue: Queue, shard: Shard, messages: Sequence[Message], seen: Known) -> bool:
    """Puts them with the store's current leases. False: one was handed out from the store while the cache had it ready
    or under an older lease; only a refill corrects that."""
    entries = await entries_of(engine, queue, messages)
    held = {entry.address: entry.receive_number for entry in entries if entry.state is State.IN_FLIGHT}
    if engine.epochs.in_time(seen) != seen.epoch:
        raise CacheUnavailable("The store was read too long ago.")
    await engine.cache.put(shard, entries, seen.epoch)
    engine.waiters.wake(queue.uid, len(entries))
    cached = await engine.cache.lookup(shard, list(held)) if held else []
    return all(entry is None or entry.receive_number >= held[entry.address] for entry in cached)
