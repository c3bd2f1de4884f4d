"""The life of a queue: create, change, purge, delete, list.

The place for its messages is ready before the queue becomes visible, so no send comes too early:

    create   cache shard ready, empty ──► store.create ══► registry.put        (a race lost: the shard is dropped again)
    purge    new shard ready, empty ──► store.save(generation + 1) ══► registry.put ──► old shard dropped
    delete   store.drop ══► registry.discard, waiting receives end ──► shard dropped

A purge concurrent with sends. A send uses the queue as it was when the send began:

    send A (generation 3)             purge                                 send B
    ─────────────────────             ─────                                 ──────
    append to generation 3
                                      save generation 4 ══ purged
    put to shard 3: garbage, or       registry.put(4)                       begins: finds generation 4,
      nothing when dropped            drop shard 3                          append and put to it: kept
    answered: sent, and purged        answered

Messages acknowledged before the purge began are gone after it, and messages sent after the purge was answered stay;
concurrent ones may do either, as on SQS. Deduplication is recorded under the storage id, so a purged queue starts
without.
"""

from __future__ import annotations

import contextlib

import msgspec

from cqs import limits
from cqs.errors import (
    CacheUnavailable,
    CqsError,
    PurgeQueueInProgress,
    QueueDeletedRecently,
    QueueDoesNotExist,
    QueueNameExists,
    UnsupportedOperation,
)
from cqs.queue import GENERATION_BITS, UID_BITS, Queue, QueueName, Settings
from cqs.service import lookup, news, page_token, queue_edit, queue_rules, revisibility
from cqs.service.engine import Engine, shard_of
from cqs.service.hearing import HEARD_MS
from cqs.service.queue_edit import check_version, drop, edit
from cqs.service.retry import Pause, pause_ms
from cqs.service.tags import check_new_tags

GENERATION_MAX = (1 << GENERATION_BITS) - 1


async def create(engine: Engine, key: QueueName, changes: dict[str, object], tags: dict[str, str]) -> Queue:
    """Returns the new queue, or the existing one of that name if all the given attributes equal its own; tags are not
    compared. Raises QueueNameExists, QueueDeletedRecently, what `queue_rules` and `check_new_tags` raise,
    StoreUnavailable, OutcomeUnknown."""
    is_fifo = changes.get("is_fifo") is True
    queue_rules.check_name(key.name, is_fifo=is_fifo)
    queue_rules.check_type(changes, is_fifo=is_fifo)
    check_new_tags(engine, tags)
    implied = queue_rules.with_encryption(changes)
    existing = await lookup.present(engine, key) if engine.registry.has(key) else None
    if existing is not None:
        return _same(existing, changes)
    settings = msgspec.structs.replace(Settings(), **implied)
    queue_rules.check_throughput(settings)
    await _meet_target(engine, settings)
    queue_rules.check_redrive(engine.registry, key, engine.tuning.region, settings)
    await _check_wait(engine, key)
    engine.cluster.membership.check()
    queue = _new_queue(engine, key, settings, tags)
    created = await _create_ready(engine, queue)
    return created if created.uid == queue.uid else _same(created, changes)


async def change_settings(
    engine: Engine, queue: Queue, changes: dict[str, object], version: int | None = None
) -> Queue:
    """Returns the changed queue. The settings apply from now on, also to stored messages (retention, redrive, a FIFO
    queue's delay). All or none. Raises as `create`, QueueDoesNotExist, and ServiceUnavailable if the queue no longer
    has this version."""
    queue_rules.check_type(changes, is_fifo=queue.settings.is_fifo)
    implied = queue_rules.with_encryption(changes)
    await _meet_target(engine, msgspec.structs.replace(queue.settings, **implied))

    def change(current: Queue) -> Queue:
        check_version(current, version)
        settings = msgspec.structs.replace(current.settings, **implied)
        if settings == current.settings:
            return current
        queue_rules.check_throughput(settings)
        if "redrive" in changes:
            queue_rules.check_redrive(engine.registry, current.key, current.region, settings)
        return msgspec.structs.replace(current, settings=settings, modified_ms=engine.clock.now_ms())

    changed = await edit(engine, queue, change)
    await revisibility.settle(engine, changed, changes)
    return changed


async def delete(engine: Engine, queue: Queue, pause: Pause = pause_ms) -> None:
    """Deletes the queue and all its messages permanently; waiting receives end. What is sent later to a new queue of
    its name is kept. Raises QueueDoesNotExist if it is already gone, StoreUnavailable, OutcomeUnknown."""
    was_there = await drop(engine, queue)
    present = engine.registry.get(queue.key)
    gone = present if present is not None and present.uid == queue.uid else queue
    engine.bells.end(shard_of(gone), queue.uid)
    is_dropped = await news.forget(engine, gone)
    if not was_there:
        raise QueueDoesNotExist
    await news.tell_gone(engine, queue)
    await _wait_until_heard(engine, is_dropped, pause)
    engine.witness.queue_deleted(queue)


async def purge(engine: Engine, queue: Queue, pause: Pause = pause_ms) -> None:
    """When it returns, all messages sent before this call are gone; messages sent later are kept. Raises
    PurgeQueueInProgress within 60 s of the last purge (if that rule is on), and as `delete`."""
    before = engine.registry.find(queue.key)
    if before.uid != queue.uid:
        raise QueueDoesNotExist
    _check_purge(engine, before)
    await _make_ready(engine, _purged(engine, before))

    def change(current: Queue) -> Queue:
        if current.generation != before.generation:
            _check_purge(engine, current)
            return current
        return _purged(engine, current)

    after = await edit(engine, before, change)
    is_dropped = await news.drop(engine, shard_of(before))
    engine.waiters.wake_all(after.uid)
    await _wait_until_heard(engine, is_dropped, pause)
    engine.witness.purged(after)


def page(engine: Engine, account: str, prefix: str, token: str, limit: int | None) -> tuple[list[Queue], str]:
    """Queues whose names start with `prefix`, in order, and the token of the next page, "" if there is none. Without a
    limit: at most 1,000, and no token (SQS). Raises InvalidParameterValue for an invalid token."""
    found = engine.registry.page(account, prefix, page_token.read(token), (limit or limits.LIST_RESULTS_MAX) + 1)
    return _cut(found, limit)


def dead_letter_sources(engine: Engine, queue: Queue, token: str, limit: int | None) -> tuple[list[Queue], str]:
    """Queues that have this one as their dead-letter queue; paginated like `page`."""
    found = engine.registry.sources(queue, page_token.read(token), (limit or limits.LIST_RESULTS_MAX) + 1)
    return _cut(found, limit)


def _cut(found: list[Queue], limit: int | None) -> tuple[list[Queue], str]:
    shown = found[: limit or limits.LIST_RESULTS_MAX]
    is_more = limit is not None and len(found) > limit
    return shown, page_token.write(shown[-1].name) if is_more else ""


async def _meet_target(engine: Engine, settings: Settings) -> None:
    """Makes known a dead-letter queue that was just created through another node."""
    if settings.redrive is not None:
        await lookup.meet(engine, settings.redrive.target_arn)


def _new_queue(engine: Engine, key: QueueName, settings: Settings, tags: dict[str, str]) -> Queue:
    now_ms = engine.clock.now_ms()
    return Queue(
        account=key.account,
        name=key.name,
        region=engine.tuning.region,
        uid=_new_uid(engine),
        created_ms=now_ms,
        modified_ms=now_ms,
        settings=settings,
        tags=dict(tags),
    )


def _new_uid(engine: Engine) -> int:
    uids = iter(lambda: engine.rng.getrandbits(UID_BITS), None)
    return next(uid for uid in uids if not engine.registry.has_uid(uid))


async def _create_ready(engine: Engine, queue: Queue) -> Queue:
    """The queue as the store has it now: this one, or the one of a concurrent create that was faster."""
    shard = shard_of(queue)
    await _make_ready(engine, queue)
    try:
        created = await queue_edit.create(engine, queue)
    except CqsError:
        await news.drop(engine, shard)
        raise
    if created.uid != queue.uid:
        await news.drop(engine, shard)
    engine.registry.put(created)
    await news.tell_changed(engine, created)
    return created


def _same(existing: Queue, changes: dict[str, object]) -> Queue:
    for field, value in changes.items():
        if getattr(existing.settings, field) != value:
            raise QueueNameExists(queue_rules.WIRE_NAMES[field])
    return existing


async def _check_wait(engine: Engine, key: QueueName) -> None:
    if not engine.tuning.is_recreate_wait_on:
        return
    dropped_ms = await engine.store.dropped_ms(key)
    if dropped_ms and 0 <= engine.clock.now_ms() - dropped_ms < limits.RECREATE_WAIT_MS:
        raise QueueDeletedRecently


def _check_purge(engine: Engine, queue: Queue) -> None:
    is_waiting = 0 <= engine.clock.now_ms() - queue.purged_ms < limits.PURGE_WAIT_MS
    if engine.tuning.is_purge_wait_on and is_waiting:
        raise PurgeQueueInProgress(queue.name)
    if queue.generation == GENERATION_MAX:
        raise UnsupportedOperation(f"{queue.name} was purged {GENERATION_MAX} times. Delete it and create it again.")


def _purged(engine: Engine, queue: Queue) -> Queue:
    return msgspec.structs.replace(queue, generation=queue.generation + 1, purged_ms=engine.clock.now_ms())


async def _make_ready(engine: Engine, queue: Queue) -> None:
    """Creates an empty, ready shard; only for a storage id that has never been used. A cache that fails now is filled
    later."""
    shard = shard_of(queue)
    with contextlib.suppress(CacheUnavailable):
        epoch = await engine.cache.begin_fill(shard, queue.settings.retention_ms)
        if epoch is not None:
            engine.epochs.note(shard, epoch)
            await engine.cache.fill(shard, epoch, [], is_last=True)


async def _wait_until_heard(engine: Engine, is_dropped: bool, pause: Pause) -> None:
    """Returns when no node sends to a shard that is gone any more. Those that share the cache find it dropped; others
    must have heard the news, and so must all in another data centre, whose cache still has it."""
    cluster = engine.cluster
    if not cluster.is_alone and not (is_dropped and cluster.homes is None):
        await pause(HEARD_MS)
