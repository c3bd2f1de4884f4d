"""The ready messages and their order: the part of the memory cache in which standard and FIFO shards differ.

The shard owns entries, states and counts; a line owns the order. The shard reports every transition of a message:

        join ──► │                  │ ──► next, start ──► in flight ──► finish
      rejoin ──► │       line       │ ◄────────────────── undo ◄──┘
                 │                  │ ──► leave
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Protocol

from cqs.cache.entry import Entry, State
from cqs.cache.interface import RECEIVES_BEFORE_BACK

OLDEST_LOOKS_MAX = 32


class Line(Protocol):
    """Order of the ready messages of one shard."""

    groups_in_flight: int
    """Message groups with something in flight; 0 on a standard shard."""

    def join(self, entry: Entry, now_ms: int) -> None:
        """Appends a ready message at the back (FIFO: at its position)."""

    def rejoin(self, entries: Sequence[Entry]) -> None:
        """Puts messages that returned at the front, in this order (FIFO: at their positions)."""

    def undo(self, entry: Entry, now_ms: int) -> None:
        """`finish`, then back to its old place, as if it had never been handed out."""

    def leave(self, entry: Entry, now_ms: int) -> None:
        """The message is no longer ready, or was removed, without having been returned by `next`. Its state already
        says so; the object never enters the line again."""

    def open_turn(self) -> None:
        """A take begins."""

    def next(self, now_ms: int) -> Entry | None:
        """Takes the next message out of the line; the caller starts or drops it before the next call."""

    def close_turn(self) -> None:
        """A take ends."""

    def start(self, entry: Entry, now_ms: int) -> None:
        """The message is now in flight."""

    def finish(self, entry: Entry, now_ms: int) -> None:
        """The message is no longer in flight."""

    def fill(self, entry: Entry, now_ms: int) -> None:
        """`join` for a message read from the store: it precedes those put during the fill."""

    def end_fill(self) -> None:
        """The fill is complete; `next` may be called from now on."""

    def head(self) -> Entry | None:
        """Roughly the ready message that expires next: the one that has waited longest."""

    def oldest(self) -> Entry | None:
        """Roughly the longest waiting message of those received fewer than RECEIVES_BEFORE_BACK times."""

    def noisy_groups(self, now_ms: int) -> int:
        """Number of tenants that are noisy now, of those seen by takes; 0 on a FIFO shard."""


def first_waiting(line: Iterable[Entry]) -> Entry | None:
    """The first message that counts for the age of the oldest message (SQS leaves out messages received again and
    again); looks at no more than OLDEST_LOOKS_MAX."""
    for entry in islice(line, OLDEST_LOOKS_MAX):
        if entry.state is State.READY and entry.receive_count < RECEIVES_BEFORE_BACK:
            return entry
    return None
