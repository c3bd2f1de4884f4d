"""The contract of the hot state: the ready, delayed and in-flight messages of a queue shard.

`cqs.cache.memory` is the readable specification and the embedded backend; the Redis scripts are tested against it.
Every backend passes the suite `tests/contract/test_cache_*.py`.

Each call is ONE atomic step (on Redis a large call is one step per page) and idempotent: `put`, `remove` and `fill` by
address, `hide` and `give_back` by receive number, `take` by its request id (the answer is kept for `replay_ms` and
replayed). Time is the cache's own (the memory backend's clock, Redis' TIME), so the clocks of API nodes do not matter.
Every call raises `CacheUnavailable`, never a driver's error, when the cache can't be reached or sends an invalid
answer.

Order. A standard shard is almost first-in first-out: `put` appends; a message that returns (timeout, visibility 0,
given back) goes to the front again or, once received RECEIVES_BEFORE_BACK times, to the back (SQS). Delayed messages
join the back when due. Messages that return in one step keep their order (due time, then address). A FIFO shard keeps
each group in sequence number order and hands out only a group's ready messages that precede its first one in flight: as
many of one group as it can, then of the next; a group that has had its turn goes to the end.
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
    """The part of a queue that lives on one cache server. `storage_id` identifies the queue and its generation."""

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
    """Random, new for each fill; 0 when absent. A fill page with another epoch is refused."""


class Ticket(msgspec.Struct, frozen=True, gc=False):
    """A claim to a lease: address and receive number, from a receipt handle."""

    address: int
    receive_number: int


class TakeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A receive. `request_id` "" = no replay. On a FIFO shard it is the ReceiveRequestAttemptId: a repeat within
    `replay_ms` returns the same messages and receive numbers and restarts their visibility timeout. If one of them was
    deleted or changed or has timed out since, it is a new receive. An empty answer is not kept."""

    count_max: int
    visibility_ms: int
    retention_ms: int
    receive_count_max: int = 0
    """Messages already received this often are returned as `dead` instead; 0 = no dead-letter queue."""
    in_flight_max: int = 120_000
    request_id: str = ""
    replay_ms: int = 10_000
    is_waiting: bool = False
    """The receive is long polling: if nothing is taken, its node is notified of messages that become ready from then on
    (`cqs.cache.bells`)."""


class Received(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A message handed out, and its lease."""

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
    """Messages received too often. They are now in flight for DEAD_LEASE_MS and the receive is not counted: the caller
    can move them, and if it dies they become visible again."""
    expired: list[int] = []
    """Addresses of messages found past their retention: removed from the cache, still to be deleted from the store."""
    residency: Residency = Residency.READY
    """If not READY, nothing was taken and the store has to answer."""
    is_over_limit: bool = False
    """`in_flight_max` messages are in flight; nothing was taken."""


DEAD_LEASE_MS = 30_000
DEAD_BATCH_MAX = 100


class Outcome(Enum):
    """The result of a claim to a lease."""

    DONE = "done"
    GONE = "gone"
    """No such message."""
    STALE = "stale"
    """A newer lease exists, or (FIFO) this one has run out."""


class Revealed(msgspec.Struct, frozen=True):
    """Answer of `reveal`: how many messages became ready, which had expired, and when the shard has work next (None =
    never)."""

    visible: int
    expired: list[int]
    next_ms: int | None


class Sight(msgspec.Struct, frozen=True):
    """A snapshot of a shard, for people and metrics."""

    state: ShardState
    counts: Counts
    stranded: int = 0
    """So many ready messages at least can't be handed out, since they are missing in the line of the shard; always 0,
    as far as anybody knows."""


class QueueCache(Protocol):
    """The hot state of queue shards. The module's docstring says what holds for every call."""

    async def state(self, shard: Shard) -> ShardState:
        """Residency and epoch of the shard."""

    async def begin_fill(self, shard: Shard, retention_ms: int) -> int | None:
        """absent → Initializing, with this retention and a new epoch, which is returned; None when another caller is
        filling or has filled the shard."""

    async def fill(self, shard: Shard, epoch: int, entries: Sequence[Entry], *, is_last: bool) -> bool:
        """Adds entries read from the store (ready, delayed or, with a lease, in flight); the last page makes the shard
        ready. Skips addresses that are known or have been removed. False: the epoch is not this fill's, and nothing was
        done. Entries come in address order (FIFO: any order)."""

    async def put(self, shard: Shard, entries: Sequence[Entry], epoch: int | None = None) -> Residency:
        """Adds messages as ready, delayed (`visible_ms` in the future) or, with a lease, in flight; returns the
        residency. Skips known and removed addresses: of two leases of a message the first wins, and later takes get
        higher numbers than both. Works while Initializing. Does nothing on an absent shard (the fill will find the
        message) or on one with another `epoch` (None = any), where it returns ABSENT."""

    async def take(self, shard: Shard, request: TakeRequest) -> Taken:
        """ready → in flight, at most `count_max`; counts and numbers each receive. With `visibility_ms` 0 the messages
        are counted and become ready again at once."""

    async def hide(self, shard: Shard, ticket: Ticket, until_ms: int) -> Outcome:
        """Changes when an in-flight message becomes visible; `until_ms` ≤ now makes it ready at once. On a standard
        shard the newest lease may do so even after it has expired (SQS); STALE for an older lease, and on a FIFO shard
        for any expired one. Voids the replay of the take that gave the ticket."""

    async def fence(self, shard: Shard, tickets: Sequence[Ticket], hold_ms: int) -> list[Outcome]:
        """For each ticket: DONE when it is the current lease, which is then extended to at least `hold_ms` from now, so
        that it can't expire while a delete is on its way to the store. FIFO deletes call this first."""

    async def give_back(self, shard: Shard, tickets: Sequence[Ticket]) -> int:
        """Undoes a take whose answer reached nobody: the messages are ready again in their old place, and the receive
        is not counted. Returns how many; skips tickets that are no longer the current lease."""

    async def remove(self, shard: Shard, addresses: Sequence[int]) -> int:
        """Removes messages in any state, and leaves a tombstone for TOMBSTONE_MS so that a fill page or a sweep read
        earlier can't bring them back. Returns how many were known."""

    async def reveal(self, shard: Shard, retention_ms: int, limit: int) -> Revealed:
        """Due in-flight and delayed messages → ready; drops messages past their retention from the head of the ready
        ones. Touches at most `limit` messages; the cost depends only on what is due."""

    async def redelay(self, shard: Shard, delay_ms: int) -> None:
        """Makes every delayed message of a FIFO shard visible at its sent time + `delay_ms`: there, a changed
        DelaySeconds applies to messages already sent (SQS)."""

    async def peek(self, shard: Shard, state: State, after: int | None, limit: int) -> Page:
        """Messages in one state with addresses above `after`, in address order; changes and counts nothing."""

    async def browse(self, shard: Shard, state: State, after: int | None, limit: int, is_bare: bool = False) -> Page:
        """Like `peek`, but in Redis its cost does not grow with the shard: looks at up to `limit` positions, any of
        which may be empty, roughly in delivery order. Messages that move to the front meanwhile may be seen twice.
        `after` must come from an earlier page. `is_bare`: contents may be left out."""

    async def lookup(self, shard: Shard, addresses: Sequence[int]) -> list[Entry | None]:
        """What the cache holds for each message, in any state; None = not here. Do not modify the entries."""

    async def counts(self, shard: Shard) -> Counts:
        """The shard's counts; zeros when absent."""

    async def survey(self, shards: Sequence[Shard]) -> list[Sight | None]:
        """State and counts of each shard, in order, with one call per cache server and SURVEYED_MAX shards. Shards are
        not seen at the same moment. None = its server can't be reached; raises CacheUnavailable when no server can."""

    async def drop(self, shard: Shard) -> None:
        """Forgets the shard (purged, deleted, or to be refilled): it is absent afterwards."""

    async def vesting(self, limit: int) -> list[Shard]:
        """Shards that have work for `reveal` now. Each is leased for VESTING_LEASE_MS, so that another node takes over
        if this one dies."""

    async def next_vesting_ms(self) -> int | None:
        """When the next shard will have work; None = never, as far as the cache knows."""


SURVEYED_MAX = 50
BROWSED_MAX = 500
TOMBSTONE_MS = 60_000
VESTING_LEASE_MS = 5_000
