"""Changes a queue: builds the next version, saves it if no other node was faster, updates the registry.

    settings (version 3 → 4)             tags (version 3 → 4)
    ────────────────────────             ────────────────────
    save: 3 is still there, done
                                         save: 3 is no longer there, refused
    registry.put(4)                      find: 4; apply the change to it; save: done
                                         registry.put(5)

So each change is a function of the newest queue, called again after a lost race, and no change is ever lost.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from cqs.errors import OutcomeUnknown, QueueDoesNotExist, ServiceUnavailable, StoreUnavailable
from cqs.queue import Queue
from cqs.service import news
from cqs.service.engine import Engine

RACES_MAX = 100
"""Lost races before giving up; more would mean that the store refuses for another reason."""


def check_version(queue: Queue, version: int | None) -> None:
    """For a change that was based on this version of the queue (None = any). Raises ServiceUnavailable."""
    if version is not None and queue.version != version:
        raise ServiceUnavailable(
            "Somebody else has changed this queue meanwhile. Reload the page and make your change again."
        )


async def edit(engine: Engine, queue: Queue, change: Callable[[Queue], Queue]) -> Queue:
    """Applies `change` to the newest version of the queue. Returns the result, which is durable and in the registry; if
    `change` returns its argument, nothing is written. Raises what `change` raises; QueueDoesNotExist if the queue is
    gone or another one has its name; StoreUnavailable, OutcomeUnknown."""
    engine.cluster.membership.check()
    current = engine.registry.get(queue.key)
    for _ in range(RACES_MAX):
        if current is None or current.uid != queue.uid:
            await news.forget(engine, queue)
            raise QueueDoesNotExist
        changed = change(current)
        if changed == current:
            return current
        saved = msgspec.structs.replace(changed, version=current.version + 1)
        if await _save(engine, saved):
            engine.registry.put(saved)
            await news.tell_changed(engine, saved)
            return saved
        current = await engine.store.find(queue.key)
    raise ServiceUnavailable


async def create(engine: Engine, queue: Queue) -> Queue:
    """As the store's `create`. Resolves an unknown outcome as `_save` does, or the queue could appear unexpectedly at
    the next start. Raises StoreUnavailable, OutcomeUnknown."""
    try:
        return await engine.store.create(queue)
    except OutcomeUnknown:
        present = await _newest(engine, queue)
        if present is None:
            raise
        return present


async def drop(engine: Engine, queue: Queue) -> bool:
    """As the store's `drop`. Resolves an unknown outcome as `_save` does: a deleted queue left in the registry would
    accept messages that are gone after the next start. Raises StoreUnavailable, OutcomeUnknown."""
    try:
        return await engine.store.drop(queue, engine.clock.now_ms())
    except OutcomeUnknown:
        present = await _newest(engine, queue)
        if present is not None and present.uid == queue.uid:
            raise
        return True


async def _save(engine: Engine, queue: Queue) -> bool:
    """As the store's `save`. If the outcome is unknown, reads the queue back: a registry that has missed a purge would
    send new messages to a generation that is garbage."""
    try:
        return await engine.store.save(queue)
    except OutcomeUnknown:
        newest = await _newest(engine, queue)
        if newest is not None:
            engine.registry.put(newest)
        if newest != queue:
            raise
        return True


async def _newest(engine: Engine, queue: Queue) -> Queue | None:
    """Reads the queue after an unknown outcome. If it can't be read now, all nodes re-read it later."""
    try:
        return await engine.store.find(queue.key)
    except StoreUnavailable as error:
        await news.tell_doubt(engine, queue)
        raise OutcomeUnknown(f"Whether {queue.name} was changed is not known: {error}") from error
