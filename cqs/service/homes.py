"""Which data centre serves a queue's shard, where several share one store and each has cache servers of its own.

    dc1 (home)                           store                      dc2
    ──────────                           ─────                      ───
    serves from its cache                dc1, epoch 3               a client comes: not here
                                    ◄─── mark for dc1 ───────────── answers empty for GRACE_MS
    sees the mark: checks what it                                   serves from the store, leases written and waited for
    takes with the store                                            HOLD_MS after dc1 took it: drops what its cache has,
                                    ◄─── dc2, epoch 4 ───────────── by a conditional write
    hears of it at the next beat,                                   answers empty for GRACE_MS
    drops the shard, asks dc2's way                                 fills, serves from its cache

A home stays where it is for HOLD_MS, so that traffic in both data centres moves it twice a minute at most. A shard is
dropped BEFORE its home is taken: while the home is elsewhere nobody fills it here, so whatever a cache kept from an
earlier time is never served. Conditional writes are decided within a data centre; two that decide apart write the same
epoch, the later one stays, and the other data centre sees it at the next look.

A node that has not heard for AWAY_MS (it was frozen, or its Cassandra was) may have lost homes that even its Cassandra
does not know of yet, and what waits in its sockets is from before. It is home to no FIFO queue until it hears again and
for RETURN_MS more, in which Cassandra's nodes tell each other what one of them missed.

The moments that stay: until replication and a beat have passed (GRACE_MS), a message that dc1 just handed out may be
handed out by dc2 as well. A data centre that is cut off from the other one serves what it is home to until it hears;
then it marks a FIFO shard for dc2, which fills it anew: what was sent in dc1 meanwhile would come behind what was sent
after it. (Of a standard one the sweep finds it; what was deleted is not handed out, since fills bring no contents.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from cqs import ids
from cqs.cache.interface import Shard
from cqs.clock import Clock
from cqs.queue import GENERATION_BITS
from cqs.side_by_side import side_by_side
from cqs.store.coordination import Coordination, DirtyMark, Home, News

HOLD_MS = 30_000
GRACE_MS = 3_000
"""By then the nodes of the other data centre have heard, or hand out no FIFO messages."""
CHECK_MS, BELIEVED_MS = 10_000, 15_000
"""Homes in use are read anew this often, and no older knowledge is used."""
READS = 64
"""Homes read side by side: a beat that takes long is one of a node that may be taken for dead."""
AWAY_MS, RETURN_MS = 5_000, 20_000
COVER_MS = 600_000
TAKEN = "home"
_ABROAD = "abroad "
_Key = tuple[int, int]


@dataclass(slots=True)
class _Known:
    shard: Shard
    home: Home | None
    checked_ms: int
    is_used: bool = True


class Homes:
    """Belongs to one event loop. What reads or writes raises StoreUnavailable, OutcomeUnknown."""

    def __init__(self, coordination: Coordination, clock: Clock, datacenter: str, node: str) -> None:
        self._coordination = coordination
        self._clock = clock
        self._node = f"{_ABROAD}{datacenter}/{node}"
        self._known: dict[_Key, _Known] = {}
        self._marks: dict[Shard, tuple[DirtyMark, str]] = {}
        self._heard_ms = clock.now_ms()
        self._returns_ms = 0
        self.datacenter = datacenter
        self.lost: list[Shard] = []
        """Went elsewhere since the last beat."""
        self.left: set[Shard] = set()
        """FIFO ones that went elsewhere, and may have been served here for longer than they should."""
        self.untold: dict[Shard, list[int]] = {}
        """Messages sent here that their home has yet to be told of."""
        self.late: dict[Shard, dict[int, int]] = {}
        """Messages sent elsewhere that are not in the store here yet: until when they are waited for."""

    @property
    def count(self) -> int:
        """Shards of which anything is remembered."""
        return len(self._known.keys() | {_key_of(shard) for shard in self._marks})

    async def look(self, shard: Shard) -> Home | None:
        """The home, as far as is known; read when nobody looked for BELIEVED_MS."""
        known = self._known.get(_key_of(shard))
        if known is None or self._clock.now_ms() - known.checked_ms >= BELIEVED_MS:
            known = await self._read(shard)
        known.is_used = True
        return known.home

    async def is_here(self, shard: Shard) -> bool:
        """Whether this data centre serves the shard, and the former home has stopped."""
        home = await self.look(shard)
        return home is not None and home.datacenter == self.datacenter and not self._is_doubtful(shard, home)

    async def take(self, shard: Shard) -> bool:
        """Makes this data centre the home, unless the present one has to stay. False: it is elsewhere."""
        home = await self.look(shard)
        taken = await self._coordination.take_home(*_key_of(shard), home)
        if taken is None:
            await self._read(shard)
            return False
        self._learn(shard, taken)
        self._marks.pop(shard, None)
        await self._coordination.announce(_news_of(taken))
        return True

    async def may_take(self, shard: Shard) -> bool:
        """Whether nobody has the shard, or another data centre has had it for HOLD_MS."""
        home = await self.look(shard)
        if home is None:
            return True
        return home.datacenter != self.datacenter and self._clock.now_ms() - home.taken_ms >= HOLD_MS

    async def may_serve_from_store(self, shard: Shard) -> bool:
        """Whether nobody hands out the shard's messages without a look at the store."""
        home = await self.look(shard)
        if home is None:
            return True
        if home.datacenter == self.datacenter:
            return not self._is_doubtful(shard, home)
        return not shard.is_fifo and await self._mark(shard, home)

    async def mark(self, shard: Shard) -> None:
        """Something of the shard changed past its home, which looks at the store from its next beat on. A FIFO shard is
        filled anew there. Durable when it returns."""
        home = await self.look(shard)
        if home is None or home.datacenter == self.datacenter:
            return
        if shard.is_fifo:
            await self._coordination.mark_dirty(self._new_mark(shard, 0), home.datacenter)
        else:
            await self._mark(shard, home)

    async def _mark(self, shard: Shard, home: Home) -> bool:
        """Whether the home's nodes know of it."""
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
        """Marks a shard that went elsewhere when this node heard of it later than the grace allows for."""
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
        """Whether the other data centre does no more of what it marked, so that the shard can be filled anew. Of a mark
        of this data centre's: True."""
        return not mark.node.startswith(_ABROAD) or ids.ms_of(mark.high_address) <= self._clock.now_ms()

    async def check(self) -> None:
        """At each beat that was answered. Reads the homes that are in use. Forgets those elsewhere that are not; news
        tell of those here."""
        now_ms = self._clock.now_ms()
        if now_ms - self._heard_ms >= AWAY_MS:
            self._returns_ms = now_ms + RETURN_MS
        self._heard_ms = now_ms
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
        """The queue is gone."""
        self._known.pop(_key_of(shard), None)
        self._marks.pop(shard, None)

    def hear(self, subject: str) -> None:
        """Another data centre took a home; what is replicated later does not undo it."""
        uid, number, datacenter, epoch = subject.split("/")
        known = self._known.get((int(uid), int(number)))
        if known is None or (known.home is not None and known.home.epoch > int(epoch)):
            return
        if known.home is not None and known.home.epoch < int(epoch):
            self._learn(known.shard, Home(int(uid), int(number), datacenter, int(epoch), self._clock.now_ms()))
        elif known.home is None or known.home.datacenter != datacenter:
            known.checked_ms = self._clock.now_ms() - BELIEVED_MS

    def still_lost(self) -> list[Shard]:
        """Those that went elsewhere and have not come back; told once."""
        lost, self.lost = self.lost, []
        return [shard for shard in lost if not self.is_known_here(shard)]

    def is_known_here(self, shard: Shard) -> bool:
        known = self._known.get(_key_of(shard))
        return known is not None and known.home is not None and known.home.datacenter == self.datacenter

    async def _read(self, shard: Shard) -> _Known:
        return self._learn(shard, await self._coordination.home(*_key_of(shard)))

    def _learn(self, shard: Shard, home: Home | None) -> _Known:
        before = self._known.get(_key_of(shard))
        if before is not None and before.home is not None and (home is None or home.epoch < before.home.epoch):
            home = before.home
        was_here = self.is_known_here(shard)
        known = self._known[_key_of(shard)] = _Known(shard, home, self._clock.now_ms())
        if was_here and not self.is_known_here(shard):
            self.lost.append(shard)
            if shard.is_fifo:
                self.left.add(shard)
        return known

    def _is_doubtful(self, shard: Shard, home: Home) -> bool:
        """Whether another data centre may serve the shard, though this one is told to be its home."""
        now_ms = self._clock.now_ms()
        is_moving = home.epoch > 1 and now_ms - home.taken_ms < GRACE_MS
        return is_moving or (shard.is_fifo and (now_ms - self._heard_ms >= AWAY_MS or now_ms < self._returns_ms))


def _key_of(shard: Shard) -> _Key:
    """A queue keeps its home when it is purged."""
    return shard.storage_id >> GENERATION_BITS, shard.number


def _news_of(home: Home) -> News:
    return News(TAKEN, f"{home.queue_uid}/{home.shard}/{home.datacenter}/{home.epoch}")
