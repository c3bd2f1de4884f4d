"""Keeps Python's garbage collector away from the long-lived heap.

A full collection scans all surviving objects whenever they have grown by a quarter: with 100,000 queues every call
waits 0.7 s for it. But queues and messages have no cycles, and reference counting frees them. So survivors are set
aside in portions, and only the newest portion is ever scanned.

    young ─ survives ─► old ─ SURVIVORS_MAX survived a full scan ─► set aside (gc.freeze), still freed by refcounts
                         ▲                                             │
                         └────────── it has doubled: scan all ◄────────┘

Objects that are set aside and form a cycle later, such as those of a lost connection, are collected when the set-aside
heap has doubled since the last scan of everything. So such garbage never outweighs the heap, and a growing heap is
scanned only a few times.
"""

from __future__ import annotations

import gc

SURVIVORS_MAX = 20_000
"""Objects; scanning them takes about 10 ms."""


class _Aside:
    """The objects set aside in this process."""

    def __init__(self) -> None:
        self._looked_through = 0
        """How many objects were set aside after the last scan of everything."""
        self._is_all_next = False

    def begin(self) -> None:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._looked_through = gc.get_freeze_count()
        self._is_all_next = False

    def collected(self, phase: str, info: dict[str, int]) -> None:
        """Called by the collector, and can't collect from there: a scan of everything is left to the next
        collection."""
        is_full = phase == "stop" and info["generation"] == 2
        if not is_full or len(gc.get_objects(generation=2)) < SURVIVORS_MAX:
            return
        gc.freeze()
        count = gc.get_freeze_count()
        if self._is_all_next:
            self._looked_through = count
            self._is_all_next = False
        elif count >= 2 * self._looked_through:
            gc.unfreeze()
            self._is_all_next = True


_aside = _Aside()


def set_aside() -> None:
    """Sets aside all current objects, and later each portion of survivors, in this process and those it forks.
    Idempotent."""
    _aside.begin()
    if _aside.collected not in gc.callbacks:
        gc.callbacks.append(_aside.collected)
