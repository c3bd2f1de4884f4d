"""Taking back a change of a queue's settings and tags: both as they were, if nobody has changed the queue since."""

from __future__ import annotations

import msgspec

from cqs.errors import ServiceUnavailable
from cqs.queue import Queue, Settings
from cqs.service.engine import Engine
from cqs.service.queue_edit import edit
from cqs.service.revisibility import settle


async def put_back(engine: Engine, before: Queue, version: int) -> Queue:
    """The queue with the settings and tags that `before` had, durable. All or none. Raises ServiceUnavailable when it
    is not of this version any more, QueueDoesNotExist, StoreUnavailable, OutcomeUnknown."""

    def change(current: Queue) -> Queue:
        if current.version != version:
            raise ServiceUnavailable("Somebody has changed this queue meanwhile, so it was left as it is.")
        now_ms = engine.clock.now_ms()
        return msgspec.structs.replace(current, settings=before.settings, tags=before.tags, modified_ms=now_ms)

    changed = await edit(engine, before, change)
    await settle(engine, changed, Settings.__struct_fields__)
    return changed
