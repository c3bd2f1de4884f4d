"""What stands ready, and who is next: the part of the memory cache in which standard and FIFO shards differ.

The shard owns entries, states and numbers; a line owns order. The shard tells it each move of a message:

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
        """A ready message stands at the back (FIFO: in its place)."""

    def rejoin(self, entries: Sequence[Entry]) -> None:
        """Messages that came back stand in front, in this order (FIFO: in their places)."""

    def undo(self, entry: Entry, now_ms: int) -> None:
        """`finish`, then back in the old place, as though it had never been handed out."""

    def leave(self, entry: Entry, now_ms: int) -> None:
        """The message is not ready any more, or gone, without having been `next`. Its state says so already; the
        object never stands in the line again."""

    def open_turn(self) -> None:
        """A take begins."""

    def next(self, now_ms: int) -> Entry | None:
        """Takes the next message out of the line; the caller starts or drops it before the next call."""

    def close_turn(self) -> None:
        """A take ends."""

    def start(self, entry: Entry, now_ms: int) -> None:
        """The message is in flight from now on."""

    def finish(self, entry: Entry, now_ms: int) -> None:
        """The message is no longer in flight."""

    def fill(self, entry: Entry, now_ms: int) -> None:
        """`join` for a message read from the store, which stands before those put while the shard fills."""

    def end_fill(self) -> None:
        """All are there; the first `next` may come."""

    def head(self) -> Entry | None:
        """The ready message that expires next, roughly: the one that waits longest."""

    def oldest(self) -> Entry | None:
        """The longest waiting of those received less than RECEIVES_BEFORE_BACK times, roughly."""

    def noisy_groups(self, now_ms: int) -> int:
        """Tenants that are noisy now, of those seen at takes; 0 on a FIFO shard."""


def first_waiting(line: Iterable[Entry]) -> Entry | None:
    """The first one that counts for the age of the oldest message (SQS leaves out what is received again and again);
    looks at no more than OLDEST_LOOKS_MAX."""
    for entry in islice(line, OLDEST_LOOKS_MAX):
        if entry.state is State.READY and entry.receive_count < RECEIVES_BEFORE_BACK:
            return entry
    return None
