"""SQS in a hundred lines: what queues must do, not how.

Messages are a list in send order, and every rule is computed from that list. Where SQS leaves a choice (which message
of a standard queue, which group first), the model says what is allowed; it does not predict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

DEDUP_WINDOW_MS = 300_000
LEASE_MS_MAX = 43_200_000


@dataclass(eq=False)
class Lease:
    """One receive of a message."""

    message: ModelMessage
    handle: str
    received_ms: int

    @property
    def is_newest(self) -> bool:
        return self.message.leases[-1] is self and not self.message.is_fenced


@dataclass(eq=False)
class ModelMessage:
    message_id: str
    body: str
    group: str
    sent_ms: int
    delayed_until_ms: int
    hidden_until_ms: int = 0
    leases: list[Lease] = field(default_factory=list)
    is_fenced: bool = False
    """Received after the last of the leases by a client that vanished, so that lease is not the newest."""

    def is_delayed(self, now_ms: int) -> bool:
        return not self.leases and self.delayed_until_ms > now_ms

    def is_in_flight(self, now_ms: int) -> bool:
        return self.hidden_until_ms > now_ms

    def is_ready(self, now_ms: int) -> bool:
        return not self.is_delayed(now_ms) and not self.is_in_flight(now_ms)


@dataclass(frozen=True, order=True)
class First:
    """The first send of a deduplication id."""

    message_id: str
    sequence: int
    sent_ms: int


@dataclass
class ModelQueue:
    is_fifo: bool
    messages: list[ModelMessage] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)
    """All leases ever given, also those of messages that are gone."""
    firsts: dict[str, First] = field(default_factory=dict)
    last_sequence: int = 0

    def first_of(self, dedup_id: str, now_ms: int) -> First | None:
        """Returns the first send of this deduplication id within its window."""
        first = self.firsts.get(dedup_id)
        return first if first is not None and now_ms - first.sent_ms < DEDUP_WINDOW_MS else None

    def add(self, message: ModelMessage, dedup_id: str, sequence: int, now_ms: int) -> None:
        self.messages.append(message)
        if self.is_fifo:
            assert sequence > self.last_sequence, "a sequence number did not grow"
            self.last_sequence = sequence
            self.firsts[dedup_id] = First(message.message_id, sequence, now_ms)

    def find(self, message_id: str) -> ModelMessage | None:
        return next((message for message in self.messages if message.message_id == message_id), None)

    def get(self, message_id: str) -> ModelMessage:
        message = self.find(message_id)
        assert message is not None
        return message

    def available(self, now_ms: int) -> Iterator[ModelMessage]:
        """Returns the messages a receive may return. FIFO: in each group, those before its first message in flight."""
        if not self.is_fifo:
            yield from (message for message in self.messages if message.is_ready(now_ms))
            return
        locked: set[str] = set()
        for message in self.messages:
            if message.is_in_flight(now_ms):
                locked.add(message.group)
            elif message.group not in locked and message.is_ready(now_ms):
                yield message

    def check_receive(self, ids: list[str], count_max: int, now_ms: int) -> None:
        """Checks that SQS could give this answer to a receive."""
        available = list(self.available(now_ms))
        allowed = [message.message_id for message in available]
        assert len(set(ids)) == len(ids), "one message twice in one answer"
        assert set(ids) <= set(allowed), "a message that may not be received"
        assert len(ids) == min(count_max, len(allowed)), f"{len(ids)} of {len(allowed)} messages, asked {count_max}"
        if self.is_fifo:
            self._check_order(ids, available)

    def _check_order(self, ids: list[str], available: list[ModelMessage]) -> None:
        group_of = {message.message_id: message.group for message in available}
        runs = [(group, list(run)) for group, run in groupby(ids, key=group_of.__getitem__)]
        assert len({group for group, _ in runs}) == len(runs), "a group is interrupted by another"
        for place, (group, run) in enumerate(runs):
            whole = [message.message_id for message in available if message.group == group]
            assert run == whole[: len(run)], f"group {group} is out of order"
            assert len(run) == len(whole) or place == len(runs) - 1, f"group {group} was left before its end"

    def give(self, message: ModelMessage, handle: str, now_ms: int, visibility_ms: int) -> None:
        lease = Lease(message, handle, now_ms)
        message.leases.append(lease)
        message.is_fenced = False
        message.hidden_until_ms = now_ms + visibility_ms
        self.leases.append(lease)

    def holds(self, message: ModelMessage) -> bool:
        return any(kept is message for kept in self.messages)

    def may_delete(self, lease: Lease, now_ms: int) -> bool:
        """Deletes succeed, except with an expired receipt handle of a FIFO queue."""
        if not self.is_fifo or not self.holds(lease.message):
            return True
        return lease.is_newest and lease.message.is_in_flight(now_ms)

    def may_change(self, lease: Lease, timeout_ms: int, now_ms: int) -> bool:
        if not self.holds(lease.message) or not lease.is_newest:
            return False
        if timeout_ms and now_ms + timeout_ms > lease.received_ms + LEASE_MS_MAX:
            return False
        return not self.is_fifo or lease.message.is_in_flight(now_ms)

    def delete(self, message: ModelMessage) -> None:
        self.messages = [kept for kept in self.messages if kept is not message]

    def purge(self) -> None:
        self.messages.clear()
        self.firsts.clear()

    def counts(self, now_ms: int) -> tuple[int, int, int]:
        """Ready, in flight, delayed."""
        return (
            sum(message.is_ready(now_ms) for message in self.messages),
            sum(message.is_in_flight(now_ms) for message in self.messages),
            sum(message.is_delayed(now_ms) for message in self.messages),
        )
