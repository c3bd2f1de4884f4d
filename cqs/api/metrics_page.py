"""`/metrics` for Prometheus and `/jmx` for JMX-style monitoring, mounted beside the API.

Queues are counted in the event loop, in small steps; the text is rendered in a thread. Scrapes run one at a time: a
second one waits for the first and then gets its own result. On a node with several workers, the worker that is asked
collects from the others: /metrics labels each worker's samples, while a bean of /jmx covers the whole node, with its
counts summed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from cqs.api.http.plain_reply import SERVER
from cqs.api.origins import Origins
from cqs.api.wire_errors import OriginRefused
from cqs.metrics.beans import Bean, BeanCollector, Facts, as_json, node_bean, queue_bean
from cqs.metrics.collector import exposition, scraped
from cqs.metrics.declarations import WORKERS
from cqs.metrics.depths import Depth
from cqs.metrics.gathered import gathered
from cqs.metrics.rings import QUEUE_PEAKS, QUEUE_SUMS, Ring
from cqs.metrics.shares import Share, key_of, share_of, together
from cqs.queue import QueueName
from cqs.service import statistics
from cqs.service.engine import Engine

_NO_TRAFFIC = Ring(QUEUE_SUMS, QUEUE_PEAKS).recent(0)
_METRICS, _SHARE = "metrics", "share"
"""The questions that workers ask each other."""
_decode = msgspec.msgpack.decode


def metrics_mounts(engine: Engine, origins: Origins) -> dict[str, web.Application]:
    """Applications by path prefix, for `App`. Web pages that may not call the API may not read these either."""
    pages = _Pages(engine)
    mounts: dict[str, web.Application] = {}
    for path, handler in (("/metrics", pages.metrics), ("/jmx", pages.jmx)):
        mounts[path] = web.Application(middlewares=[_same_pages_as_api(origins)])
        mounts[path].router.add_get(path, handler)
    return mounts


class _Pages:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turn = asyncio.Lock()
        engine.fellows.answer(_METRICS, self._own)
        engine.fellows.answer(_SHARE, self._own_share)
        engine.metrics.watch(WORKERS, engine.fellows.count)

    async def metrics(self, request: web.Request) -> web.Response:
        accept = request.headers.get(hdrs.ACCEPT, "")
        body, content_type = await self._scraped(accept)
        fellows = self._engine.fellows
        if fellows.name:
            texts = {fellows.name: body, **await fellows.ask(_METRICS, accept)}
            body = await asyncio.to_thread(gathered, dict(sorted(texts.items())))
        return _answer(body, content_type)

    async def _own(self, accept: str) -> bytes:
        """This worker's page, for another worker."""
        return (await self._scraped(accept))[0]

    async def _scraped(self, accept: str) -> tuple[bytes, str]:
        async with self._turn:
            snapshot = await statistics.snapshot(self._engine)
            return await asyncio.to_thread(scraped, self._engine.metrics, snapshot, accept)

    async def jmx(self, request: web.Request) -> web.Response:
        """Beans whose name matches `qry` (`*` for any text); `format=prometheus`: in the format of jmx_exporter."""
        fellows = self._engine.fellows
        shares = [_decode(text, type=Share) for text in (await fellows.ask(_SHARE)).values()] if fellows.name else []
        async with self._turn:
            depths = await statistics.admitted_depths(self._engine)
            whole = together([await self._share(), *shares])
            body, content_type = await asyncio.to_thread(self._text_of_beans, request, depths, whole)
        return _answer(body, content_type)

    async def _own_share(self, _: str) -> bytes:
        """What this worker contributes to the beans, for another worker."""
        return msgspec.msgpack.encode(await self._share())

    async def _share(self) -> Share:
        engine = self._engine
        queues = [engine.registry.get(QueueName(stats.account, stats.name)) for stats in engine.metrics.queues]
        waiting = {key_of(one.account, one.name): engine.waiters.count(one.uid) for one in queues if one is not None}
        now_s = engine.clock.now_ms() // 1_000
        return await asyncio.to_thread(share_of, engine.metrics, waiting, len(engine.waiters), now_s)

    def _text_of_beans(self, request: web.Request, depths: Sequence[Depth], whole: Share) -> tuple[bytes, str]:
        wanted = request.query.get("qry", "*")
        beans = [bean for bean in self._beans(depths, whole) if fnmatchcase(bean.name, wanted)]
        if request.query.get("format") != "prometheus":
            return as_json(beans), "application/json; charset=utf-8"
        collector = BeanCollector(beans, is_lowercase=request.query.get("lowercase") == "true")
        return exposition(collector, request.headers.get(hdrs.ACCEPT, ""))

    def _beans(self, depths: Sequence[Depth], whole: Share) -> Iterator[Bean]:
        """The node's bean, and those of the queues that have metrics of their own."""
        metrics = self._engine.metrics
        now_ms = self._engine.clock.now_ms()
        counts = metrics.depths.totals()
        facts = Facts(recent=whole.node, counts=counts, waiting=whole.waiting_in_all, now_ms=now_ms)
        yield node_bean(whole, facts)
        for depth in depths[:-1]:
            key = key_of(depth.name.account, depth.name.name)
            facts = Facts(
                recent=whole.queues.get(key, _NO_TRAFFIC),
                counts=depth.counts,
                waiting=whole.waiting.get(key, 0),
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
