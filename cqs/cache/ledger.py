"""The books of one shard in memory: entries, states, numbers, bodies. Order is the line's business.

Every message is in `entries`, and besides in exactly one of: the line (ready), or the due index (delayed or in flight,
until `visible_ms`). The methods are the few moves between these, each leaving the books right; `cqs.cache.memory_shard`
makes the cache's verbs of them.
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
    """Read its fields freely; only its methods change them."""

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
        """The last receive number given."""
        self.vesting_ms = NEVER_MS
        self.entries: dict[int, Entry] = {}
        self.line: Line = FifoLine(self.entries) if shard.is_fifo else StandardLine()
        self.due = DueIndex(self.entries)
        self.ready = self.delayed = self.in_flight = 0
        self.retention_ms = retention_ms
        """As last told."""
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
        """The message whose newest lease the ticket is, if that has not run out."""
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
        """A new message, ready at the back of the line."""
        self._keep(entry)
        self._make_ready(entry)
        self.line.join(entry, now_ms)

    def add_filled(self, entry: Entry, now_ms: int) -> None:
        """A ready message read while the shard fills."""
        self._keep(entry)
        self._make_ready(entry)
        self.line.fill(entry, now_ms)

    def add_delayed(self, entry: Entry) -> None:
        """A new message, delayed until its `visible_ms`."""
        self._keep(entry)
        entry.state = _DELAYED
        self.delayed += 1
        self.hide(entry, entry.visible_ms)

    def add_in_flight(self, entry: Entry, now_ms: int) -> None:
        """A message that comes with its lease, until its `visible_ms`."""
        self._keep(entry)
        entry.state = _IN_FLIGHT
        self.in_flight += 1
        self.line.start(entry, now_ms)
        self.hide(entry, entry.visible_ms)

    def lease(self, entry: Entry, until_ms: int, now_ms: int) -> Received:
        """The message that was `line.next` goes in flight, under the next receive number."""
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
        """A ready message goes in flight from the middle of the line, under the receive number it has. The object in
        the line stays behind as no longer ready; a copy takes its part."""
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
        """A delayed or in-flight message stays so until then."""
        entry.visible_ms = until_ms
        self.due.push(entry)
        if until_ms < self.vesting_ms:
            self._vesting.expect(self, until_ms)

    def unhide(self, entry: Entry, now_ms: int) -> None:
        """A delayed or in-flight message is ready; `line_up` must follow."""
        if entry.state is _IN_FLIGHT:
            self.in_flight -= 1
            self.line.finish(entry, now_ms)
        else:
            self.delayed -= 1
        self._make_ready(entry)

    def line_up(self, entries: Sequence[Entry], now_ms: int) -> None:
        """Gives messages that have become ready their places: in front, in this order, those that come back after few
        receives; behind, in this order, all others."""
        self.line.rejoin([entry for entry in entries if 0 < entry.receive_count < RECEIVES_BEFORE_BACK])
        for entry in entries:
            if not 0 < entry.receive_count < RECEIVES_BEFORE_BACK:
                self.line.join(entry, now_ms)

    def undo(self, entry: Entry, now_ms: int) -> None:
        """An in-flight message is ready in its old place, the receive not counted."""
        self.in_flight -= 1
        entry.receive_count = max(0, entry.receive_count - 1)
        if entry.receive_count == 0:
            entry.first_receive_ms = 0
        self._make_ready(entry)
        self.line.undo(entry, now_ms)

    def remove(self, entry: Entry, now_ms: int) -> None:
        """The message leaves the shard, whatever its state."""
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
        """The message that was `line.next` leaves the shard."""
        self.ready -= 1
        self._forget(entry)

    def next_ms(self) -> int | None:
        """When `reveal` has work: the first due message, or the expiry of the longest waiting one."""
        due = self.due.first()
        head = self.line.head()
        due_ms = NEVER_MS if due is None else due.visible_ms
        expiry_ms = NEVER_MS if head is None else head.sent_ms + self.retention_ms
        next_ms = min(due_ms, expiry_ms)
        return None if next_ms == NEVER_MS else next_ms

    def settle(self) -> int | None:
        """Tells the vesting index exactly when there is work next, and returns it."""
        next_ms = self.next_ms()
        self._vesting.settle(self, next_ms)
        return next_ms

    def close(self) -> dict[int, Entry]:
        """The shard is dropped: it has no work any more and its bodies take no room. Returns what was in it, for the
        caller to free at leisure; nothing else refers to it, also where something still refers to this ledger."""
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
        """What still points to the object sees that it is not ready."""
        del self.entries[entry.address]
        entry.state = _IN_FLIGHT
        if entry.message is not None:
            size = cost(entry.message)
            self._body_bytes -= size
            self._bodies.release(size)
            entry.message = None


def received_of(entry: Entry, received_ms: int) -> Received:
    """What a taker is told of a message in flight."""
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
