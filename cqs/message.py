"""A message and its life cycle.

              append (durable)            take                       remove + delete
    sent ───────────────► ready ────────────────────► in flight ───────────────────────► gone
               │            ▲  ▲                          │
        delay  ▼            │  └──────── reveal ◄─────────┤ timeout expires, or visibility set to 0
            delayed ────────┘  (due)                      └─► dead-letter queue after too many receives

A message is in exactly one of the states ready, delayed and in flight. Each transition is one atomic operation of the
cache; the store knows only "present" and "gone". The garbage collector does not track these structs (`gc=False`): they
contain no cycles, and it must not scan a million of them.
"""

from __future__ import annotations

import msgspec

from cqs import ids


class Attribute(msgspec.Struct, frozen=True, gc=False):
    """One message attribute. `value` is the UTF-8 text or the bytes; the first word of the data type says which."""

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
    """A message as sent. Immutable: receiving and hiding do not change it, and a move writes a new message."""

    address: int
    body: str
    sent_ms: int
    """When it was first enqueued: retention counts from here, also in a standard dead-letter queue."""
    visible_ms: int = 0
    """Delayed until this time; 0 = no delay."""
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
    """The message id, kept after a move to a dead-letter queue; None = the address is the id."""
    md5: bytes = b""
    """Digest of the body, if it was known when the message was created; see `cqs.digests.of_body`."""
    source_arn: str | None = None
    """DeadLetterQueueSourceArn: the queue that it came from."""
    earlier_receives: int = 0
    """How often it was received before it went to the dead-letter queue: SQS counts across queues."""
    earlier_first_ms: int = 0
    """When it was first received there."""

    @property
    def message_id(self) -> str:
        return self.moved_id or ids.text_of(self.address)

    @property
    def size(self) -> int:
        """Bytes that count towards the message size limit."""
        return len(self.body.encode()) + sum(attribute.size for attribute in self.attributes)

    @property
    def weight(self) -> int:
        """About how many bytes it takes in a store: `size` without encoding anything, less for text beyond ASCII."""
        weight = len(self.body)
        for attribute in self.attributes:
            weight += len(attribute.value)
        return weight
