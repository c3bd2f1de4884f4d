"""The work of each beat where several data centres share the store: learn which homes moved, and pass on messages sent
here to the data centre that is home to their queue.

    dc2, not home                        store, replicated                   dc1, home
    ─────────────                        ─────────────────                   ─────────
    append m, acknowledge it ══════════► m
    next beat: "sent: m …" ────────────► news ─────────────────────────────► m has arrived: put it in the cache
                                                                             not replicated yet: look for m at each
                                                                             beat for LATE_MS, then leave to the sweep

If dc1 dies before a message that it acknowledged has replicated, the message reappears when dc1 returns. A fill in dc2
has missed it by then; the sweep finds it (`cqs.service.sweep`). The sweep also covers news that a node died before
sending.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from cqs.cache.interface import Shard
from cqs.errors import CacheUnavailable, OutcomeUnknown, ServiceUnavailable, StoreUnavailable
from cqs.queue import Queue
from cqs.service import residency
from cqs.service.engine import Engine, shard_of
from cqs.service.entries import entries_of
from cqs.service.home_news import TAKEN
from cqs.service.homes import Homes
from cqs.store.coordination import News

SENT = "addresses sent"
BATCH = 500
LATE_MS = 60_000


async def step(engine: Engine, news: Iterable[News], heard_ms: int) -> None:
    """One beat. `heard_ms`: when the news began to be read. Idempotent. Raises StoreUnavailable, OutcomeUnknown;
    unfinished work is done at the next beat."""
    homes = engine.cluster.homes
    if homes is None:
        return
    _hear(engine, homes, news)
    await homes.check(heard_ms)
    await _drop_lost(engine, homes)
    await _tell(engine, homes)
    for shard in list(homes.late):
        with contextlib.suppress(StoreUnavailable, OutcomeUnknown):
            await _put_late(engine, homes, shard)


async def check_sender(engine: Engine, queue: Queue) -> None:
    """The home data centre alone decides a FIFO queue's order and duplicates. Raises ServiceUnavailable in any other;
    if clients keep sending there, the home moves to it."""
    homes = engine.cluster.homes
    if homes is None or await homes.is_here(shard_of(queue)):
        return
    residency.ensure(engine, queue)
    raise ServiceUnavailable(f"Another data centre serves {queue.name}, or did a moment ago. Send again.")


def _hear(engine: Engine, homes: Homes, news: Iterable[News]) -> None:
    until_ms = engine.clock.now_ms() + LATE_MS
    for one in news:
        if one.kind == TAKEN:
            homes.hear(one.subject)
        elif one.kind == SENT:
            datacenter, storage_id, words = one.subject.split("/")
            queue = engine.registry.of_storage(int(storage_id))
            if queue is None or datacenter == homes.datacenter:
                continue
            shard = shard_of(queue)
            if engine.cluster.membership.tends(engine.cluster.place(shard)):
                late = homes.late.setdefault(shard, {})
                late.update(dict.fromkeys([int(word, 16) for word in words.split()], until_ms))


async def _drop_lost(engine: Engine, homes: Homes) -> None:
    """A shard that can't be dropped now is dropped before this data centre becomes its home again."""
    for shard in homes.still_lost():
        with contextlib.suppress(CacheUnavailable):
            await engine.cache.drop(shard)
        queue = engine.registry.of_storage(shard.storage_id)
        if queue is not None:
            engine.waiters.wake_all(queue.uid)
    for shard in list(homes.left):
        await homes.own_up(shard)


async def _tell(engine: Engine, homes: Homes) -> None:
    for shard, addresses in list(homes.untold.items()):
        while addresses:
            told = addresses[:BATCH]
            words = " ".join(f"{address:x}" for address in told)
            subject = f"{homes.datacenter}/{shard.storage_id}/{words}"
            await engine.cluster.coordination.announce(News(SENT, subject))
            del addresses[: len(told)]
        del homes.untold[shard]


async def _put_late(engine: Engine, homes: Homes, shard: Shard) -> None:
    queue, late, now_ms = engine.registry.of_storage(shard.storage_id), homes.late[shard], engine.clock.now_ms()
    if queue is None or not await homes.is_here(shard):
        del homes.late[shard]
        return
    try:
        known = engine.epochs.note(shard, (await engine.cache.state(shard)).epoch)
    except CacheUnavailable:
        return
    wanted = list(late)[:BATCH]
    stored = await engine.store.read(queue, wanted)
    addresses, entries = [message.address for message in stored], await entries_of(engine, queue, stored)
    if engine.epochs.in_time(known) != known.epoch:
        return
    if entries:
        try:
            await engine.cache.put(shard, entries, known.epoch)
        except CacheUnavailable:
            return
        engine.waiters.wake(queue.uid, len(entries))
    for address in [*addresses, *(address for address in wanted if late[address] <= now_ms)]:
        late.pop(address, None)
    if not late:
        del homes.late[shard]
