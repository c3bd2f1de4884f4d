"""Propagates changes of queues to all nodes.

    node A                                  store                     node B
    ──────                                  ─────                     ──────
    store.save (version 4) ═════════════════► 4
    announce "queue a/orders uid 4" ════════► news
    answers its client                                                each BEAT_MS: hears it, knows 3 ── reads 4

    a send through B, to the generation that A purged a moment ago
                                              append to generation 3: garbage
                                                                      put: the shard is absent, A dropped it
                                                                      ── so B re-reads the queue: 4 ── refuses (503)

News carries the version, so a node reads nothing for its own changes or those it already knows. News that can't be
announced is kept and sent at a later beat. A node that was away for too long reads all queues. A queue whose record
can't be read stays as the node knows it, so that the rest of the news, and of the beat, does not wait for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import partial

import structlog

from cqs.cache.interface import Shard
from cqs.errors import CacheUnavailable, CqsError
from cqs.queue import Queue, QueueName
from cqs.service.engine import Engine, shard_of
from cqs.side_by_side import side_by_side
from cqs.store.coordination import News
from cqs.store.interface import Unreadable

CHANGED, GONE = "queue", "queue gone"
_ANY_VERSION = 1 << 62
READS = 16
"""How many queues are read from the store at a time."""
_log = structlog.get_logger("cqs.news")


async def tell_changed(engine: Engine, queue: Queue) -> None:
    """The queue is new or has a new version. Never raises."""
    await tell(engine, News(CHANGED, _subject(queue)))


async def tell_gone(engine: Engine, queue: Queue) -> None:
    """The queue was deleted. Never raises."""
    await tell(engine, News(GONE, _subject(queue)))


async def tell_doubt(engine: Engine, queue: Queue) -> None:
    """The outcome of a change, purge or deletion is unknown: all nodes, including this one, re-read the queue at their
    next beat. Never raises."""
    await tell(engine, News(CHANGED, f"{queue.account}/{queue.name}/{queue.uid}/{_ANY_VERSION}"))


async def tell(engine: Engine, *news: News) -> None:
    """Announces now if possible, else at a later beat. Never raises."""
    if engine.cluster.is_alone:
        return
    engine.cluster.unsaid.extend(news)
    try:
        await say(engine)
    except CqsError as error:
        _log.warning("news_postponed", reason=str(error))


async def say(engine: Engine) -> None:
    """Announces all pending news. Raises StoreUnavailable, OutcomeUnknown."""
    unsaid = engine.cluster.unsaid
    while unsaid:
        one = unsaid[0]
        await engine.cluster.coordination.announce(one)
        with contextlib.suppress(ValueError):
            unsaid.remove(one)


async def hear_queues(engine: Engine, news: Iterable[News]) -> None:
    """Updates the registry from this news. Raises StoreUnavailable."""
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
    await side_by_side([partial(_refresh, engine, key) for key in changed], READS)


async def _refresh(engine: Engine, key: QueueName) -> None:
    try:
        await refresh(engine, key)
    except Unreadable as error:
        _log.error("queue_not_read", queue=key.name, reason=str(error))


def _seen_below(engine: Engine, version: int) -> int:
    """Versions below this one must be re-read. Two data centres that change a queue at the same time create the same
    version of it, and the store keeps the later write."""
    return version if engine.cluster.homes is None else version + 1


async def refresh(engine: Engine, key: QueueName) -> Queue | None:
    """Reads the queue from the store, updates the registry and returns it. Raises StoreUnavailable."""
    before, began_s = engine.registry.get(key), engine.cluster.leadership.now_s
    found = await engine.store.find(key)
    known = engine.registry.get(key)
    if known is not None and (found is None or found.uid != known.uid) and known is before:
        await forget(engine, known)
    if found is not None:
        await _meet(engine, known, found)
    engine.cluster.heard.note_queue(key, began_s)
    return engine.registry.get(key)


async def reload(engine: Engine) -> None:
    """Reads all queues. Raises StoreUnavailable."""
    before = {queue.uid for queue in engine.registry}
    found = {queue.uid: queue for queue in await engine.store.queues()}
    missing = [queue.key for queue in engine.registry if queue.uid in before and queue.uid not in found]
    await side_by_side([partial(_refresh, engine, key) for key in missing], READS)
    for queue in found.values():
        await _meet(engine, engine.registry.get(queue.key), queue)


async def _meet(engine: Engine, known: Queue | None, found: Queue) -> None:
    engine.registry.put(found)
    if known is None or known.uid != found.uid:
        return
    if known.generation < found.generation:
        await drop(engine, shard_of(known))
    if known.version < found.version:
        await _redelay(engine, known, found)
        engine.waiters.wake_all(found.uid)


async def _redelay(engine: Engine, known: Queue, found: Queue) -> None:
    """Messages that this node sent to a FIFO queue with the old delay would be overtaken by later ones. A data centre
    that is not the queue's home sent none, and the home receives the same news."""
    homes, shard = engine.cluster.homes, shard_of(found)
    is_delay_new = found.settings.is_fifo and found.settings.delay_ms != known.settings.delay_ms
    if is_delay_new and (homes is None or homes.is_known_here(shard)):
        with contextlib.suppress(CacheUnavailable):
            await engine.cache.redelay(shard, found.settings.delay_ms)


async def forget(engine: Engine, queue: Queue) -> bool:
    """The queue is gone: ends its waiting receives and frees its memory. False: the cache may still have its shard."""
    engine.registry.discard(queue)
    engine.waiters.end_queue(queue.uid)
    is_dropped = await drop(engine, shard_of(queue))
    if engine.cluster.homes is not None:
        engine.cluster.homes.forget(shard_of(queue))
    return is_dropped


async def drop(engine: Engine, shard: Shard) -> bool:
    """Frees the memory of a shard that no queue refers to any more. False: it may still be there, for nodes that have
    not heard the news."""
    with contextlib.suppress(CacheUnavailable):
        await engine.cache.drop(shard)
        return True
    return False


def _subject(queue: Queue) -> str:
    return f"{queue.account}/{queue.name}/{queue.uid}/{queue.version}"
