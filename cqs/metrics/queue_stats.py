"""What one queue did since this process counts it. Fields only grow."""

from __future__ import annotations

from cqs.metrics.call_times import CallTimes
from cqs.metrics.declarations import QUEUE_COUNTERS
from cqs.metrics.rings import Ring

SIZE_SLOTS = 22
"""Messages by the bit length of (size - 1): slot 10 holds those of 513 to 1,024 bytes."""


class QueueStats:
    """Counters of one queue, or of all that have none of their own."""

    __slots__ = (
        "account", "arrived", "bodies_from_store", "dead_lettered", "deduplicated", "delete_times", "deleted",
        "empty_receives", "expired", "first_receives", "from_store", "given_back", "gone_ms", "hidden", "is_fifo",
        "name", "purges", "receive_times", "received", "redriven", "revealed", "ring", "send_times", "sent",
        "size_total", "sizes", "waited_ms",
    )  # fmt: skip

    def __init__(self, account: str, name: str) -> None:
        self.account = account
        self.name = name
        self.is_fifo = name.endswith(".fifo")
        self.gone_ms = 0
        """Since when the queue is known to be deleted; 0 = it lives."""
        self.ring: Ring | None = None
        """Made when the queue has traffic, or messages."""
        self.sent = self.received = self.deleted = self.empty_receives = self.deduplicated = 0
        self.from_store = self.bodies_from_store = self.given_back = self.hidden = self.revealed = 0
        self.expired = self.dead_lettered = self.redriven = self.arrived = self.purges = 0
        self.first_receives = self.waited_ms = 0
        """Messages that were received for the first time, and how long they had been there by then, added up."""
        self.sizes = [0] * SIZE_SLOTS
        self.size_total = 0
        self.send_times, self.receive_times, self.delete_times = CallTimes(), CallTimes(), CallTimes()
        """Of calls that succeeded, a batch being one: from the queue known to the answer known. Receives: those that
        found messages, from the look that did, so without the wait before it."""

    def add(self, other: QueueStats) -> None:
        """Takes over what the other one counted."""
        for field in QUEUE_COUNTERS:
            setattr(self, field, getattr(self, field) + getattr(other, field))
        self.first_receives += other.first_receives
        self.waited_ms += other.waited_ms
        self.sizes = [mine + theirs for mine, theirs in zip(self.sizes, other.sizes, strict=True)]
        self.size_total += other.size_total

    def look_at_times(self) -> list[float]:
        """What the calls since the last look took, in the order of `rings.QUEUE_TIMES`."""
        return [*self.send_times.look(), *self.receive_times.look(), *self.delete_times.look()]

    def count_size(self, size: int) -> None:
        self.sizes[min((size - 1).bit_length(), SIZE_SLOTS - 1)] += 1
        self.size_total += size
