"""Ends a coroutine where it waits for the n-th time: as a task is cancelled (what it waits for is cancelled, it hears
CancelledError there, and what it awaits on its way out it still gets), or as a process is killed, without a word."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


class CutAt:
    """`await CutAt(coroutine, n, …)` is True when it was cut there, and False when it ended before. Raises what the
    coroutine raises of its own."""

    def __init__(self, coroutine: Coroutine[Any, Any, object], wait: int, *, is_killed: bool) -> None:
        """One that is killed stands where it was as long as this lives."""
        self._coroutine = coroutine
        self._wait = wait
        self._is_killed = is_killed

    def __await__(self) -> Generator[Any, Any, bool]:
        waits, is_cut = 0, False
        try:
            awaited = self._coroutine.send(None)
            while True:
                waits += 1
                if waits == self._wait and self._is_killed:
                    return True
                if waits == self._wait:
                    is_cut = True
                    if isinstance(awaited, asyncio.Future):
                        awaited._asyncio_future_blocking = False
                        awaited.cancel()
                    awaited = self._coroutine.throw(asyncio.CancelledError())
                yield awaited
                awaited = self._coroutine.send(None)
        except StopIteration:
            return is_cut
        except asyncio.CancelledError:
            assert is_cut
            return True
