"""A message, and its life.

              append (durable)            take                       remove + delete
    sent ───────────────► ready ────────────────────► in flight ───────────────────────► gone
               │            ▲  ▲                          │
        delay  ▼            │  └──────── reveal ◄─────────┤ timeout runs out, or visibility set to 0
            delayed ────────┘  (due)                      └─► dead-letter queue when received too often

A message is in exactly one of ready, delayed and in flight. Each move between them is one atomic step of the cache;
the store knows only "there" and "gone". These structs are opaque to the garbage collector (`gc=False`): they hold
no cycles, and a million of them must not be walked.
"""

from __future__ import annotations

import msgspec

from cqs import ids


class Attribute(msgspec.Struct, frozen=True, gc=False):
    """One message attribute. `value` is the UTF-8 text or the bytes; its kind is the data type's first word."""

    name: str
    data_type: str
    value: bytes

    @property
    def is_binary(self) -> bool:
        return self.data_type == "Binary" or self.data_type.startswith("Binary.")

    @property
    def size(self) -> int:
        """Bytes that count towards the message size limit (SQS: name + type + value)."""
        return len(self.name.encode()) + len(self.data_type.encode()) + len(self.value)


class Message(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What was sent. Immutable: receiving, hiding and moving never change it (a move writes a new message)."""

    address: int
    body: str
    sent_ms: int
    """Time of the first enqueue: retention counts from here, also in a standard dead-letter queue."""
    visible_ms: int = 0
    """Not before this time (a delay); 0 = at once."""
    sender_id: str = ""
    attributes: tuple[Attribute, ...] = ()
    trace_header: str | None = None
    """AWSTraceHeader, the one system attribute that can be sent."""
    group: str | None = None
    """MessageGroupId: the FIFO group, or the tenant of a fair queue."""
    dedup_id: str | None = None
    sequence: int = 0
    """Order in a FIFO queue; 0 on a standard one."""
    moved_id: str | None = None
    """The message id kept through a move to a dead-letter queue; None = the address is the id."""
    md5: bytes = b""
    """Digest of the body, when whoever made this message had it at hand: see `cqs.digests.of`."""
    source_arn: str | None = None
    """DeadLetterQueueSourceArn: the queue this one came from."""
    earlier_receives: int = 0
    """How often it was received before it became a dead letter: SQS counts over all queues."""
    earlier_first_ms: int = 0
    """When it was received there first."""

    @property
    def message_id(self) -> str:
        return self.moved_id or ids.text_of(self.address)

    @property
    def size(self) -> int:
        """Bytes that count towards the message size limit."""
        return len(self.body.encode()) + sum(attribute.size for attribute in self.attributes)
