"""Which data centre serves a queue's shard, where several share one store and each has cache servers of its own.

    dc1 (home)                           store                      dc2
    ──────────                           ─────                      ───
    serves from its cache                dc1, epoch 3               a client request: not home here
                                    ◄─── mark for dc1 ───────────── answers empty for GRACE_MS
    sees the mark: checks what it                                   serves from the store, leases written and waited for
    takes with the store                                            HOLD_MS after dc1 took it: drops what its cache has,
                                    ◄─── dc2, epoch 4 ───────────── with a conditional write
    learns of it at the next beat,                                  answers empty for GRACE_MS
    drops the shard; acts as dc2 did                                fills, serves from its cache

A home does not move for HOLD_MS, so traffic in both data centres moves it twice a minute at most. A shard is dropped
BEFORE its home is taken. While the home is elsewhere nobody fills the shard here, so leftovers in a cache are never
served. Conditional writes are decided within one data centre. If both decide at once, they write the same epoch; the
later write wins, and the other data centre sees it when it next reads the home.

A node that has not completed a beat for AWAY_MS (it was frozen, or its Cassandra was) may have lost homes without even
its Cassandra knowing yet, and the requests in its sockets are old. It is home to no FIFO queue until it beats again,
plus RETURN_MS, in which Cassandra's nodes exchange what one of them missed. So a FIFO queue's new home begins only when
a former one whose beats are late has ended: GRACE_FIFO_MS after it was taken, or UNTOLD_MS if the node that took it may
have died before it could tell (`cqs.service.home_news`).

Remaining gaps: until replication and a beat have passed (GRACE_MS), dc2 may hand out a message that dc1 just handed
out. A data centre that is cut off keeps serving its shards until it learns of the move. Then it marks a FIFO shard for
dc2, which refills it: messages sent in dc1 meanwhile may follow ones sent later. (For a standard shard the sweep finds
them. Deleted messages are not handed out, since fills carry no contents.)
"""

from __future__ import annotations

from functools import partial

from cqs import ids
from cqs.cache.interface import Shard
from cqs.clock import Clock
from cqs.service.home_news import Told, home_of, news_of
from cqs.service.known_home import KnownHome, key_of, newer
from cqs.side_by_side import side_by_side
from cqs.store.coordination import Coordination, DirtyMark, Home

HOLD_MS = 30_000
GRACE_MS = 3_000
"""By then the other data centre's nodes know of the change, unless their beats are late."""
CHECK_MS, BELIEVED_MS = 10_000, 15_000
"""Homes in use are re-read every CHECK_MS; nothing older than BELIEVED_MS is used."""
READS = 64
"""Homes read concurrently: a node whose beat takes too long may be taken for dead."""
AWAY_MS, RETURN_MS = 5_000, 20_000
GRACE_FIFO_MS, UNTOLD_MS = AWAY_MS + 2_000, BELIEVED_MS + GRACE_MS
"""By then the other data centre's nodes hand out no FIFO messages: nor if their beats are late, nor if they were not
told. Two seconds are for replication and for clocks."""
COVER_MS = 600_000
_ABROAD = "abroad "


class Homes:
    """Belongs to one event loop. Methods that read or write raise StoreUnavailable, OutcomeUnknown."""

    def __init__(self, coordination: Coordination, clock: Clock, datacenter: str, node: str) -> None:
        self._coordination = coordination
        self._clock = clock
        self._node = f"{_ABROAD}{datacenter}/{node}"
        self._known: dict[tuple[int, int], KnownHome] = {}
        self._marks: dict[Shard, tuple[DirtyMark, str]] = {}
        self._told = Told()
        self._heard_ms = clock.now_ms()
        self._returns_ms = 0
        self.datacenter = datacenter
        self.lost: list[Shard] = []
        """Shards whose home moved away since the last beat."""
        self.left: set[Shard] = set()
        """FIFO shards whose home moved away and that may have been served here for too long."""
        self.untold: dict[Shard, list[int]] = {}
        """Messages sent here that their home has yet to be told of."""
        self.late: dict[Shard, dict[int, int]] = {}
        """Messages sent elsewhere that have not replicated here yet, and until when to wait for them."""

    @property
    def count(self) -> int:
        """How many shards anything is known of."""
        return len(self._known.keys() | {key_of(shard) for shard in self._marks})

    async def look(self, shard: Shard) -> Home | None:
        """The home as last read; reads it again if that is BELIEVED_MS ago."""
        known = self._known.get(key_of(shard))
        if known is None or self._clock.now_ms() - known.checked_ms >= BELIEVED_MS:
            known = await self._read(shard)
        known.is_used = True
        known.shard = newer(known.shard, shard)
        return known.home

    async def is_here(self, shard: Shard) -> bool:
        """Whether this data centre serves the shard and the former home has stopped."""
        home = await self.look(shard)
        return home is not None and home.datacenter == self.datacenter and not self._is_doubtful(shard, home)

    async def take(self, shard: Shard) -> bool:
        """Makes this data centre the home, by a conditional write. False: another node changed the home first."""
        home = await self.look(shard)
        taken = await self._coordination.take_home(*key_of(shard), home)
        if taken is None:
            await self._read(shard)
            return False
        self._learn(shard, taken)
        self._marks.pop(shard, None)
        await self._coordination.announce(news_of(taken))
        self._told.note(taken, self._clock.now_ms())
        return True

    async def may_take(self, shard: Shard) -> bool:
        """Whether the shard has no home, or another data centre has had it for HOLD_MS."""
        home = await self.look(shard)
        if home is None:
            return True
        return home.datacenter != self.datacenter and self._clock.now_ms() - home.taken_ms >= HOLD_MS

    async def may_serve_from_store(self, shard: Shard) -> bool:
        """Whether nobody hands out the shard's messages without checking the store."""
        home = await self.look(shard)
        if home is None:
            return True
        if home.datacenter == self.datacenter:
            return not self._is_doubtful(shard, home)
        return not shard.is_fifo and await self._mark(shard, home)

    async def mark(self, shard: Shard) -> None:
        """Records that the shard changed outside its home, which checks the store from its next beat on. A FIFO shard
        is refilled there. Durable when it returns."""
        home = await self.look(shard)
        if home is None or home.datacenter == self.datacenter:
            return
        if shard.is_fifo:
            await self._coordination.mark_dirty(self._new_mark(shard, 0), home.datacenter)
        else:
            await self._mark(shard, home)

    async def _mark(self, shard: Shard, home: Home) -> bool:
        """Whether the home's nodes know of it by now."""
        now_ms = self._clock.now_ms()
        mark, where = self._marks.get(shard, (None, ""))
        if mark is None or where != home.datacenter or now_ms >= ids.ms_of(mark.high_address):
            mark = None
        if mark is None or now_ms >= ids.ms_of(mark.high_address) - COVER_MS // 2:
            since_ms = now_ms if mark is None else mark.since_ms
            mark = self._new_mark(shard, ids.first_at(now_ms + COVER_MS), since_ms)
            await self._coordination.mark_dirty(mark, home.datacenter)
            self._marks[shard] = mark, home.datacenter
        return now_ms - mark.since_ms >= GRACE_MS

    async def own_up(self, shard: Shard) -> None:
        """Marks a FIFO shard that moved away if this node learned of it too late."""
        home = (await self._read(shard)).home
        if home is not None and self._clock.now_ms() - home.taken_ms >= GRACE_MS:
            await self.mark(shard)
        self.left.discard(shard)

    def _new_mark(self, shard: Shard, high_address: int, since_ms: int | None = None) -> DirtyMark:
        return DirtyMark(
            storage_id=shard.storage_id,
            shard=shard.number,
            node=self._node,
            since_ms=self._clock.now_ms() if since_ms is None else since_ms,
            low_address=0,
            high_address=high_address,
        )

    def is_over(self, mark: DirtyMark) -> bool:
        """Whether the other data centre is done with what it marked, so that the shard can be refilled. Always True for
        this data centre's own marks."""
        return not mark.node.startswith(_ABROAD) or ids.ms_of(mark.high_address) <= self._clock.now_ms()

    async def check(self, heard_ms: int) -> None:
        """Runs at each successful beat, which began to read the news at `heard_ms`. Re-reads the homes in use, and
        forgets unused ones elsewhere; changes to homes here arrive as news."""
        now_ms = self._clock.now_ms()
        if heard_ms - self._heard_ms >= AWAY_MS:
            self._returns_ms = now_ms + RETURN_MS
        self._heard_ms = heard_ms
        self._told.forget_old(now_ms)
        due: list[Shard] = []
        for key, known in list(self._known.items()):
            age_ms = now_ms - known.checked_ms
            if known.is_used and (age_ms >= CHECK_MS or now_ms < self._returns_ms):
                due.append(known.shard)
            elif age_ms >= BELIEVED_MS and not self.is_known_here(known.shard):
                del self._known[key]
        await side_by_side([partial(self._check, shard) for shard in due], READS)

    async def _check(self, shard: Shard) -> None:
        (await self._read(shard)).is_used = False

    def forget(self, shard: Shard) -> None:
        """The queue was deleted."""
        self._known.pop(key_of(shard), None)
        self._marks.pop(shard, None)

    def hear(self, subject: str) -> None:
        """Another data centre took a home; an older value that replicates later does not undo it."""
        now_ms = self._clock.now_ms()
        told = home_of(subject, now_ms)
        self._told.note(told, now_ms)
        known = self._known.get((told.queue_uid, told.shard))
        if known is None or (known.home is not None and known.home.epoch > told.epoch):
            return
        if known.home is not None and known.home.epoch < told.epoch:
            self._learn(known.shard, told)
        elif known.home is None or known.home.datacenter != told.datacenter:
            known.checked_ms = now_ms - BELIEVED_MS

    def still_lost(self) -> list[Shard]:
        """Shards that moved away and have not come back. Each is returned once."""
        lost, self.lost = self.lost, []
        return [shard for shard in lost if not self.is_known_here(shard)]

    def is_known_here(self, shard: Shard) -> bool:
        known = self._known.get(key_of(shard))
        return known is not None and known.home is not None and known.home.datacenter == self.datacenter

    async def _read(self, shard: Shard) -> KnownHome:
        return self._learn(shard, await self._coordination.home(*key_of(shard)))

    def _learn(self, shard: Shard, home: Home | None) -> KnownHome:
        before = self._known.get(key_of(shard))
        if before is not None and before.home is not None and (home is None or home.epoch < before.home.epoch):
            home = before.home
        was_here = self.is_known_here(shard)
        shard = shard if before is None else newer(before.shard, shard)
        known = self._known[key_of(shard)] = KnownHome(shard, home, self._clock.now_ms())
        if was_here and not self.is_known_here(shard):
            self.lost.append(shard)
            if shard.is_fifo:
                self.left.add(shard)
        return known

    def _is_doubtful(self, shard: Shard, home: Home) -> bool:
        """Whether another data centre may serve the shard although this one is recorded as its home."""
        now_ms = self._clock.now_ms()
        if home.epoch > 1 and now_ms - home.taken_ms < self._grace_ms(shard, home):
            return True
        return shard.is_fifo and (now_ms - self._heard_ms >= AWAY_MS or now_ms < self._returns_ms)

    def _grace_ms(self, shard: Shard, home: Home) -> int:
        if not shard.is_fifo:
            return GRACE_MS
        return GRACE_FIFO_MS if self._told.has(home) else UNTOLD_MS
