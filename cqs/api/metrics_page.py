"""`/metrics` for Prometheus and `/jmx` for those who watch beans, mounted beside the API.

Counting the queues happens in the event loop, in small steps; making text of it happens in a thread. One scrape at a
time: a second one waits for the first and then gets its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from cqs.api.http.plain_reply import SERVER
from cqs.api.origins import Origins
from cqs.api.siblings import Siblings
from cqs.api.wire_errors import OriginRefused
from cqs.metrics.beans import Bean, BeanCollector, Facts, as_json, node_bean, queue_bean
from cqs.metrics.collector import exposition, scraped
from cqs.metrics.depths import Depth
from cqs.metrics.gathered import gathered
from cqs.metrics.rings import QUEUE_PEAKS, QUEUE_SUMS, Ring
from cqs.service import statistics
from cqs.service.engine import Engine

_NO_TRAFFIC = Ring(QUEUE_SUMS, QUEUE_PEAKS).recent(0)


def metrics_mounts(engine: Engine, origins: Origins, siblings: Siblings | None = None) -> dict[str, web.Application]:
    """Applications by path prefix, for `App`. Pages that may not call the API may not read these. With `siblings`,
    /metrics tells of all of them."""
    pages = _Pages(engine, siblings)
    mounts: dict[str, web.Application] = {}
    for path, handler in (("/metrics", pages.metrics), ("/jmx", pages.jmx)):
        mounts[path] = web.Application(middlewares=[_same_pages_as_api(origins)])
        mounts[path].router.add_get(path, handler)
    if siblings is not None:
        mounts["/metrics"].cleanup_ctx.append(pages.answering)
    return mounts


class _Pages:
    def __init__(self, engine: Engine, siblings: Siblings | None) -> None:
        self._engine = engine
        self._siblings = siblings
        self._turn = asyncio.Lock()

    async def metrics(self, request: web.Request) -> web.Response:
        accept = request.headers.get(hdrs.ACCEPT, "")
        body, content_type = await self._scraped(accept)
        if self._siblings is not None:
            texts = {self._siblings.name: body} | await self._siblings.texts(accept)
            body = await asyncio.to_thread(gathered, dict(sorted(texts.items())))
        return _answer(body, content_type)

    async def answering(self, application: web.Application) -> AsyncIterator[None]:
        """Answers the siblings for as long as the application runs."""
        assert self._siblings is not None
        await self._siblings.start(self._own)
        yield
        self._siblings.close()

    async def _own(self, accept: str) -> bytes:
        """This worker's page, for a sibling."""
        return (await self._scraped(accept))[0]

    async def _scraped(self, accept: str) -> tuple[bytes, str]:
        async with self._turn:
            snapshot = await statistics.snapshot(self._engine)
            return await asyncio.to_thread(scraped, self._engine.metrics, snapshot, accept)

    async def jmx(self, request: web.Request) -> web.Response:
        """Beans whose name matches `qry` (`*` for any text); `format=prometheus`: as jmx_exporter writes them."""
        async with self._turn:
            depths = await statistics.admitted_depths(self._engine)
            waiting = {depth.uid: self._engine.waiters.count(depth.uid) for depth in depths}
            body, content_type = await asyncio.to_thread(self._text_of_beans, request, depths, waiting)
        return _answer(body, content_type)

    def _text_of_beans(
        self, request: web.Request, depths: Sequence[Depth], waiting: Mapping[int, int]
    ) -> tuple[bytes, str]:
        wanted = request.query.get("qry", "*")
        beans = [bean for bean in self._beans(depths, waiting) if fnmatchcase(bean.name, wanted)]
        if request.query.get("format") != "prometheus":
            return as_json(beans), "application/json; charset=utf-8"
        collector = BeanCollector(beans, is_lowercase=request.query.get("lowercase") == "true")
        return exposition(collector, request.headers.get(hdrs.ACCEPT, ""))

    def _beans(self, depths: Sequence[Depth], waiting: Mapping[int, int]) -> Iterator[Bean]:
        """The node's, and those of the queues that have numbers of their own."""
        engine, metrics = self._engine, self._engine.metrics
        now_ms = engine.clock.now_ms()
        recent = metrics.ring.recent(now_ms // 1_000)
        facts = Facts(recent=recent, counts=metrics.depths.totals(), waiting=len(engine.waiters), now_ms=now_ms)
        yield node_bean(metrics, facts)
        for depth in depths[:-1]:
            stats = metrics.queues.get(depth.name)
            ring = None if stats is None else stats.ring
            facts = Facts(
                recent=_NO_TRAFFIC if ring is None else ring.recent(now_ms // 1_000),
                counts=depth.counts,
                waiting=waiting[depth.uid],
                now_ms=now_ms,
            )
            yield queue_bean(depth.name, facts)


def _same_pages_as_api(origins: Origins) -> Middleware:
    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        head = {name.lower(): value for name, value in request.raw_headers}
        try:
            origins.check(head, request.method.encode())
        except OriginRefused as refused:
            raise web.HTTPForbidden(text=str(refused), headers={hdrs.SERVER: SERVER}) from refused
        return await handler(request)

    return check


def _answer(body: bytes, content_type: str) -> web.Response:
    return web.Response(body=body, headers={hdrs.CONTENT_TYPE: content_type, hdrs.SERVER: SERVER})
