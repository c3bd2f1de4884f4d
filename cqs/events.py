"""What happened to messages, told once, in one place: the service calls a `Witness`, and metrics, the console's message
lives and the event journal are witnesses. A witness never blocks and never raises.

The journal writes it down as JSON, and Spark reads it again: `Line`, one event, is the schema of both sides. Its place
is (node, incarnation, number), and the numbers of one incarnation have no gap:

    opened │ sent │ received │ deleted │ … │ closed      one file
       1       2       3          4      …    500        the next one opens with 501

A line of text holds events of one kind, by columns: what is of the `Head` once, all else as arrays of a value for each
event, or of one value that all of them have. That takes a third of the bytes and about half of the time.

    {"v":2,"node":"api-1","incarnation":"…","event":"deleted","number":[4,9],"at_ms":[…],"queue":["orders"],"address":[…]}

Fields that do not belong to an event are left out. Fields may be added; a changed meaning is a new VERSION.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from cqs.cache.interface import Received
from cqs.ids import pack, text_of
from cqs.message import Message
from cqs.queue import Queue
from cqs.receipt import Receipt

VERSION = 2
RUN_ATTRIBUTE, SENDER_ATTRIBUTE, INDEX_ATTRIBUTE = "cqs.run", "cqs.sender", "cqs.index"
"""Message attributes by which a sender says which run and which sender this is, and the how manieth of its messages."""


class EventName(StrEnum):
    """What a line tells."""

    SENT = "sent"
    DEDUPLICATED = "deduplicated"
    DOUBTFUL = "doubtful"
    RECEIVED = "received"
    FROM_STORE = "from_store"
    RECEIVED_NOTHING = "received_nothing"
    GIVEN_BACK = "given_back"
    DELETED = "deleted"
    HIDDEN = "hidden"
    REVEALED = "revealed"
    EXPIRED = "expired"
    MOVED = "moved"
    PURGED = "purged"
    QUEUE_DELETED = "queue_deleted"
    DROPPED_EVENTS = "dropped_events"
    PRUNED = "pruned"
    ALIVE = "alive"
    """All that this incarnation was told before is written: an idle server says so every now and then."""
    OPENED = "opened"
    CLOSED = "closed"


class Head(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """What a line of text says once."""

    v: int
    node: str
    incarnation: str
    """Random at each start of the node."""
    event: EventName
    file: int = 0
    """opened, closed: the how manieth file of the incarnation."""
    sampled: int = 0
    """opened: one message in so many is written down."""
    checksum: int = 0
    """closed: sum of the CRC-32 of each line of text before, without its end."""
    is_last: bool = False
    """closed: the incarnation ended in order, and no file follows. Without it, nobody would miss a lost one."""
    predecessor: str = ""
    """opened, the incarnation's first file: the incarnation of the same node that was the latest in the folder."""
    counts: dict[str, int] = {}
    """closed: events by kind, `opened` included."""


class Line(Head, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """One event. Times in ms since the epoch, by the node's clock unless said otherwise."""

    number: int
    at_ms: int
    account: str = ""
    queue: str = ""
    uid: int = 0
    generation: int = 0
    """With `uid`: which incarnation of the queue, and how often it was purged before."""
    is_fifo: bool = False
    address: str = ""
    """The message's address as text, which is its message id unless it was moved; unique for all time."""
    message_id: str = ""
    md5: str = ""
    """Of the body."""
    bytes: int = 0
    tenant: str = ""
    """MessageGroupId."""
    sequence: int = 0
    sent_ms: int = 0
    visible_ms: int = 0
    begun_ms: int = 0
    """deleted, of a FIFO queue: when the delete began. The next of the group may be received before it is told."""
    sender_id: str = ""
    run: str = ""
    sender: str = ""
    index: int = -1
    """`run`, `sender`, `index`: from the message attributes above."""
    receiver_id: str = ""
    call: int = 0
    """Number of the first event of the same call: what was received together."""
    receive_number: int = 0
    """The place in the order of receives: a counter of the cache's, not a clock. hidden: of the receive, as
    `received_ms`."""
    receive_count: int = 0
    received_ms: int = 0
    """By the cache's clock, as `hidden_until_ms`. received_nothing: by the node's, when it was for the last time."""
    hidden_until_ms: int = 0
    to_queue: str = ""
    to_uid: int = 0
    to_generation: int = 0
    to_address: str = ""
    count: int = 0
    """received_nothing, revealed: how often. dropped_events: how many. pruned: files. closed: events before."""


_SHARED = {field.name for field in msgspec.structs.fields(Head)}
COLUMNS = tuple(field.name for field in msgspec.structs.fields(Line) if field.name not in _SHARED)
"""Fields that are arrays in a line of text."""


def address_text(key: int, tail: int) -> str:
    """The address that a store keeps as these two numbers, as lines have it."""
    return text_of(pack(key, tail))


class Witness(Protocol):
    """Hears of every step of every message, after it was made. It may keep what it is given, which nobody changes."""

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None: ...

    def deduplicated(self, queue: Queue, addresses: Sequence[int]) -> None:
        """A send was answered with the first message of its deduplication id."""

    def doubtful(self, queue: Queue, addresses: Sequence[int]) -> None:
        """A send or a delete of these failed with OutcomeUnknown: nobody knows whether they are in the store."""

    def received(
        self, queue: Queue, received: Sequence[Received], *, is_from_store: bool, receiver_id: str = ""
    ) -> None:
        """All by one call; `message` is always there."""

    def received_nothing(self, queue: Queue) -> None: ...

    def given_back(self, queue: Queue, received: Sequence[Received]) -> None:
        """A receive's answer reached nobody."""

    def deleted(self, queue: Queue, addresses: Sequence[int], begun_ms: int = 0) -> None:
        """`begun_ms`: since when they may have been gone, where an order hangs on it (FIFO); 0 = since now."""

    def hidden(self, queue: Queue, receipt: Receipt, until_ms: int) -> None:
        """By the receive of the receipt; as early as it may be, when it is not known whether it was written."""

    def revealed(self, queue: Queue, count: int) -> None:
        """Timeouts ran out or delays came due."""

    def expired(self, queue: Queue, addresses: Sequence[int]) -> None: ...

    def moved(self, source: Queue, target: Queue, messages: Sequence[tuple[int, Message]]) -> None:
        """Old address and new message, by redrive to a dead-letter queue or by a move task."""

    def purged(self, queue: Queue) -> None:
        """What earlier generations of the queue held is gone."""

    def queue_deleted(self, queue: Queue) -> None:
        """The queue and what it held is gone."""


class NullWitness:
    """Hears nothing: for tools and tests that do not care."""

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None:
        pass

    def deduplicated(self, queue: Queue, addresses: Sequence[int]) -> None:
        pass

    def doubtful(self, queue: Queue, addresses: Sequence[int]) -> None:
        pass

    def received(
        self, queue: Queue, received: Sequence[Received], *, is_from_store: bool, receiver_id: str = ""
    ) -> None:
        pass

    def received_nothing(self, queue: Queue) -> None:
        pass

    def given_back(self, queue: Queue, received: Sequence[Received]) -> None:
        pass

    def deleted(self, queue: Queue, addresses: Sequence[int], begun_ms: int = 0) -> None:
        pass

    def hidden(self, queue: Queue, receipt: Receipt, until_ms: int) -> None:
        pass

    def revealed(self, queue: Queue, count: int) -> None:
        pass

    def expired(self, queue: Queue, addresses: Sequence[int]) -> None:
        pass

    def moved(self, source: Queue, target: Queue, messages: Sequence[tuple[int, Message]]) -> None:
        pass

    def purged(self, queue: Queue) -> None:
        pass

    def queue_deleted(self, queue: Queue) -> None:
        pass
