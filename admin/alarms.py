"""What is wrong, in words, worst first: the top of the overview. The rules use only data that is already known, so
checking 10,000 queues takes a few milliseconds; each alarm links to where the problem can be solved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from admin.abroad import Resident
from admin.formats import counted, duration, number, percent
from admin.queue_list import ring_of
from admin.visit import Visit
from cqs.cache.counts import Counts
from cqs.metrics.declarations import CACHE_TROUBLE
from cqs.metrics.depths import Depth
from cqs.metrics.rings import Ring
from cqs.queue import Queue
from cqs.store.interface import MoveStatus
from cqs.store.report import StoreHost

SHOWN_MAX = 12
ERROR_SHARE_MAX = 0.05
ERRORS_MIN = 5
RETENTION_SHARE_MAX = 0.75
UNREAD_MS_MAX = 300_000
IN_FLIGHT_SHARE_MAX = 0.8
DANGER, WARNING = 0, 1


class Alarm(msgspec.Struct, frozen=True, order=True):
    """`weight` orders alarms of the same level; it is negative, so the largest comes first."""

    level: int
    weight: float
    text: str
    path: str = ""
    where: str = ""

    @property
    def kind(self) -> str:
        return "danger" if self.level == DANGER else "flight"


def alarms_of(visit: Visit, problem: str) -> list[Alarm]:
    """The alarms of the account being viewed, and of the server. `problem`: the result of the health check, "" =
    healthy."""
    found = list(_of_server(visit, problem))
    held, now_ms = visit.console.engine.metrics.depths.held(), visit.now_ms
    in_flight_max = int(IN_FLIGHT_SHARE_MAX * visit.console.engine.tuning.in_flight_max)
    for depth in held:
        if _is_suspect(depth, now_ms, in_flight_max) and depth.name.account == visit.account:
            found += _of_queue(visit, depth)
    found += _failed_moves(visit)
    return sorted(found)


def _is_suspect(depth: Depth, now_ms: int, in_flight_max: int) -> bool:
    """Whether anything might be wrong with a queue. Called for each queue that holds messages, so it must cost next to
    nothing."""
    counts = depth.counts
    age_ms = now_ms - counts.oldest_ms if counts.oldest_ms else 0
    return (
        age_ms > UNREAD_MS_MAX
        or age_ms > RETENTION_SHARE_MAX * depth.retention_ms
        or counts.in_flight > in_flight_max
        or (depth.is_dead_letter and counts.ready > 0)
    )


def _of_server(visit: Visit, problem: str) -> Iterator[Alarm]:
    if problem:
        yield Alarm(DANGER, -1e18, problem)
    for trouble in visit.console.about.troubles():
        yield Alarm(DANGER, -1e17, trouble, visit.links.to("/nodes"), "See")
    if visit.console.engine.waiters.is_draining:
        text = "This node is draining: it tells load balancers to send requests to other nodes."
        yield Alarm(WARNING, -1e18, text, visit.links.to("/nodes"), "See")
    failed, calls = _failures(visit.console.engine.metrics.ring, visit.now_ms)
    if failed >= ERRORS_MIN and failed > ERROR_SHARE_MAX * calls:
        text = f"{percent(failed / calls)} of the calls in the last minute failed ({number(failed)})."
        yield Alarm(WARNING, -1e17, text, visit.links.to("/nodes"), "See which")
    for queue in visit.console.engine.registry.bereft(visit.account):
        text = f"{queue.name}: its dead-letter queue is gone, so failing messages are redelivered until they expire."
        yield Alarm(WARNING, -1.0, text, visit.links.queue(queue, "settings"), "Choose another")


def of_parts(visit: Visit, residents: Sequence[Resident]) -> Iterator[Alarm]:
    """Alarms of cache servers, hosts of the store and other nodes, as far as known without querying them."""
    metrics, path = visit.console.engine.metrics, visit.links.to("/nodes")
    troubled = int(metrics.watched().get(CACHE_TROUBLE, 0))
    if troubled:
        whose = counted(troubled, "cache server is", "cache servers are")
        yield Alarm(DANGER, -1e17, f"{whose} unhealthy: the store answers for their queues, more slowly.", path, "See")
    yield from _of_hosts(metrics.store_report().hosts, path)
    for datacenter, node in residents:
        if node is None:
            yield Alarm(WARNING, -1e18, f"Data centre {datacenter}: no heartbeat from any of its nodes.", path, "See")
        elif node.lost:
            name = f"{node.name} ({datacenter})" if datacenter else node.name
            yield Alarm(WARNING, -1e17, f"Node {name} can't reach {', '.join(node.lost)}.", path, "See")


def _of_hosts(hosts: Sequence[StoreHost], path: str) -> Iterator[Alarm]:
    """One alarm for a data centre that is completely unreachable, else one per host."""
    number_of = Counter(host.datacenter for host in hosts)
    lost = [host for host in hosts if host.is_up is False]
    lost_of = Counter(host.datacenter for host in lost)
    whole = {datacenter: count for datacenter, count in lost_of.items() if count == number_of[datacenter] > 1}
    for datacenter, count in whole.items():
        text = f"Data centre {datacenter}: none of its {count} Cassandra hosts can be reached."
        yield Alarm(DANGER, -1e18, text, path, "See")
    for host in lost:
        if host.datacenter not in whole:
            text = f"Cassandra host {host.address} ({host.datacenter}) can't be reached."
            yield Alarm(WARNING, -1e18, text, path, "See")


def _of_queue(visit: Visit, depth: Depth) -> Iterator[Alarm]:
    counts = depth.counts
    if not (counts.ready or counts.in_flight):
        return
    queue = visit.console.engine.registry.get(depth.name)
    if queue is None or queue.uid != depth.uid:
        return
    age_ms = visit.now_ms - counts.oldest_ms if counts.oldest_ms else 0
    if depth.is_dead_letter and counts.ready:
        yield _dead_letters(visit, queue, counts, age_ms)
    if age_ms > RETENTION_SHARE_MAX * depth.retention_ms:
        left = duration(max(0, depth.retention_ms - age_ms))
        text = f"{queue.name}: its oldest message expires in {left}, when its retention ends."
        yield Alarm(DANGER, -float(age_ms), text, visit.links.queue(queue, "messages"), "Look")
    if not depth.is_dead_letter and counts.ready and age_ms > UNREAD_MS_MAX and not _is_read(visit, queue):
        left = counted(counts.ready, "message waits", "messages wait")
        text = f"{queue.name}: nobody has received from it in the last ten minutes, and {left}."
        yield Alarm(WARNING, -float(age_ms) / 1e3, text, visit.links.queue(queue), "Look")
    if counts.in_flight > IN_FLIGHT_SHARE_MAX * visit.console.engine.tuning.in_flight_max:
        text = f"{queue.name}: {counted(counts.in_flight, 'message is', 'messages are')} in flight, close to the limit."
        yield Alarm(
            DANGER, -float(counts.in_flight), text, visit.links.queue(queue, "messages", state="in_flight"), "Look"
        )


def _failed_moves(visit: Visit) -> Iterator[Alarm]:
    """Alarms of queues whose latest move failed and which still hold messages."""
    engine = visit.console.engine
    for task in engine.moves.newest():
        queue = engine.registry.get(task.source)
        if task.status is MoveStatus.FAILED and queue is not None and queue.account == visit.account:
            depth = engine.metrics.depths.get(queue.uid)
            if depth is not None and (depth.counts.ready or depth.counts.in_flight):
                path = visit.links.to("/moves/task", handle=task.handle)
                yield Alarm(WARNING, -2.0, f"{queue.name}: the last move of its messages failed.", path, "See why")


def _dead_letters(visit: Visit, queue: Queue, counts: Counts, age_ms: int) -> Alarm:
    what = counted(counts.ready, "dead letter")
    since = f", the oldest {duration(age_ms)} old" if age_ms else ""
    path = visit.links.queue(queue, "dead-letters")
    return Alarm(WARNING, -float(counts.ready), f"{queue.name}: {what}{since}.", path, "Handle them")


def _is_read(visit: Visit, queue: Queue) -> bool:
    """Whether somebody received from it recently, or is waiting to. Unknown counts as read: with a shared cache, other
    nodes may receive."""
    if visit.console.engine.metrics.build.cache not in ("", "memory"):
        return True
    if visit.console.engine.waiters.count(queue.uid):
        return True
    ring = ring_of(visit.console.engine, queue)
    if ring is None:
        return visit.console.engine.metrics.queues.get(queue.key) is None
    recent = ring.recent(visit.now_ms // 1_000)
    return bool(recent["received"] or recent["empty_receives"])


def _failures(ring: Ring, now_ms: int) -> tuple[float, float]:
    """Failed calls and all calls in the last minute."""
    chart = ring.chart(60, now_ms // 1_000)
    calls, errors = (chart.fields.index(name) for name in ("calls", "errors"))
    total = sum(row[calls] or 0 for row in chart.rows)
    return sum(row[errors] or 0 for row in chart.rows), total
