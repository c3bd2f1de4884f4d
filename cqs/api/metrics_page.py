"""`/metrics` for Prometheus and `/jmx` for those who watch beans, mounted beside the API.

Counting the queues happens in the event loop, in small steps; making text of it happens in a thread. One scrape at a
time: a second one waits for the first and then gets its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from fnmatch import fnmatchcase

from aiohttp import hdrs, web

from cqs.metrics.beans import Bean, BeanCollector, Facts, as_json, node_bean, queue_bean
from cqs.metrics.collector import NodeCollector, exposition
from cqs.metrics.depths import Depth
from cqs.metrics.rings import QUEUE_PEAKS, QUEUE_SUMS, Ring
from cqs.queue import QueueName
from cqs.service import statistics
from cqs.service.engine import Engine

_NO_TRAFFIC = Ring(QUEUE_SUMS, QUEUE_PEAKS).recent(0)


def metrics_mounts(engine: Engine) -> dict[str, web.Application]:
    """Applications by path prefix, for `App`."""
    pages = _Pages(engine)
    mounts: dict[str, web.Application] = {}
    for path, handler in (("/metrics", pages.metrics), ("/jmx", pages.jmx)):
        mounts[path] = web.Application()
        mounts[path].router.add_get(path, handler)
    return mounts


class _Pages:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turn = asyncio.Lock()

    async def metrics(self, request: web.Request) -> web.Response:
        async with self._turn:
            snapshot = await statistics.snapshot(self._engine)
            collector = NodeCollector(self._engine.metrics, snapshot)
            accept = request.headers.get(hdrs.ACCEPT, "")
            body, content_type = await asyncio.to_thread(exposition, collector, accept)
        return _answer(body, content_type)

    async def jmx(self, request: web.Request) -> web.Response:
        """Beans whose name matches `qry` (`*` for any text); `format=prometheus`: as jmx_exporter writes them."""
        query = request.query.get("qry", "*")
        async with self._turn:
            beans = [bean for bean in await self._beans() if fnmatchcase(bean.name, query)]
            if request.query.get("format") != "prometheus":
                return _answer(await asyncio.to_thread(as_json, beans), "application/json; charset=utf-8")
            collector = BeanCollector(beans, is_lowercase=request.query.get("lowercase") == "true")
            accept = request.headers.get(hdrs.ACCEPT, "")
            return _answer(*await asyncio.to_thread(exposition, collector, accept))

    async def _beans(self) -> list[Bean]:
        engine, metrics = self._engine, self._engine.metrics
        depths = await statistics.admitted_depths(engine)
        now_ms = engine.clock.now_ms()
        recent = metrics.ring.recent(now_ms // 1_000)
        facts = Facts(recent=recent, counts=metrics.depths.totals(), waiting=len(engine.waiters), now_ms=now_ms)
        return [node_bean(metrics, facts), *self._queue_beans(depths, now_ms)]

    def _queue_beans(self, depths: list[Depth], now_ms: int) -> Iterator[Bean]:
        for depth in depths[:-1]:
            waiting = self._engine.waiters.count(depth.uid)
            facts = Facts(
                recent=self._recent(depth.name, now_ms // 1_000), counts=depth.counts, waiting=waiting, now_ms=now_ms
            )
            yield queue_bean(depth.name, facts)

    def _recent(self, name: QueueName, now_s: int) -> dict[str, float]:
        stats = self._engine.metrics.queues.get(name)
        return _NO_TRAFFIC if stats is None or stats.ring is None else stats.ring.recent(now_s)


def _answer(body: bytes, content_type: str) -> web.Response:
    return web.Response(body=body, headers={hdrs.CONTENT_TYPE: content_type, hdrs.SERVER: "cqs"})
