"""Runs a coroutine at once, in the caller's own turn of the loop, and goes on with it when what it waits for is there.

    asyncio.Task       make a task ─► wait for the loop's next turn ─► first step … done ─► tell whoever waits
    Drive              first step … done, or: wait for the future ─► next step

Most requests need two or three steps and nobody waits for their end, so a task's share of the work is left out. The
price: there is no current task, so `asyncio.timeout` and `TaskGroup` can't be used below it; futures, sleeps, `gather`
and `wait_for` can. (Python 3.12 has eager tasks; 3.11 does not.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class Drive:
    """One run. What the coroutine raises goes to the loop's exception handler; cancelling is quiet."""

    __slots__ = ("_awaited", "_coroutine", "_loop")

    def __init__(self, coroutine: Coroutine[object, None, None], loop: asyncio.AbstractEventLoop) -> None:
        self._coroutine = coroutine
        self._loop = loop
        self._awaited: asyncio.Future[object] | None = None

    def step(self, _: object = None) -> None:
        """Runs until the coroutine waits again, or ends. Call it once; then it calls itself."""
        self._awaited = None
        try:
            awaited = self._coroutine.send(None)
        except StopIteration:
            return
        except asyncio.CancelledError:
            return
        except Exception as error:
            self._loop.call_exception_handler({"message": "a request failed unexpectedly", "exception": error})
            return
        if isinstance(awaited, asyncio.Future):
            awaited._asyncio_future_blocking = False
            self._awaited = awaited
            awaited.add_done_callback(self.step)
        else:
            self._loop.call_soon(self.step)

    def cancel(self) -> None:
        """What the coroutine waits for is cancelled, and so is it."""
        if self._awaited is not None:
            self._awaited.cancel()
