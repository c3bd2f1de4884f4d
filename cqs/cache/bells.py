"""Wakes receives that are long polling, on whichever node they wait. The companion of `QueueCache`.

    receive (node B)                 cache                         send (node A)
    ────────────────                 ─────                         ─────────────
    registers here
    take, is_waiting ──────────────► empty: B is registered as
                                     waiting, in the same step
    sleeps                                                         put
                                     ◄──────────────────────────── ready, and B is notified, in one step
    ring ◄────────────────────────── "this shard, 1"
    take ──────────────────────────► the message

Looking and registering are one atomic step, and so are making a message ready and notifying the waiting node, so no
message can slip between a look and its registration. Every operation that makes messages ready notifies in the same
step: put, reveal, hide, give_back, redelay, a take with visibility 0, and a remove that unlocks a FIFO group. The node
that made the call needs no notification: it wakes its own receives first, and other nodes are notified only of the
messages left over. A node that has nobody to wake passes the wake-up on, so exactly as many receives as messages are
woken, one node after another.

When a call tells the cache how many of its own node's receives sleep, those receives are promised to that call until it
has woken them, which happens in the event loop iteration in which its answer arrives:

    node A: one sleeps, put 1 ─────► "A has one"     without promises both calls say "A has one": one receive is woken,
            none is left, put 2 ───► B is notified   and the other message stays unread while a receive sleeps on B

Known gap: a node that is partitioned away while its connection stays open counts as notified until the cache detects
it. Such a message wakes nobody; it waits for the next wake-up or the next receive (20 s at most).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from cqs.cache.interface import Shard


class Promise(Protocol):
    """Sleeping receives of this node, reserved for one call: the call wakes them with the messages it made ready, and
    other nodes are not notified of that many messages."""

    @property
    def count(self) -> int:
        """How many receives are reserved; at least one."""

    def release(self) -> None:
        """Ends the reservation, once the call has woken the receives it could. Called once."""


class Sleepers(Protocol):
    """The waiting receives of this node. No method blocks or raises."""

    def asleep(self, shard: Shard) -> int:
        """How many receives wait for the shard and have not been woken."""

    def promise(self, shard: Shard, count_max: int) -> Promise | None:
        """Reserves up to `count_max` sleeping receives that no other call has reserved; None when there are none."""

    def wake(self, shard: Shard, count: int) -> int:
        """Wakes up to `count` receives that no call has reserved, longest waiting first; returns how many."""

    def wake_all(self, shard: Shard) -> None:
        """The shard has been replaced: every waiting receive looks again."""

    def nudge(self, is_meant: Callable[[Shard], bool]) -> None:
        """Wakes the first receive of each shard for which `is_meant` is true, because a notification may have been
        missed. If it finds a message, it wakes the next one."""

    def end(self, queue_uid: int) -> None:
        """Another node reports that the queue is deleted: its receives end."""


class Bells(Protocol):
    """Carries wake-ups between nodes. No method raises. While `is_heard` is false, receives look once a second to make
    up for lost wake-ups."""

    def attach(self, sleepers: Sleepers) -> None:
        """Sets the receives to wake. Called once, before any receive waits."""

    def is_heard(self, shard: Shard) -> bool:
        """Whether notifications reach this node now; if not, its waiting receives must poll."""

    def ring(self, shard: Shard, count: int) -> None:
        """Passes on `count` wake-ups that found nobody here to other nodes with waiting receives, if any. Returns at
        once."""

    def end(self, shard: Shard, queue_uid: int) -> None:
        """The queue of the shard is deleted: every node ends its receives. Returns at once."""


class OneNode:
    """The memory cache's Bells: every receive waits in this process, which wakes it directly."""

    def attach(self, sleepers: Sleepers) -> None:
        """Nothing to notify."""

    def is_heard(self, shard: Shard) -> bool:
        return True

    def ring(self, shard: Shard, count: int) -> None:
        """There is no other node."""

    def end(self, shard: Shard, queue_uid: int) -> None:
        """There is no other node."""
