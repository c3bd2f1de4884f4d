"""The nodes: what runs here and since when, which calls it answers, how fast and with which failures, and the state of
cache and store."""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from aiohttp import web

from admin.abroad import residents_of
from admin.snippets import of_each
from admin.visit import Visit
from cqs.cache.report import ServerReport
from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.metrics.calls import CallStats
from cqs.metrics.histogram import Histogram
from cqs.metrics.timed import LayerTimes
from cqs.service.engine import shard_of
from cqs.store.coordination import Node

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MAX_RSS_UNIT = 1 if sys.platform == "darwin" else 1_024


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """One action, or one call of a layer. Times in seconds; upper bounds of histogram buckets."""

    name: str
    count: int
    failed: int
    half_s: float
    most_s: float
    mean_s: float
    failures: tuple[tuple[str, int], ...] = ()


class Share(NamedTuple):
    """What one cache server holds: queues, their share of all (0 to 1), and messages as last sampled."""

    queues: int = 0
    part: float = 0.0
    messages: int = 0


async def show(visit: Visit) -> web.StreamResponse:
    """This node's metrics since it started."""
    engine, metrics = visit.console.engine, visit.console.engine.metrics
    actions = sorted((_action(name, stats) for name, stats in metrics.calls.by_action.items()), key=_by_count)
    layers = [
        ("Cache", metrics.build.cache, _layer(metrics.cache)),
        ("Store", metrics.build.store, _layer(metrics.store)),
    ]
    servers_ms, servers = await _servers(visit)
    watched = sorted((metric.help, value) for metric, value in metrics.watched().items())
    nodes, heard = await nodes_of(visit), await visit.console.abroad.heard()
    return visit.page(
        "nodes.html",
        build=metrics.build,
        host=visit.console.about.node or platform.node(),
        process=os.getpid(),
        started_ms=metrics.started_ms,
        is_leader=metrics.is_leader(),
        memory=_memory(),
        lag=_timing("", metrics.loop_lag),
        commit=_timing("", metrics.commit_duration),
        jobs=metrics.commit_jobs.total / metrics.commit_jobs.count if metrics.commit_jobs.count else 0,
        actions=actions,
        layers=layers,
        watched=watched,
        problem=await visit.console.health.problem(),
        troubles=visit.console.about.troubles(),
        servers=servers,
        servers_ms=servers_ms,
        shares=await _shares(visit),
        no_share=Share(),
        is_draining=engine.waiters.is_draining,
        residents=residents_of(engine.cluster.datacenter, nodes or (), heard),
        beat_ms=max((node.beat_ms for node in nodes or ()), default=0),
        heard_ms=heard.asked_ms,
        store=metrics.store_report(),
        waiting=len(engine.waiters),
        snippets=of_each(visit, ("Drain", "DrainNode", {}), ("Undo the drain", "DrainNode", {"Draining": False})),
    )


async def _shares(visit: Visit) -> Mapping[str, Share]:
    """What each cache server holds."""
    engine, place = visit.console.engine, visit.console.about.place

    async def count() -> Mapping[str, Share]:
        queues: Counter[str] = Counter()
        messages: Counter[str] = Counter()
        for queue in engine.registry:
            server = place(shard_of(queue))
            queues[server] += 1
            depth = engine.metrics.depths.get(queue.uid)
            messages[server] += depth.messages if depth is not None else 0
        whole = max(1, queues.total())
        return {server: Share(count, count / whole, messages[server]) for server, count in queues.items()}

    if visit.console.about.servers is None:
        return {}
    return await visit.console.thrift.ask("shares", count, is_fresh=not visit.is_refresh)


async def _servers(visit: Visit) -> tuple[int, Mapping[str, ServerReport]]:
    """The reports with the time they were requested. Requested rarely: each is a round trip to a server that may not
    respond."""
    ask = visit.console.about.servers
    if ask is None:
        return visit.now_ms, {}

    async def find_out() -> tuple[int, Mapping[str, ServerReport]]:
        reports = await ask()
        return visit.now_ms, reports

    return await visit.console.thrift.ask("servers", find_out, is_fresh=not visit.is_refresh)


async def nodes_of(visit: Visit) -> Sequence[Node] | None:
    """All living nodes; None when they are unknown at the moment, or when there is only this one."""
    ask = visit.console.about.nodes
    try:
        return await ask() if ask is not None else None
    except (StoreUnavailable, OutcomeUnknown):
        return None


def _action(name: str, stats: CallStats) -> Timing:
    timing = _timing(name, stats.duration)
    failures = tuple(stats.failures.most_common())
    failed = sum(count for _, count in failures)
    return msgspec.structs.replace(timing, count=stats.ok + failed, failed=failed, failures=failures)


def _layer(times: LayerTimes) -> list[Timing]:
    found = []
    for name, call in times.by_call.items():
        if call.duration.count or call.errors:
            timing = _timing(name.replace("_", " "), call.duration)
            found.append(msgspec.structs.replace(timing, count=timing.count + call.errors, failed=call.errors))
    return sorted(found, key=_by_count)


def _timing(name: str, histogram: Histogram) -> Timing:
    count = histogram.count
    return Timing(
        name=name,
        count=count,
        failed=0,
        half_s=histogram.quantile(0.5),
        most_s=histogram.quantile(0.99),
        mean_s=histogram.total / histogram.unit / count if count else 0.0,
    )


def _by_count(timing: Timing) -> int:
    return -timing.count


def _memory() -> int:
    """The process's memory in bytes; where the system does not report it, its peak."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAX_RSS_UNIT
