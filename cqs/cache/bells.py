"""Waking receives that wait, on whichever node they wait: the companion of `QueueCache`.

    receive (node B)                 cache                         send (node A)
    ────────────────                 ─────                         ─────────────
    registers here
    take, is_waiting ──────────────► empty: B is noted, in the
                                     same step as the look
    sleeps                                                         put
                                     ◄──────────────────────────── ready, and B is told, in one step
    ring ◄────────────────────────── "this shard, 1"
    take ──────────────────────────► the message

Who looks and who tells are one atomic step each, so no message falls between a look and its registration. Whatever
makes messages ready tells in the same step: put, reveal, hide, give_back, redelay, a take that hides nothing, a FIFO
group that remove frees. Its own node knows without being told, and wakes its own receives first; others hear only of
what these leave. A wake-up that finds nobody is rung on, so as many receives as messages are woken, one node after the
other, and nobody else.

What a call says of its own node's receives it is promised, until it has woken them, in the turn of the loop in which
its answer came:

    node A: one sleeps, put 1 ─────► "A has one"     without the promise both say "A has one": one is woken, and the
            none is left, put 2 ───► B is told       other message lies there beside whoever sleeps on B

Not closed: a node that is cut off without its connection ending counts as told until the cache notices; the message
then wakes nobody, and waits for the next wake-up or the next receive (20 s at most).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from cqs.cache.interface import Shard


class Promise(Protocol):
    """Sleeping receives of this node that a call counts on: it wakes them with what it made ready, and nobody else is
    told of so many messages."""

    @property
    def count(self) -> int:
        """How many; at least one."""

    def release(self) -> None:
        """The call has woken whom it could. Once."""


class Sleepers(Protocol):
    """The waiting receives of this node. Nothing here waits or raises."""

    def asleep(self, shard: Shard) -> int:
        """How many wait for the shard and have not been woken."""

    def promise(self, shard: Shard, count_max: int) -> Promise | None:
        """Up to `count_max` of those asleep that no other call counts on; None = there is none."""

    def wake(self, shard: Shard, count: int) -> int:
        """Wakes up to `count` of those that no call counts on, longest waiting first; returns how many."""

    def wake_all(self, shard: Shard) -> None:
        """The shard is another one now: all look anew."""

    def nudge(self, is_meant: Callable[[Shard], bool]) -> None:
        """Wakes the first of each shard that is meant: something may have been missed. If it finds a message, it wakes
        the next."""

    def end(self, queue_uid: int) -> None:
        """The queue is gone, on another node's word: its receives end."""


class Bells(Protocol):
    """Carries wake-ups between nodes. Nothing here raises: a wake-up that is lost is made good by looking once a second
    while `is_heard` is false."""

    def attach(self, sleepers: Sleepers) -> None:
        """Names those to wake, once, before anybody waits."""

    def is_heard(self, shard: Shard) -> bool:
        """Whether this node would hear now; if not, those who wait must look by themselves."""

    def ring(self, shard: Shard, count: int) -> None:
        """So many wake-ups found nobody here: they go to other nodes, if anybody waits there. Returns at once."""

    def end(self, shard: Shard, queue_uid: int) -> None:
        """The queue of the shard is deleted: every node ends its receives. Returns at once."""


class OneNode:
    """Bells where every receive waits in this process, which wakes them itself: the memory cache's."""

    def attach(self, sleepers: Sleepers) -> None:
        """Nobody has to be told."""

    def is_heard(self, shard: Shard) -> bool:
        return True

    def ring(self, shard: Shard, count: int) -> None:
        """There is no other node."""

    def end(self, shard: Shard, queue_uid: int) -> None:
        """There is no other node."""
