"""The contract of the hot state: one queue shard's ready, delayed and in-flight messages.

`cqs.cache.memory` is the readable specification and the embedded backend; the Redis scripts are checked against it.
`tests/contract/test_cache_*.py` is the suite that every backend passes.

Each call is ONE atomic step, and safe to repeat: `put`, `remove` and `fill` by address, `hide` and `give_back` by
receive number, `take` by its request id (the answer is kept for `replay_ms` and given again). Time inside is the
cache's own (the memory backend's clock, Redis' TIME), so the clocks of API nodes do not matter. Every call raises
`CacheUnavailable` when the cache can't be reached or answers wrongly, never a driver's error.

Order. A standard shard is almost first-in first-out: `put` appends; what comes back (timeout, visibility 0, given
back) goes to the front again, unless it was received RECEIVES_BEFORE_BACK times, then to the back (SQS). What was
delayed joins the back when due. Those that come back in one step keep their order (due time, then address). A FIFO
shard keeps each group in order of sequence numbers, and hands out, of a group, only the ready messages before its
first one in flight: as many of one group as it can, then of the next; a group that got its turn goes to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, StrEnum
from typing import Protocol

import msgspec

from cqs.cache.counts import Counts
from cqs.cache.entry import Entry, State
from cqs.cache.page import Page
from cqs.message import Message

RECEIVES_BEFORE_BACK = 3


class Shard(msgspec.Struct, frozen=True, gc=False):
    """The part of a queue that lives on one cache server. `storage_id` names queue and generation."""

    storage_id: int
    is_fifo: bool = False
    number: int = 0


class Residency(StrEnum):
    """Q.STATE of the CQS paper: whether the shard's messages are in this cache."""

    ABSENT = "absent"
    INITIALIZING = "initializing"
    READY = "ready"


class ShardState(msgspec.Struct, frozen=True):
    residency: Residency
    epoch: int
    """Random, new at each fill; 0 when absent. A fill page of another epoch is refused."""


class Ticket(msgspec.Struct, frozen=True, gc=False):
    """A lease that somebody claims to hold: address and receive number, from a receipt handle."""

    address: int
    receive_number: int


class TakeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A receive. `request_id` "" = no replay. On a FIFO shard it is the ReceiveRequestAttemptId: a repeat within
    `replay_ms` gives the same messages and numbers and restarts their timeout, unless one of them was deleted, changed
    or ran out meanwhile; then it is a new receive. An answer without messages is not kept."""

    count_max: int
    visibility_ms: int
    retention_ms: int
    receive_count_max: int = 0
    """Messages received this often already are handed back as `dead` instead; 0 = no dead-letter queue."""
    in_flight_max: int = 120_000
    request_id: str = ""
    replay_ms: int = 10_000
    is_waiting: bool = False
    """The caller waits: if nothing is taken, its node is told what becomes ready from then on (`cqs.cache.bells`)."""


class Received(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A message handed out, with its lease."""

    address: int
    sent_ms: int
    group: str | None
    sequence: int
    message: Message | None
    receive_count: int
    first_receive_ms: int
    receive_number: int
    received_ms: int
    hidden_until_ms: int

    @property
    def ticket(self) -> Ticket:
        return Ticket(self.address, self.receive_number)


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a take."""

    received: list[Received]
    dead: list[Received] = []
    """Over-received: now in flight for DEAD_LEASE_MS, uncounted, so that the caller can move them and a caller that
    dies strands nothing."""
    expired: list[int] = []
    """Addresses past their retention, as far as met: no longer in the cache, to be deleted from the store."""
    residency: Residency = Residency.READY
    """Not READY: nothing was taken, and the store has to answer."""
    is_over_limit: bool = False
    """As many in flight as `in_flight_max`; nothing was taken."""


DEAD_LEASE_MS = 30_000
DEAD_BATCH_MAX = 100


class Outcome(Enum):
    """What became of a claim to a lease."""

    DONE = "done"
    GONE = "gone"
    """No such message."""
    STALE = "stale"
    """A newer lease exists, or (FIFO) this one has run out."""


class Revealed(msgspec.Struct, frozen=True):
    """Answer of `reveal`: how many became ready, what had expired, and when the shard has work again (None = never)."""

    visible: int
    expired: list[int]
    next_ms: int | None


class Sight(msgspec.Struct, frozen=True):
    """A shard at one moment, as people and metrics see it."""

    state: ShardState
    counts: Counts


class QueueCache(Protocol):
    """The hot state of queue shards. See the module's docstring for what holds for every call."""

    async def state(self, shard: Shard) -> ShardState:
        """Residency and epoch of the shard."""

    async def begin_fill(self, shard: Shard, retention_ms: int) -> int | None:
        """absent → Initializing, under this retention, with a new epoch: returned, or None when others fill or did."""

    async def fill(self, shard: Shard, epoch: int, entries: Sequence[Entry], *, is_last: bool) -> bool:
        """Adds entries read from the store (ready, delayed or, with a lease, in flight); the last page makes the shard
        ready. Addresses known or removed meanwhile are left alone. False: the epoch is not this fill's; nothing done.
        Entries come in address order (FIFO: any order)."""

    async def put(self, shard: Shard, entries: Sequence[Entry], epoch: int | None = None) -> Residency:
        """Adds messages, ready or (visible_ms in the future) delayed or, with a lease, in flight; returns residency.
        A known or removed address is left alone: of two leases of a message the first has it, later takes have higher
        numbers than both. Works while Initializing. Nothing happens on an absent shard (the fill finds the message),
        nor, with ABSENT for an answer, on one of another `epoch` (None = any)."""

    async def take(self, shard: Shard, request: TakeRequest) -> Taken:
        """ready → in flight, at most `count_max`; counts the receive and numbers it. With `visibility_ms` 0 they are
        counted, and ready again at once."""

    async def hide(self, shard: Shard, ticket: Ticket, until_ms: int) -> Outcome:
        """Changes when an in-flight message becomes visible; `until_ms` ≤ now makes it ready at once. On a standard
        shard the newest lease may do so even after it ran out (SQS); STALE for an older one, and for any that ran out
        on a FIFO shard. Voids the replay of the take that gave the ticket."""

    async def fence(self, shard: Shard, tickets: Sequence[Ticket], hold_ms: int) -> list[Outcome]:
        """For each: DONE when it is the living lease, which then lasts at least `hold_ms` more, so that a delete on its
        way to the store can't lose it there. FIFO deletes ask this first."""

    async def give_back(self, shard: Shard, tickets: Sequence[Ticket]) -> int:
        """Undoes a take whose answer reached nobody: ready again in the old place, the receive not counted. Returns
        how many; a ticket that is no longer the living lease is passed over."""

    async def remove(self, shard: Shard, addresses: Sequence[int]) -> int:
        """Forgets messages in whatever state, and leaves a tombstone for TOMBSTONE_MS so that a fill page or sweep read
        earlier can't bring them back. Returns how many were known."""

    async def reveal(self, shard: Shard, retention_ms: int, limit: int) -> Revealed:
        """Due in-flight and delayed messages → ready; drops what is past its retention from the head of the ready ones.
        Touches at most `limit` messages; costs only what is due."""

    async def redelay(self, shard: Shard, delay_ms: int) -> None:
        """Every delayed message of a FIFO shard becomes visible at its sent time + `delay_ms`: a changed DelaySeconds
        rules messages already sent (SQS)."""

    async def peek(self, shard: Shard, state: State, after: int | None, limit: int) -> Page:
        """Messages in one state, in address order from above `after`; never hides, never counts, moves nothing."""

    async def browse(self, shard: Shard, state: State, after: int | None, limit: int, is_bare: bool = False) -> Page:
        """As `peek`, at a price that does not grow with a Redis shard: looks at `limit` places, or at fewer, any of
        which may be empty, about in the order of the line. What comes to the front meanwhile may be seen twice, and a
        page goes on only where one before said. `is_bare`: contents may be left out."""

    async def lookup(self, shard: Shard, addresses: Sequence[int]) -> list[Entry | None]:
        """What the cache knows of each message, in whatever state; None = not here. Read-only: do not change them."""

    async def counts(self, shard: Shard) -> Counts:
        """The shard's numbers; zeros when absent."""

    async def survey(self, shards: Sequence[Shard]) -> list[Sight | None]:
        """State and numbers of each, in order, by one call a cache server and SURVEYED_MAX shards: each as it is at a
        moment of its own. None = its server can't be reached; raises CacheUnavailable when none can."""

    async def drop(self, shard: Shard) -> None:
        """Forgets the shard (purged, deleted, to be refilled): absent afterwards."""

    async def vesting(self, limit: int) -> list[Shard]:
        """Shards that have work now for `reveal`; taking one is a lease of VESTING_LEASE_MS, for nodes that die."""

    async def next_vesting_ms(self) -> int | None:
        """When the next shard will have work; None = never, as far as is known."""


SURVEYED_MAX = 50
BROWSED_MAX = 500
TOMBSTONE_MS = 60_000
VESTING_LEASE_MS = 5_000
