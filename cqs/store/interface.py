"""The contract of the durable store: messages (add and remove only), FIFO claims, leases, and the catalogue.

Every backend passes the suite `tests/contract/test_store_*.py`. The effects of calls that returned survive `kill -9` at
any instant. Every call raises `StoreUnavailable` when nothing was done, or `OutcomeUnknown` when a write may or may not
have happened; never a driver's error. All writes are idempotent by address, so a retry is always safe.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from cqs.errors import StoreUnavailable
from cqs.message import Message
from cqs.queue import Queue, QueueName


class Unreadable(StoreUnavailable):
    """The record asked for is damaged, or of another version: it stays so until an operator acts."""


class Lease(msgspec.Struct, frozen=True, gc=False):
    """A receive, stored so that its visibility timeout and count survive the loss of the cache."""

    address: int
    hidden_until_ms: int
    receive_count: int
    first_receive_ms: int
    receive_number: int
    handed_us: int = 0
    """When the store was given this lease; used by the store only, and not returned by reads. Of leases with the same
    number the latest counts, however late it is written."""


class Stored(msgspec.Struct, frozen=True, gc=False):
    """A message as `scan` returns it: without its body. `lease` is its last one, even if expired."""

    address: int
    sent_ms: int
    visible_ms: int
    group: str | None
    sequence: int
    lease: Lease | None


class Wanted(msgspec.Struct, frozen=True):
    """A send's request to be the first with its deduplication id. `scope` is "" or, per group, the group id."""

    scope: str
    dedup_id: str
    address: int


class Claim(msgspec.Struct, frozen=True):
    """The answer of the deduplication window. `is_new`: the request was granted and `sequence` is the message's own;
    otherwise address and sequence are those of the message sent first."""

    address: int
    sequence: int
    is_new: bool


class Move(msgspec.Struct, frozen=True):
    """`old_address` leaves its queue, and `message` arrives in the other one."""

    old_address: int
    message: Message


class MessageStore(Protocol):
    """Durable messages. A delete wins over an append of the same address, whatever their order."""

    async def append(self, queue: Queue, messages: Sequence[Message]) -> None:
        """Durable when it returns; confirms the claims of the messages in the same commit."""

    async def claim(self, queue: Queue, wanted: Sequence[Wanted], window_ms: int) -> list[Claim]:
        """Grants one address and sequence per (scope, deduplication id) for `window_ms` from the first send. Sequences
        grow in the order of the claims, within the queue and across restarts; a claim with dedup_id "" only requests a
        sequence. Waits for a claim whose append is under way elsewhere: if confirmed it is the answer, if released it
        is taken over. Repeats within one call get the answer of the first, without waiting."""

    async def release(self, queue: Queue, addresses: Sequence[int]) -> None:
        """Gives up new claims whose append failed. Unknown or confirmed ones are left alone."""

    async def delete(self, queue: Queue, addresses: Sequence[int]) -> None:
        """Durable when it returns; unknown addresses are ignored."""

    async def move(self, source: Queue, target: Queue, moves: Sequence[Move]) -> list[Message]:
        """Writes to the target first, then deletes from the source; both in one commit where the store can. Where the
        store can tell, a message whose old address is gone already is not moved, so that a delete wins over a move.
        Returns the messages that are now in the target: only those may be put into its cache."""

    async def read(self, queue: Queue, addresses: Sequence[int]) -> list[Message]:
        """The messages that exist, in the requested order; damaged ones (checksum) are left out and logged."""

    async def head(self, queue: Queue, row: int, limit: int) -> list[Message]:
        """The oldest messages of one row, 0 ≤ row < rows: what Return-From-Cassandra serves."""

    async def occupied(self, queue: Queue, rows: Sequence[int]) -> list[int]:
        """Those of the rows that may hold messages, found by one look at all of them; in the worst case all."""

    def scan(self, queue: Queue) -> AsyncIterator[list[Stored]]:
        """All messages of the queue in pages, in address order within a row, with their leases."""

    async def lease(self, queue: Queue, leases: Sequence[Lease]) -> None:
        """Stores leases; durable when it returns (callers of standard receives do not wait). A later receive number
        replaces an earlier one; a lease of a deleted message does no harm."""

    def lease_soon(self, queue: Queue, leases: Sequence[Lease]) -> None:
        """Like `lease`, for callers that do not wait: durable after LEASE_SOON_MS and one commit. Never raises and
        never blocks; failures are counted and logged, and at worst cause a duplicate after a crash. Belongs to the
        event loop's thread."""

    async def leases(self, queue: Queue, addresses: Sequence[int]) -> list[Lease | None]:
        """The last lease of each message, even if expired; None = never received, or deleted. Includes all leases for
        which `lease` has returned; those passed to `lease_soon` may be missing."""

    @property
    def rows(self) -> int:
        """Number of rows of a queue (CQS: 100)."""

    @property
    def reads_confirm(self) -> bool:
        """Whether a message found by `read` is as durable as one for which `append` has returned. False where appends
        must reach every data centre, since reads ask only this one."""


LEASE_SOON_MS = 15


class MoveStatus(StrEnum):
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    CANCELLING = "CANCELLING"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


class MoveTask(msgspec.Struct, frozen=True, kw_only=True):
    """A StartMessageMoveTask. `target_arn` "" = each message returns to its own source."""

    handle: str
    source: QueueName
    source_arn: str
    source_uid: int = 0
    """A queue created later under the same name is another one; 0 = not known, any."""
    target_arn: str = ""
    rate_max: int = 0
    """Messages per second; 0 = as fast as possible."""
    status: MoveStatus = MoveStatus.RUNNING
    moved: int = 0
    to_move: int = 0
    failure: str = ""
    started_ms: int


class Catalog(Protocol):
    """Queues, move tasks and the cluster's secret, durable. Few and small, so conditional writes are fine here."""

    async def secret(self) -> bytes:
        """32 random bytes, generated once for the whole cluster: the key of receipt handles."""

    async def queues(self) -> list[Queue]:
        """All queues."""

    async def find(self, key: QueueName) -> Queue | None:
        """The current state of one queue."""

    async def create(self, queue: Queue) -> Queue:
        """Creates the queue, unless one with that name exists: then returns that one and changes nothing."""

    async def save(self, queue: Queue) -> bool:
        """Replaces the queue with this name and uid and the preceding version; False when there is no such queue any
        more."""

    async def drop(self, queue: Queue, now_ms: int) -> bool:
        """Deletes the queue with this uid and everything in it, and records when; False when it is gone already."""

    async def dropped_ms(self, key: QueueName) -> int:
        """When a queue with this name was last deleted; 0 = never, or more than an hour ago."""

    async def move_tasks(self) -> list[MoveTask]:
        """All tasks, newest first, including finished ones (at most MOVE_TASKS_KEPT per source)."""

    async def save_move_task(self, task: MoveTask) -> None:
        """Adds or replaces the task with this handle."""


MOVE_TASKS_KEPT = 10
DROPPED_KEPT_MS = 3_600_000


class Store(MessageStore, Catalog, Protocol):
    """A backend as server.py opens and closes it."""

    async def open(self) -> None:
        """Prepares to serve. Raises StoreUnavailable with the reason and the remedy."""

    async def close(self) -> None:
        """Completes accepted work. Idempotent."""

    async def highest_address(self) -> int:
        """No stored message has a higher address, and new ones must have: a lower bound for new addresses. 0 when there
        is none."""
