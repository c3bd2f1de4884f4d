"""The bookkeeping of one shard in memory: entries, states, counts, bodies. Order is the line's job.

Every message is in `entries` and in exactly one of: the line (ready), or the due index (delayed or in flight, until
`visible_ms`). The methods are the few transitions between these, and each leaves the books consistent;
`cqs.cache.memory_shard` builds the cache's operations from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from cqs.cache.bodies import BodyBudget, cost
from cqs.cache.due import DueIndex
from cqs.cache.entry import Entry, State
from cqs.cache.fifo_line import FifoLine
from cqs.cache.interface import RECEIVES_BEFORE_BACK, Received, Shard, Ticket
from cqs.cache.line import Line
from cqs.cache.standard_line import StandardLine
from cqs.cache.vesting import NEVER_MS, VestingIndex

_READY, _DELAYED, _IN_FLIGHT = State.READY, State.DELAYED, State.IN_FLIGHT


class Ledger:
    """Its fields may be read freely; only its methods change them."""

    __slots__ = (
        "_bodies",
        "_body_bytes",
        "_vesting",
        "delayed",
        "due",
        "entries",
        "in_flight",
        "line",
        "number",
        "ready",
        "retention_ms",
        "shard",
        "vesting_ms",
    )

    def __init__(self, shard: Shard, number: int, retention_ms: int, bodies: BodyBudget, vesting: VestingIndex) -> None:
        self.shard = shard
        self.number = number
        """The last receive number issued."""
        self.vesting_ms = NEVER_MS
        self.entries: dict[int, Entry] = {}
        self.line: Line = FifoLine(self.entries) if shard.is_fifo else StandardLine()
        self.due = DueIndex(self.entries)
        self.ready = self.delayed = self.in_flight = 0
        self.retention_ms = retention_ms
        """From the most recent call that stated it."""
        self._bodies = bodies
        self._body_bytes = 0
        self._vesting = vesting

    def set_retention(self, retention_ms: int) -> None:
        if self.retention_ms != retention_ms:
            self.retention_ms = retention_ms
            head = self.line.head()
            if head is not None:
                self._vesting.expect(self, head.sent_ms + retention_ms)

    def living(self, ticket: Ticket, now_ms: int) -> Entry | None:
        """The message whose current, unexpired lease the ticket is."""
        entry = self.entries.get(ticket.address)
        if (
            entry is None
            or entry.state is not _IN_FLIGHT
            or entry.receive_number != ticket.receive_number
            or entry.visible_ms <= now_ms
        ):
            return None
        return entry

    def add_ready(self, entry: Entry, now_ms: int) -> None:
        """Adds a new message, ready at the back of the line."""
        self._keep(entry)
        self._make_ready(entry)
        self.line.join(entry, now_ms)

    def add_filled(self, entry: Entry, now_ms: int) -> None:
        """Adds a ready message read from the store during the fill."""
        self._keep(entry)
        self._make_ready(entry)
        self.line.fill(entry, now_ms)

    def add_delayed(self, entry: Entry) -> None:
        """Adds a new message, delayed until its `visible_ms`."""
        self._keep(entry)
        entry.state = _DELAYED
        self.delayed += 1
        self.hide(entry, entry.visible_ms)

    def add_in_flight(self, entry: Entry, now_ms: int) -> None:
        """Adds a message with its lease, in flight until its `visible_ms`."""
        self._keep(entry)
        entry.state = _IN_FLIGHT
        self.in_flight += 1
        self.line.start(entry, now_ms)
        self.hide(entry, entry.visible_ms)

    def lease(self, entry: Entry, until_ms: int, now_ms: int) -> Received:
        """Puts the message that `line.next` returned in flight, under the next receive number."""
        number = self.number = self.number + 1
        self.ready -= 1
        self.in_flight += 1
        entry.receive_number = number
        entry.state = _IN_FLIGHT
        entry.visible_ms = until_ms
        self.line.start(entry, now_ms)
        if until_ms > now_ms:
            self.hide(entry, until_ms)
        return received_of(entry, now_ms)

    def lease_again(self, entry: Entry, until_ms: int, now_ms: int) -> None:
        """Puts a ready message in flight from the middle of the line, under the receive number it already has. The old
        object stays in the line, no longer ready; a copy replaces it."""
        again = copy(entry)
        self.entries[entry.address] = again
        entry.state, entry.message = _IN_FLIGHT, None
        self.line.leave(entry, now_ms)
        self.ready -= 1
        self.in_flight += 1
        again.state = _IN_FLIGHT
        self.line.start(again, now_ms)
        self.hide(again, until_ms)

    def hide(self, entry: Entry, until_ms: int) -> None:
        """A delayed or in-flight message stays hidden until `until_ms`."""
        entry.visible_ms = until_ms
        self.due.push(entry)
        if until_ms < self.vesting_ms:
            self._vesting.expect(self, until_ms)

    def unhide(self, entry: Entry, now_ms: int) -> None:
        """Makes a delayed or in-flight message ready; `line_up` must follow."""
        if entry.state is _IN_FLIGHT:
            self.in_flight -= 1
            self.line.finish(entry, now_ms)
        else:
            self.delayed -= 1
        self._make_ready(entry)

    def line_up(self, entries: Sequence[Entry], now_ms: int) -> None:
        """Places messages that have become ready in the line: those with few receives in front, all others at the back,
        each in the given order."""
        self.line.rejoin([entry for entry in entries if 0 < entry.receive_count < RECEIVES_BEFORE_BACK])
        for entry in entries:
            if not 0 < entry.receive_count < RECEIVES_BEFORE_BACK:
                self.line.join(entry, now_ms)

    def undo(self, entry: Entry, now_ms: int) -> None:
        """Makes an in-flight message ready in its old place, and does not count the receive."""
        self.in_flight -= 1
        entry.receive_count = max(0, entry.receive_count - 1)
        if entry.receive_count == 0:
            entry.first_receive_ms = 0
        self._make_ready(entry)
        self.line.undo(entry, now_ms)

    def remove(self, entry: Entry, now_ms: int) -> None:
        """Removes the message from the shard, whatever its state."""
        state = entry.state
        if state is _IN_FLIGHT:
            self.in_flight -= 1
            self.line.finish(entry, now_ms)
            self._forget(entry)
        elif state is _READY:
            self.ready -= 1
            self._forget(entry)
            self.line.leave(entry, now_ms)
        else:
            self.delayed -= 1
            self._forget(entry)

    def remove_next(self, entry: Entry) -> None:
        """Removes the message that `line.next` returned from the shard."""
        self.ready -= 1
        self._forget(entry)

    def next_ms(self) -> int | None:
        """When `reveal` has work: the first due message, or the expiry of the message that has waited longest."""
        due = self.due.first()
        head = self.line.head()
        due_ms = NEVER_MS if due is None else due.visible_ms
        expiry_ms = NEVER_MS if head is None else head.sent_ms + self.retention_ms
        next_ms = min(due_ms, expiry_ms)
        return None if next_ms == NEVER_MS else next_ms

    def settle(self) -> int | None:
        """Tells the vesting index exactly when the shard has work next, and returns that time."""
        next_ms = self.next_ms()
        self._vesting.settle(self, next_ms)
        return next_ms

    def close(self) -> dict[int, Entry]:
        """Called when the shard is dropped: its work is cancelled and its share of the body budget released. Returns
        the entries for the caller to free in batches; nothing else refers to them, even if something still refers to
        this ledger."""
        self._bodies.release(self._body_bytes)
        self._vesting.settle(self, None)
        entries, self.entries = self.entries, {}
        self.line, self.due = StandardLine(), DueIndex(self.entries)
        return entries

    def _make_ready(self, entry: Entry) -> None:
        entry.state = _READY
        entry.visible_ms = 0
        self.ready += 1
        if entry.sent_ms + self.retention_ms < self.vesting_ms:
            self._vesting.expect(self, entry.sent_ms + self.retention_ms)

    def _keep(self, entry: Entry) -> None:
        self.entries[entry.address] = entry
        if entry.message is not None:
            size = cost(entry.message)
            if self._bodies.admit(size):
                self._body_bytes += size
            else:
                entry.message = None

    def _forget(self, entry: Entry) -> None:
        """Whatever still refers to the object sees that it is not ready."""
        del self.entries[entry.address]
        entry.state = _IN_FLIGHT
        if entry.message is not None:
            size = cost(entry.message)
            self._body_bytes -= size
            self._bodies.release(size)
            entry.message = None


def received_of(entry: Entry, received_ms: int) -> Received:
    """The answer to a receiver about a message in flight."""
    return Received(
        address=entry.address,
        sent_ms=entry.sent_ms,
        group=entry.group,
        sequence=entry.sequence,
        message=entry.message,
        receive_count=entry.receive_count,
        first_receive_ms=entry.first_receive_ms,
        receive_number=entry.receive_number,
        received_ms=received_ms,
        hidden_until_ms=entry.visible_ms,
    )
