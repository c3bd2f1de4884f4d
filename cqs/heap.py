"""Keeps Python's garbage collector from the heap that stays.

The collector looks for cycles through all that survived before, whenever that has grown by a quarter: with 100,000
queues every call waits 0.7 s for it. But queues and messages have no cycles, and go when nobody refers to them any
more; so what survives is set aside in portions, and only the portion after it is ever looked through.

    young ─ survives ─► old ─ SURVIVORS_MAX survived a full look ─► set aside (gc.freeze), still freed by its counts

What was set aside and becomes a cycle afterwards would stay for ever. That may be what belongs to the connections of
that moment, once for each SURVIVORS_MAX objects by which the heap has grown.
"""

from __future__ import annotations

import gc

SURVIVORS_MAX = 20_000
"""Objects: about 10 ms to look through."""


def set_aside() -> None:
    """All that lives now, and later each portion that survives, in this process and those it forks. Idempotent."""
    gc.collect()
    gc.freeze()
    if _collected not in gc.callbacks:
        gc.callbacks.append(_collected)


def _collected(phase: str, info: dict[str, int]) -> None:
    is_full = phase == "stop" and info["generation"] == 2
    if is_full and len(gc.get_objects(generation=2)) >= SURVIVORS_MAX:
        gc.freeze()
