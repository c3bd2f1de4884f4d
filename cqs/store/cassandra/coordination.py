"""`Coordination` in tables: heartbeats and leases end by TTL; leaderships and homes change by conditional writes.

Writes that are not stamped by the store carry their node's clock. So no node or life of a node overwrites what another
one wrote: each life has its own heartbeat row and marks, and a mark is removed with a stamp above all others, so that
no clock that is behind matters.

News is read by the minute: the current one and those since the last look. Rows have the server's own timestamps, so
nodes remember which news they have heard, rather than a point in time.
"""

from __future__ import annotations

import asyncio
from uuid import UUID

import msgspec

from cqs import ids
from cqs.clock import Clock
from cqs.errors import CqsError
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.addresses import FAR_STAMP
from cqs.store.cassandra.decisions import decide
from cqs.store.cassandra.earlier_clock import store_ms
from cqs.store.cassandra.session import Session, Write, whole
from cqs.store.coordination import DirtyMark, Home, News, Node, in_order
from cqs.store.definitions import Definitions

MINUTE_MS = 60_000
LOOK_BACK_MINUTES = 1
"""Nodes' clocks differ by less than this."""
MINUTES_MAX = 60
NEWS_AT_ONCE = 100
PROBES = 16
"""Partitions that are read to find out whether any of them has its quorum."""
_encode = msgspec.json.Encoder().encode


class CassandraCoordination:
    """A `Coordination` over the session of an open store. Belongs to one event loop."""

    def __init__(self, session: Session, clock: Clock) -> None:
        self._session = session
        self._clock = clock
        self._nodes = Definitions(Node)
        self._heard: dict[UUID, int] = {}
        """Stamp and minute of the news this node has heard."""
        self._minute = clock.now_ms() // MINUTE_MS

    @property
    def datacenter(self) -> str:
        """This node's data centre."""
        return self._session.datacenter

    async def now_ms(self) -> int:
        return await store_ms(self._session)

    async def is_reached(self) -> bool:
        asked = [self._session.read(cql.PROBE, ("probe", str(number))) for number in range(PROBES)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        return not all(isinstance(answer, CqsError) for answer in answers)

    async def beat(self, node: Node, ttl_ms: int) -> None:
        values = (self.datacenter, node.life, _encode(node).decode(), _ttl_s(ttl_ms))
        await self._session.write([Write(cql.BEAT, values)])

    async def nodes(self, datacenter: str = "") -> list[Node]:
        return in_order(self._nodes.all(await self._session.read(cql.READ_NODES, (datacenter or self.datacenter,))))

    async def lead(self, name: str, holder: str, ttl_ms: int) -> bool:
        ttl_s = _ttl_s(ttl_ms)
        is_ours = False
        for write in (
            Write(cql.RENEW_LEAD, (ttl_s, holder, name, holder)),
            Write(cql.TAKE_LEAD, (name, holder, ttl_s)),
        ):
            is_ours = is_ours or (await self._decide(write))[0]
        return is_ours

    async def resign(self, name: str, holder: str) -> None:
        await self._decide(Write(cql.RESIGN_LEAD, (name, holder)))

    async def home(self, queue_uid: int, shard: int) -> Home | None:
        rows = whole(await self._session.read(cql.READ_HOME, (queue_uid, shard)))
        if not rows:
            return None
        datacenter, epoch, taken_us = rows[0]
        return Home(queue_uid, shard, datacenter, epoch, taken_us // 1_000)

    async def take_home(self, queue_uid: int, shard: int, known: Home | None) -> Home | None:
        datacenter, epoch = self.datacenter, 1 if known is None else known.epoch + 1
        if known is None:
            write = Write(cql.FIRST_HOME, (queue_uid, shard, datacenter, 1))
        else:
            condition = (queue_uid, shard, known.datacenter, known.epoch)
            write = Write(cql.MOVE_HOME, (datacenter, epoch, *condition))

        async def present() -> Home | None:
            home = await self.home(queue_uid, shard)
            return home if home is not None and (home.datacenter, home.epoch) == (datacenter, epoch) else None

        async def is_ours() -> bool:
            return await present() is not None

        is_taken, _ = await decide(self._session, [write], is_ours)
        return await present() if is_taken else None

    async def mark_dirty(self, mark: DirtyMark, datacenter: str = "") -> None:
        low, high = mark.low_address, mark.high_address
        addresses = (ids.key_of(low), ids.tail_of(low), ids.key_of(high), ids.tail_of(high))
        await self._session.write([Write(cql.MARK_DIRTY, (datacenter or self.datacenter, *_key_of(mark), *addresses))])

    async def dirty_marks(self) -> list[DirtyMark]:
        return [
            DirtyMark(
                storage_id=storage_id,
                shard=shard,
                node=node,
                since_ms=since_ms,
                low_address=ids.pack(low_at, low_tail),
                high_address=ids.pack(high_at, high_tail),
            )
            for storage_id, shard, node, since_ms, low_at, low_tail, high_at, high_tail in whole(
                await self._session.all(cql.READ_DIRTY, (self.datacenter,))
            )
        ]

    async def repaired(self, mark: DirtyMark) -> None:
        await self._session.write([Write(cql.CLEAN, (FAR_STAMP, self.datacenter, *_key_of(mark)))])

    async def announce(self, news: News) -> None:
        minute = self._clock.now_ms() // MINUTE_MS
        await self._session.write([Write(cql.ANNOUNCE, (minute, news.kind, news.subject))])

    async def news(self) -> list[News] | None:
        now = self._clock.now_ms() // MINUTE_MS
        first = self._minute - LOOK_BACK_MINUTES
        is_too_long = now - first > MINUTES_MAX
        fresh: list[News] = []
        heard: dict[UUID, int] = {}
        for minute in range(now - LOOK_BACK_MINUTES if is_too_long else first, now + LOOK_BACK_MINUTES + 1):
            for stamp, one in await self._fresh(minute):
                heard[stamp] = minute
                fresh.append(one)
        self._minute = now
        self._heard |= heard  # Only now, when all was read: minutes are partitions, and one may be out of reach.
        self._heard = {stamp: minute for stamp, minute in self._heard.items() if minute >= now - 2 * LOOK_BACK_MINUTES}
        return None if is_too_long else fresh

    async def _fresh(self, minute: int) -> list[tuple[UUID, News]]:
        """The minute's news that this node has not heard. During an outage there may be a lot of news: only unheard
        rows are read in full."""
        stamps = [stamp for (stamp,) in await self._session.all(cql.NEWS_STAMPS, (minute,))]
        unheard = [stamp for stamp in stamps if stamp not in self._heard]
        found: list[tuple[UUID, News]] = []
        for start in range(0, len(unheard), NEWS_AT_ONCE):
            asked = (minute, unheard[start : start + NEWS_AT_ONCE])
            rows = whole(await self._session.read(cql.READ_NEWS, asked))
            found += [(stamp, News(kind, subject)) for stamp, kind, subject in rows]
        return found

    async def _decide(self, write: Write) -> tuple[bool, object]:
        async def maybe() -> bool:
            return False

        return await decide(self._session, [write], maybe)


def _key_of(mark: DirtyMark) -> tuple[object, ...]:
    return mark.storage_id, mark.shard, mark.node, mark.since_ms


def _ttl_s(ttl_ms: int) -> int:
    return max(1, ttl_ms // 1_000)
