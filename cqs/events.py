"""What happened to messages, reported in one place: the service calls a `Witness`; metrics, the console's message
histories and the event journal are witnesses. A witness never blocks and never raises.

The journal writes events as JSON, and Spark reads them: `Line`, one event, is the schema of both sides. Its position is
(node, incarnation, number), and the numbers of one incarnation have no gaps:

    opened │ sent │ received │ deleted │ … │ closed      one file
       1       2       3          4      …    500        the next one opens with 501

A line of text holds events of one kind as columns: the fields of `Head` once, all others as arrays with one value per
event, or with a single value that applies to all. That takes a third of the bytes and about half of the time.

    {"v":2,"node":"api-1","incarnation":"…","event":"deleted","number":[4,9],"at_ms":[…],"queue":["orders"],"address":[…]}

Fields that do not belong to an event are left out. Fields may be added; a changed meaning requires a new VERSION.
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
"""Message attributes in which a sender states its run, its own name, and the index of the message among its own."""


class EventName(StrEnum):
    """The kind of event."""

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
    """Everything reported before by this incarnation is written: an idle server says so every now and then."""
    OPENED = "opened"
    CLOSED = "closed"


class Head(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """The fields that a line of text has once."""

    v: int
    node: str
    incarnation: str
    """Random, new each time the node starts."""
    event: EventName
    file: int = 0
    """opened, closed: the file's number within the incarnation."""
    sampled: int = 0
    """opened: one message in this many is recorded."""
    checksum: int = 0
    """closed: sum of the CRC-32 of each line of text before this one, without its newline."""
    is_last: bool = False
    """closed: the incarnation ended in order, and no file follows. Without this, the loss of the last file would go
    unnoticed."""
    predecessor: str = ""
    """opened, first file of an incarnation: the same node's most recent incarnation in the folder."""
    counts: dict[str, int] = {}
    """closed: number of events by kind, including `opened`."""


class Line(Head, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """One event. Times in ms since the epoch, by the node's clock unless stated otherwise."""

    number: int
    at_ms: int
    account: str = ""
    queue: str = ""
    uid: int = 0
    generation: int = 0
    """With `uid`: the queue's incarnation and how often it had been purged."""
    is_fifo: bool = False
    address: str = ""
    """The message's address as text, which is its message id unless the message was moved; globally unique."""
    message_id: str = ""
    md5: str = ""
    """MD5 of the body."""
    bytes: int = 0
    tenant: str = ""
    """MessageGroupId."""
    sequence: int = 0
    sent_ms: int = 0
    visible_ms: int = 0
    begun_ms: int = 0
    """deleted, FIFO queues: when the delete began. The group's next message may be received before the delete is
    reported."""
    sender_id: str = ""
    run: str = ""
    sender: str = ""
    index: int = -1
    """`run`, `sender`, `index`: from the message attributes above."""
    receiver_id: str = ""
    call: int = 0
    """Number of the first event of the same call: groups messages that were received together."""
    receive_number: int = 0
    """Position in the order of receives: a counter of the cache, not a clock. hidden: that of the receive, as is
    `received_ms`."""
    receive_count: int = 0
    received_ms: int = 0
    """By the cache's clock, as is `hidden_until_ms`. received_nothing: the last time, by the node's clock."""
    hidden_until_ms: int = 0
    to_queue: str = ""
    to_uid: int = 0
    to_generation: int = 0
    to_address: str = ""
    count: int = 0
    """received_nothing, revealed: how often. dropped_events: how many. pruned: files. closed: events before."""


_SHARED = {field.name for field in msgspec.structs.fields(Head)}
COLUMNS = tuple(field.name for field in msgspec.structs.fields(Line) if field.name not in _SHARED)
"""The fields that are arrays in a line of text."""


def address_text(key: int, tail: int) -> str:
    """The text form, as used in lines, of an address that a store keeps as these two numbers."""
    return text_of(pack(key, tail))


class Witness(Protocol):
    """Is told every step of every message, after it happened. It may keep the arguments, which nobody modifies."""

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None:
        """Messages of one call: they have one sender and one time."""

    def deduplicated(self, queue: Queue, addresses: Sequence[int]) -> None:
        """A send was answered with the first message that had its deduplication id."""

    def doubtful(self, queue: Queue, addresses: Sequence[int]) -> None:
        """A send or a delete of these failed with OutcomeUnknown: it is unknown whether they are in the store."""

    def received(
        self, queue: Queue, received: Sequence[Received], *, is_from_store: bool, receiver_id: str = ""
    ) -> None:
        """Messages received by one call; `message` is always set."""

    def received_nothing(self, queue: Queue) -> None: ...

    def given_back(self, queue: Queue, received: Sequence[Received]) -> None:
        """A receive's response reached nobody."""

    def deleted(self, queue: Queue, addresses: Sequence[int], begun_ms: int = 0) -> None:
        """`begun_ms`: the earliest time at which they may have been gone, where order depends on it (FIFO); 0 = now."""

    def hidden(self, queue: Queue, receipt: Receipt, until_ms: int) -> None:
        """By the receive in the receipt. If it is unknown whether the change was written, `until_ms` is the earliest
        possible."""

    def revealed(self, queue: Queue, count: int) -> None:
        """Visibility timeouts ended or delays came due."""

    def expired(self, queue: Queue, addresses: Sequence[int]) -> None: ...

    def moved(self, source: Queue, target: Queue, messages: Sequence[tuple[int, Message]]) -> None:
        """Old address and new message, moved by redrive to a dead-letter queue or by a move task."""

    def purged(self, queue: Queue) -> None:
        """The messages of earlier generations of the queue are gone."""

    def queue_deleted(self, queue: Queue) -> None:
        """The queue and its messages are gone."""


class NullWitness:
    """Ignores everything: for tools and tests that need no witness."""

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
