"""Keeps Python's garbage collector from the heap that stays.

The collector looks for cycles through all that survived before, whenever that has grown by a quarter: with 100,000
queues every call waits 0.7 s for it. But queues and messages have no cycles, and go when nobody refers to them any
more; so what survives is set aside in portions, and only the portion after it is ever looked through.

    young ─ survives ─► old ─ SURVIVORS_MAX survived a full look ─► set aside (gc.freeze), still freed by its counts
                         ▲                                             │
                         └────────── it has doubled: all again ◄───────┘

What is set aside and becomes a cycle afterwards, like a connection that is lost, is found when there is twice as much
as after the last look at all: so it never outweighs the heap, and a growing heap is looked through a few times.
"""

from __future__ import annotations

import gc

SURVIVORS_MAX = 20_000
"""Objects: about 10 ms to look through."""


class _Aside:
    """What is set aside in this process."""

    def __init__(self) -> None:
        self._looked_through = 0
        """How many objects were set aside after the last look at all."""
        self._is_all_next = False

    def begin(self) -> None:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._looked_through = gc.get_freeze_count()
        self._is_all_next = False

    def collected(self, phase: str, info: dict[str, int]) -> None:
        """Called by the collector, and can't collect itself: to look at all is left to the next collection."""
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
    """All that lives now, and later each portion that survives, in this process and those it forks. Idempotent."""
    _aside.begin()
    if _aside.collected not in gc.callbacks:
        gc.callbacks.append(_aside.collected)
