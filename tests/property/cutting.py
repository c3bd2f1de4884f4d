"""Ends a coroutine at its n-th await. Either like a cancelled task: the awaited future is cancelled, the coroutine gets
CancelledError, and its cleanup may still await. Or like a killed process: it never continues."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


class CutAt:
    """`await CutAt(coroutine, n, …)` is True if it was cut there, False if it ended before. Raises what the coroutine
    itself raises."""

    def __init__(self, coroutine: Coroutine[Any, Any, object], wait: int, *, is_killed: bool) -> None:
        """A killed coroutine stays suspended for as long as this object exists."""
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
