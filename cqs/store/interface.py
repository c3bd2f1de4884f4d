"""The contract of the durable store: messages (add and remove only), FIFO claims, leases, and the catalogue.

`tests/contract/test_store_*.py` is the suite that every backend passes. What a call has returned survives `kill -9`
at any instant. Every call raises `StoreUnavailable` when nothing was done, or `OutcomeUnknown` when a write may or may
not have happened; never a driver's error. All writes are idempotent by address, so a retry is always safe.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from cqs.message import Message
from cqs.queue import Queue, QueueName


class Lease(msgspec.Struct, frozen=True, gc=False):
    """A receive, written down so that hiding and counts survive the loss of the cache."""

    address: int
    hidden_until_ms: int
    receive_count: int
    first_receive_ms: int
    receive_number: int
    handed_us: int = 0
    """The store's own, and told by no read: when it was handed this one. Of leases of one number the latest counts,
    however late it is written."""


class Stored(msgspec.Struct, frozen=True, gc=False):
    """A message as `scan` tells of it: no body. `lease` is its last one, also when that has run out."""

    address: int
    sent_ms: int
    visible_ms: int
    group: str | None
    sequence: int
    lease: Lease | None


class Wanted(msgspec.Struct, frozen=True):
    """A send's wish to be the first with its deduplication id. `scope` is "" or, per group, the group id."""

    scope: str
    dedup_id: str
    address: int


class Claim(msgspec.Struct, frozen=True):
    """What the deduplication window says. `is_new`: the wish came true and `sequence` is the message's own; else the
    address and sequence are those of the message sent first."""

    address: int
    sequence: int
    is_new: bool


class Move(msgspec.Struct, frozen=True):
    """`old_address` leaves its queue, `message` arrives in the other one."""

    old_address: int
    message: Message


class MessageStore(Protocol):
    """Durable messages. Deletes win over appends of the same address, whatever their order."""

    async def append(self, queue: Queue, messages: Sequence[Message]) -> None:
        """Durable when it returns; confirms the claims of the messages it writes, in the same commit."""

    async def claim(self, queue: Queue, wanted: Sequence[Wanted], window_ms: int) -> list[Claim]:
        """One address and sequence per (scope, deduplication id) for `window_ms` from the first send. Sequences grow in
        the order of the claims, within the queue and over restarts; a claim with dedup_id "" only wants a sequence.
        A claim whose append is under way elsewhere is waited for: confirmed, it is the answer; released, it is taken
        over. Repeats within one call get the first one's, without waiting."""

    async def release(self, queue: Queue, addresses: Sequence[int]) -> None:
        """Gives up new claims whose append failed. Unknown or confirmed ones are left alone."""

    async def delete(self, queue: Queue, addresses: Sequence[int]) -> None:
        """Durable when it returns; unknown addresses are fine."""

    async def move(self, source: Queue, target: Queue, moves: Sequence[Move]) -> list[Message]:
        """Destination first, then the source; both in one commit where the store can. A message whose old address is
        gone already is not moved where the store can tell, so that a delete beats a move. Returns the messages that are
        in the target now: only those may be put into its cache."""

    async def read(self, queue: Queue, addresses: Sequence[int]) -> list[Message]:
        """The messages that exist, in the order asked for; damaged ones (checksum) are left out and logged."""

    async def head(self, queue: Queue, row: int, limit: int) -> list[Message]:
        """The oldest messages of one row, 0 ≤ row < rows: what Return-From-Cassandra serves."""

    async def occupied(self, queue: Queue, rows: Sequence[int]) -> list[int]:
        """Those of the rows that may hold messages, by one look at all of them; at worst all."""

    def scan(self, queue: Queue) -> AsyncIterator[list[Stored]]:
        """All messages of the queue in pages, in address order within a row, with their leases."""

    async def lease(self, queue: Queue, leases: Sequence[Lease]) -> None:
        """Writes leases down; durable when it returns (callers of standard receives do not wait). A later receive
        number replaces an earlier one; a lease of a message that is gone does no harm."""

    def lease_soon(self, queue: Queue, leases: Sequence[Lease]) -> None:
        """As `lease`, for callers that do not wait: durable LEASE_SOON_MS and one commit later. Never raises
        and never blocks; what could not be written is counted and logged, and costs a duplicate after a crash at most.
        Belongs to the event loop's thread."""

    async def leases(self, queue: Queue, addresses: Sequence[int]) -> list[Lease | None]:
        """The last lease of each message, also when it has run out; None = never received, or gone. Includes what
        `lease` has returned for; what `lease_soon` was given may be missing."""

    @property
    def rows(self) -> int:
        """How many rows a queue has (CQS: 100)."""

    @property
    def reads_confirm(self) -> bool:
        """Whether what `read` finds is as durable as what `append` has returned for. False where appends have to reach
        every data centre: reads ask this one alone."""


LEASE_SOON_MS = 15


class MoveStatus(StrEnum):
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    CANCELLING = "CANCELLING"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


class MoveTask(msgspec.Struct, frozen=True, kw_only=True):
    """A StartMessageMoveTask. `target_arn` "" = each message back to its own source."""

    handle: str
    source: QueueName
    source_arn: str
    target_arn: str = ""
    rate_max: int = 0
    """Messages a second; 0 = as fast as it goes."""
    status: MoveStatus = MoveStatus.RUNNING
    moved: int = 0
    to_move: int = 0
    failure: str = ""
    started_ms: int


class Catalog(Protocol):
    """Queues, move tasks and the cluster's secret, durable. Few and small: conditional writes are fine here."""

    async def secret(self) -> bytes:
        """32 random bytes, made once for the whole cluster: the key of receipt handles."""

    async def queues(self) -> list[Queue]:
        """All queues."""

    async def find(self, key: QueueName) -> Queue | None:
        """One queue, as it is now."""

    async def create(self, queue: Queue) -> Queue:
        """The queue, unless one of that name exists: then that one is returned and nothing changes."""

    async def save(self, queue: Queue) -> bool:
        """Replaces the queue of this name, uid and the version below; False when it is not that any more."""

    async def drop(self, queue: Queue, now_ms: int) -> bool:
        """Deletes the queue with this uid and all it holds, and remembers when; False when it is gone already."""

    async def dropped_ms(self, key: QueueName) -> int:
        """When a queue of this name was last dropped; 0 = never, or longer ago than anybody asks (an hour)."""

    async def move_tasks(self) -> list[MoveTask]:
        """All tasks, newest first, finished ones included (at most MOVE_TASKS_KEPT a source)."""

    async def save_move_task(self, task: MoveTask) -> None:
        """Adds or replaces the task with this handle."""


MOVE_TASKS_KEPT = 10
DROPPED_KEPT_MS = 3_600_000


class Store(MessageStore, Catalog, Protocol):
    """A backend as server.py opens and closes it."""

    async def open(self) -> None:
        """Makes ready to serve. Raises StoreUnavailable with the reason and what to do."""

    async def close(self) -> None:
        """Finishes what was accepted. Idempotent."""

    async def highest_address(self) -> int:
        """An address that no stored message is above: new ones must be. 0 when there is none."""
