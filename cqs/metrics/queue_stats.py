"""What one queue has done since this process began to count. Fields only grow."""

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
        """When the queue was found to be deleted; 0 = it exists."""
        self.ring: Ring | None = None
        """Created when the queue has traffic or messages."""
        self.sent = self.received = self.deleted = self.empty_receives = self.deduplicated = 0
        self.from_store = self.bodies_from_store = self.given_back = self.hidden = self.revealed = 0
        self.expired = self.dead_lettered = self.redriven = self.arrived = self.purges = 0
        self.first_receives = self.waited_ms = 0
        """Number of messages received for the first time, and the sum of their ages at that time."""
        self.sizes = [0] * SIZE_SLOTS
        self.size_total = 0
        self.send_times, self.receive_times, self.delete_times = CallTimes(), CallTimes(), CallTimes()
        """Durations of successful calls, a batch being one call: from when the queue is resolved to when the answer is
        known. Receives: only those that found messages, from the look that did, so without the wait before it."""

    def add(self, other: QueueStats) -> None:
        """Adds the other one's counts."""
        for field in QUEUE_COUNTERS:
            setattr(self, field, getattr(self, field) + getattr(other, field))
        self.first_receives += other.first_receives
        self.waited_ms += other.waited_ms
        self.sizes = [mine + theirs for mine, theirs in zip(self.sizes, other.sizes, strict=True)]
        self.size_total += other.size_total

    def look_at_times(self) -> list[float]:
        """Durations of the calls since the last look, in the order of `rings.QUEUE_TIMES`."""
        return [*self.send_times.look(), *self.receive_times.look(), *self.delete_times.look()]

    def count_size(self, size: int) -> None:
        self.sizes[min((size - 1).bit_length(), SIZE_SLOTS - 1)] += 1
        self.size_total += size
