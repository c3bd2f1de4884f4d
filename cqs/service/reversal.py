"""Undo for changes to a queue's settings and tags: restores both, if nobody has changed the queue since."""

from __future__ import annotations

import msgspec

from cqs.errors import ServiceUnavailable
from cqs.queue import Queue, Settings
from cqs.service.engine import Engine
from cqs.service.queue_edit import edit
from cqs.service.revisibility import settle


async def put_back(engine: Engine, before: Queue, version: int) -> Queue:
    """Restores the settings and tags of `before`, durably. All or none. Raises ServiceUnavailable if the queue no
    longer has this version, QueueDoesNotExist, StoreUnavailable, OutcomeUnknown."""

    def change(current: Queue) -> Queue:
        if current.version != version:
            raise ServiceUnavailable("Somebody else has changed this queue meanwhile, so the change was not undone.")
        now_ms = engine.clock.now_ms()
        return msgspec.structs.replace(current, settings=before.settings, tags=before.tags, modified_ms=now_ms)

    changed = await edit(engine, before, change)
    await settle(engine, changed, Settings.__struct_fields__)
    return changed
