"""The data for the charts of a page, of one queue or of the node."""

from __future__ import annotations

import msgspec
from aiohttp import web

from admin.charts import LINES, drawn, range_of
from admin.queue_list import ring_of
from admin.viewer import LOOK
from admin.visit import Visit
from cqs.metrics.rings import Ring


async def of_queue(visit: Visit) -> web.StreamResponse:
    queue, engine = visit.queue("GetQueueAttributes"), visit.console.engine
    is_watched = engine.metrics.queues.get(queue.key) is not None
    return _answer(visit, ring_of(engine, queue), is_watched=is_watched)


async def of_node(visit: Visit) -> web.StreamResponse:
    visit.viewer.check(LOOK)
    return _answer(visit, visit.console.engine.metrics.ring)


def _answer(visit: Visit, ring: Ring | None, *, is_watched: bool = True) -> web.StreamResponse:
    kind = visit.query("kind")
    if kind not in LINES:
        raise web.HTTPNotFound
    chart = drawn(ring, kind, range_of(visit.query("range")), visit.now_ms, is_watched=is_watched)
    return web.Response(body=msgspec.json.encode(chart), content_type="application/json")
