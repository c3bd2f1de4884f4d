"""What one node changes of the queues, all others hear of.

    node A                                  store                     node B
    ──────                                  ─────                     ──────
    store.save (version 4) ═════════════════► 4
    announce "queue a/orders uid 4" ════════► news
    answers its client                                                each BEAT_MS: hears it, knows 3 ── reads 4

    a send through B, to the generation that A purged a moment ago
    append to generation 3: garbage
                                                                      put: the shard is absent, A dropped it
                                                                      ── so B reads the queue anew: 4 ── refuses (503)

The news name the version, so a node reads nothing for what it did itself or knows already. What could not be announced
stays to be said, and is said at a later beat. A node that has been away for too long reads all queues.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import partial

import structlog

from cqs.errors import CacheUnavailable, CqsError
from cqs.queue import Queue, QueueName
from cqs.service.engine import Engine, shard_of
from cqs.side_by_side import side_by_side
from cqs.store.coordination import News

CHANGED, GONE = "queue", "queue gone"
_ANY_VERSION = 1 << 62
READS = 16
"""Queues read from the store at a time."""
_log = structlog.get_logger("cqs.news")


async def tell_changed(engine: Engine, queue: Queue) -> None:
    """The queue is new, or has another version. Never raises."""
    await tell(engine, News(CHANGED, _subject(queue)))


async def tell_gone(engine: Engine, queue: Queue) -> None:
    """The queue was deleted. Never raises."""
    await tell(engine, News(GONE, _subject(queue)))


async def tell_doubt(engine: Engine, queue: Queue) -> None:
    """What became of a change, a purge or a deletion is not known: all nodes, this one as well, read the queue anew at
    their next beat. Never raises."""
    await tell(engine, News(CHANGED, f"{queue.account}/{queue.name}/{queue.uid}/{_ANY_VERSION}"))


async def tell(engine: Engine, *news: News) -> None:
    """Announces now if it can, later if it can't. Never raises."""
    if engine.cluster.is_alone:
        return
    engine.cluster.unsaid.extend(news)
    try:
        await say(engine)
    except CqsError as error:
        _log.warning("news_postponed", reason=str(error))


async def say(engine: Engine) -> None:
    """Announces what was left unsaid. Raises StoreUnavailable, OutcomeUnknown."""
    unsaid = engine.cluster.unsaid
    while unsaid:
        one = unsaid[0]
        await engine.cluster.coordination.announce(one)
        with contextlib.suppress(ValueError):
            unsaid.remove(one)


async def hear_queues(engine: Engine, news: Iterable[News]) -> None:
    """Makes the registry true again after these news. Raises StoreUnavailable."""
    changed: dict[QueueName, None] = {}
    for one in news:
        if one.kind not in (CHANGED, GONE):
            continue
        account, name, uid, version = one.subject.split("/")
        known = engine.registry.get(QueueName(account, name))
        is_known = known is not None and known.uid == int(uid)
        if one.kind == GONE:
            if known is not None and is_known:
                await forget(engine, known)
        elif known is None or not is_known or known.version < _seen_below(engine, int(version)):
            changed[QueueName(account, name)] = None
    await side_by_side([partial(refresh, engine, key) for key in changed], READS)


def _seen_below(engine: Engine, version: int) -> int:
    """Versions below this one are to be read anew. Two data centres that change a queue at one moment each make the
    same version of it, and the store keeps the later one."""
    return version if engine.cluster.homes is None else version + 1


async def refresh(engine: Engine, key: QueueName) -> Queue | None:
    """The queue as the store has it now, which from now on the registry has, too. Raises StoreUnavailable."""
    before = engine.registry.get(key)
    found = await engine.store.find(key)
    known = engine.registry.get(key)
    if known is not None and (found is None or found.uid != known.uid) and known is before:
        await forget(engine, known)
    if found is not None:
        await _meet(engine, known, found)
    return engine.registry.get(key)


async def reload(engine: Engine) -> None:
    """Reads all queues. Raises StoreUnavailable."""
    before = {queue.uid for queue in engine.registry}
    found = {queue.uid: queue for queue in await engine.store.queues()}
    for queue in list(engine.registry):
        if queue.uid in before and queue.uid not in found:
            await forget(engine, queue)
    for queue in found.values():
        await _meet(engine, engine.registry.get(queue.key), queue)


async def _meet(engine: Engine, known: Queue | None, found: Queue) -> None:
    engine.registry.put(found)
    if known is None or known.uid != found.uid:
        return
    if known.generation < found.generation:
        await _drop(engine, known)
    if known.version < found.version:
        await _redelay(engine, known, found)
        engine.waiters.wake_all(found.uid)


async def _redelay(engine: Engine, known: Queue, found: Queue) -> None:
    """What this node has sent to a FIFO queue with the delay it had before would be overtaken by what is sent after. In
    a data centre that is not the queue's home none was sent, and its home has heard the same news."""
    homes, shard = engine.cluster.homes, shard_of(found)
    is_delay_new = found.settings.is_fifo and found.settings.delay_ms != known.settings.delay_ms
    if is_delay_new and (homes is None or homes.is_known_here(shard)):
        with contextlib.suppress(CacheUnavailable):
            await engine.cache.redelay(shard, found.settings.delay_ms)


async def forget(engine: Engine, queue: Queue) -> None:
    """The queue is gone: those who wait for it are told, and its memory is freed."""
    engine.registry.discard(queue)
    engine.waiters.end_queue(queue.uid)
    await _drop(engine, queue)
    if engine.cluster.homes is not None:
        engine.cluster.homes.forget(shard_of(queue))


async def _drop(engine: Engine, queue: Queue) -> None:
    with contextlib.suppress(CacheUnavailable):
        await engine.cache.drop(shard_of(queue))


def _subject(queue: Queue) -> str:
    return f"{queue.account}/{queue.name}/{queue.uid}/{queue.version}"
