"""Which queues a list shows, and in which order: filtered and sorted over all queues by the last sample, so that it
takes a few milliseconds for 10,000; only the visible page gets current counts and rates.

The filter is part of the page's address, so that it can be linked to, bookmarked and reached with the back button.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import nlargest
from operator import attrgetter

import msgspec

from admin.visit import Visit
from cqs.cache.counts import Counts
from cqs.metrics.depths import Depth
from cqs.metrics.rings import QUEUE_SUMS, SAMPLE_S, Ring
from cqs.queue import Queue, QueueName
from cqs.service.engine import Engine

PER_PAGE = 50
ORDERS = ("backlog", "name", "ready", "in_flight", "delayed", "oldest", "in", "out")
RATES = ("in", "out")
_EMPTY = Counts()
_SENT, _DELETED = QUEUE_SUMS.index("sent"), QUEUE_SUMS.index("deleted")


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A filter and an order, from the address."""

    text: str = ""
    kind: str = ""
    """standard, fifo, dead_letter, source; "" = all."""
    tag: str = ""
    """`key` or `key=value`."""
    is_full_only: bool = False
    order: str = "backlog"
    is_up: bool = False

    @property
    def is_filtering(self) -> bool:
        return bool(self.text or self.kind or self.tag or self.is_full_only)


KINDS = {
    "standard": "Standard",
    "fifo": "FIFO",
    "dead_letter": "Dead-letter queues",
    "source": "With a dead-letter queue",
}


COLUMNS = {
    "ready": "Ready",
    "in_flight": "In flight",
    "delayed": "Delayed",
    "oldest": "Oldest",
    "in": "In/s",
    "out": "Out/s",
    "lately": "30 minutes",
    "dead": "Dead letters",
}
"""Optional columns; the name is always shown."""
COLUMNS_COOKIE = "cqs_columns"


def columns_of(visit: Visit) -> list[str]:
    """The columns to show: from the address, else from the browser's cookie, else all."""
    wanted = visit.request.query.getall("cols", []) or visit.request.cookies.get(COLUMNS_COOKIE, "").split(".")
    return [name for name in COLUMNS if name in wanted] or list(COLUMNS)


def choice_of(visit: Visit) -> Choice:
    """The choice in the address; invalid values are ignored."""
    sort = visit.query("sort")
    order = sort.removeprefix("-")
    kind = visit.query("kind")
    is_known = order in ORDERS
    return Choice(
        text=visit.query("q").strip(),
        kind=kind if kind in KINDS else "",
        tag=visit.query("tag").strip(),
        is_full_only=visit.query("full") == "1",
        order=order if is_known else "backlog",
        is_up=(not sort.startswith("-")) if is_known else False,
    )


def find(engine: Engine, account: str, choice: Choice) -> list[Queue]:
    """All queues of the account that match, in order."""
    own = [queue for queue in engine.registry if queue.account == account]
    found = [queue for queue in own if _fits(engine, queue, choice)] if choice.is_filtering else own
    found.sort(key=attrgetter("name"))
    if choice.order != "name":
        return _by_number(engine, found, account, choice)
    if not choice.is_up:
        found.reverse()
    return found


def _by_number(engine: Engine, found: list[Queue], account: str, choice: Choice) -> list[Queue]:
    """By a number that is 0 for most queues: only the others are sorted. Ties stay in order of name."""
    numbers = _rates(engine, account, choice.order) if choice.order in RATES else _depths(engine, account, choice.order)
    some = [queue for queue in found if queue.uid in numbers]
    some.sort(key=lambda queue: numbers[queue.uid], reverse=not choice.is_up)
    rest = [queue for queue in found if queue.uid not in numbers]
    return rest + some if choice.is_up else some + rest


def _rates(engine: Engine, account: str, order: str) -> dict[int, float]:
    """By uid, for the queues that have charts; those without traffic are omitted."""
    now_ms, place = engine.clock.now_ms(), RATES.index(order)
    found: dict[int, float] = {}
    for stats in engine.metrics.queues:
        if stats.account == account and stats.ring is not None and (rate := rates_of(stats.ring, now_ms)[place]):
            queue = engine.registry.get(QueueName(account, stats.name))
            if queue is not None:
                found[queue.uid] = rate
    return found


def _depths(engine: Engine, account: str, order: str) -> dict[int, float]:
    """By uid, for the queues that hold messages; zeros are omitted."""
    number = _number_of(engine, order)
    held = engine.metrics.depths.held()
    return {depth.uid: value for depth in held if depth.name.account == account and (value := number(depth))}


def _number_of(engine: Engine, order: str) -> Callable[[Depth], float]:
    if order == "backlog":
        return attrgetter("messages")
    if order == "oldest":
        now_ms = engine.clock.now_ms()
        return lambda depth: now_ms - (depth.counts.oldest_ms or now_ms)
    return attrgetter(f"counts.{order}")


def fullest(engine: Engine, account: str, limit: int) -> list[Queue]:
    """The queues of the account with the most messages in the last sample, in descending order."""
    held = [depth for depth in engine.metrics.depths.held() if depth.name.account == account]
    sizes = [depth.messages for depth in held]
    least = min(nlargest(limit, sizes), default=0)
    full = [depth for depth, size in zip(held, sizes, strict=True) if size >= least]
    full.sort(key=lambda depth: (-depth.messages, depth.name.name))
    return [queue for depth in full[:limit] if (queue := engine.registry.get(depth.name)) is not None]


def counts_of(engine: Engine, queue: Queue) -> Counts:
    """As last sampled; zeros for a queue that was not sampled yet."""
    depth = engine.metrics.depths.get(queue.uid)
    return depth.counts if depth is not None else _EMPTY


def ring_of(engine: Engine, queue: Queue) -> Ring | None:
    """The queue's chart, if it has one."""
    stats = engine.metrics.queues.get(queue.key)
    return stats.ring if stats is not None else None


def rates_of(ring: Ring | None, now_ms: int) -> tuple[float, float]:
    """Messages sent and deleted per second, over the last minute."""
    if ring is None:
        return 0.0, 0.0
    sent, deleted = ring.series((_SENT, _DELETED), 60, now_ms // 1_000 - SAMPLE_S)
    seconds = SAMPLE_S * max(sum(value is not None for value in sent), 1)
    return _sum(sent) / seconds, _sum(deleted) / seconds


def sparks_of(ring: Ring | None, now_ms: int) -> tuple[list[float | None], list[float | None]]:
    """Messages sent and deleted in each of the last thirty whole minutes: a minute in progress would look like a
    drop."""
    if ring is None:
        return [], []
    sent, deleted = ring.series((_SENT, _DELETED), 1_860, now_ms // 1_000)
    return sent[:-1], deleted[:-1]


def _sum(values: Iterable[float | None]) -> float:
    return sum(value for value in values if value is not None)


def _fits(engine: Engine, queue: Queue, choice: Choice) -> bool:
    if choice.text and choice.text.casefold() not in queue.name.casefold():
        return False
    if choice.kind and not _is_of_kind(engine, queue, choice.kind):
        return False
    if choice.tag:
        key, has_value, value = choice.tag.partition("=")
        if key not in queue.tags or (has_value and queue.tags[key] != value):
            return False
    return not choice.is_full_only or _backlog(counts_of(engine, queue)) > 0


def _is_of_kind(engine: Engine, queue: Queue, kind: str) -> bool:
    if kind == "dead_letter":
        return bool(engine.registry.sources(queue, "", 1))
    if kind == "source":
        return queue.settings.redrive is not None
    return queue.settings.is_fifo == (kind == "fifo")


def _backlog(counts: Counts) -> int:
    return counts.ready + counts.in_flight + counts.delayed
