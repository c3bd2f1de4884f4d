"""The whole system at a glance: problems in words, then figures, charts, and the fullest queues."""

from __future__ import annotations

import msgspec
from aiohttp import web

from admin.abroad import residents_of
from admin.alarms import SHOWN_MAX, alarms_of, of_parts
from admin.charts import RANGE_NAMES, range_of
from admin.queue_list import fullest
from admin.snippets import Snippets, snippets
from admin.views.nodes import nodes_of
from admin.views.queues import accounts_of, rows_of
from admin.visit import Visit
from cqs.cache.counts import Counts
from cqs.metrics.rings import Ring

TOP_MAX = 8


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Totals over all queues of all accounts; rates cover the last minute."""

    depth: Counts
    sent: float
    received: float
    deleted: float
    calls: float
    errors: float
    hit_ratio: float
    queues: int
    waiting: int
    connections: float | None


async def show(visit: Visit) -> web.StreamResponse:
    """The page: sampled figures, and current counts of the fullest queues."""
    problem = await visit.console.health.problem()
    nodes = await nodes_of(visit)
    heard = await visit.console.abroad.heard()
    parts = list(of_parts(visit, residents_of(visit.console.engine.cluster.datacenter, nodes or (), heard)))
    alarms = sorted([*alarms_of(visit, problem), *parts])
    top = fullest(visit.console.engine, visit.account, TOP_MAX)
    return visit.page(
        "overview.html",
        figures=figures_of(visit),
        alarms=alarms[:SHOWN_MAX],
        more_alarms=len(alarms) - SHOWN_MAX,
        rows=await rows_of(visit, top),
        range=range_of(visit.query("range")),
        ranges=RANGE_NAMES,
        accounts=accounts_of(visit),
        is_whole=not problem and not parts,
        nodes=nodes,
        sampled_ms=visit.console.engine.metrics.depths.sampled_ms,
        snippets=_first_steps(visit) if not len(visit.console.engine.registry) else [],
    )


def _first_steps(visit: Visit) -> Snippets:
    """For a user without queues: commands that create one and send a message through it."""
    url = f"{visit.endpoint}/{visit.account}/hello"
    return snippets(
        visit,
        ("CreateQueue", {"QueueName": "hello"}),
        ("SendMessage", {"QueueUrl": url, "MessageBody": "Hello, world!"}),
        ("ReceiveMessage", {"QueueUrl": url}),
    )


def figures_of(visit: Visit) -> Figures:
    """As last sampled; nothing is counted for this."""
    engine = visit.console.engine
    metrics = engine.metrics
    now_s = visit.now_ms // 1_000
    rates = _rates(metrics.ring, now_s)
    watched = {metric.name: value for metric, value in metrics.watched().items()}
    return Figures(
        depth=metrics.depths.totals(),
        sent=rates["sent"],
        received=rates["received"],
        deleted=rates["deleted"],
        calls=rates["calls"],
        errors=rates["errors"],
        hit_ratio=metrics.hit_ratio(now_s),
        queues=len(engine.registry),
        waiting=len(engine.waiters),
        connections=watched.get("cqs_connections"),
    )


def _rates(ring: Ring, now_s: int) -> dict[str, float]:
    chart = ring.chart(60, now_s)
    rows = [row for row in chart.rows if row[0] is not None]
    seconds = max(len(rows), 1) * chart.period_s
    return {name: sum(row[place] or 0 for row in rows) / seconds for place, name in enumerate(chart.fields)}
