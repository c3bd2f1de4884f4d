"""Runs a coroutine immediately, in the caller's iteration of the event loop, and resumes it when what it awaits is
done.

    asyncio.Task       create a task ─► wait for the loop's next iteration ─► first step … done ─► notify waiters
    here               first step … done, or: await the future ─► next step

Most requests need two or three steps, so this saves a whole iteration of the loop and part of a task's overhead. Python
3.12 and later have eager tasks for this. On 3.11 a `Drive` steps the coroutine itself. The price: there is no current
task, so `asyncio.timeout` and `TaskGroup` can't be used inside; futures, sleeps, `gather` and `wait_for` can.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Protocol


class Run(Protocol):
    """A coroutine that has started."""

    def cancel(self) -> object:
        """Cancels what it awaits, and thereby the coroutine."""


def run_at_once(coroutine: Coroutine[object, None, None], loop: asyncio.AbstractEventLoop) -> Run:
    """Runs it until it blocks or ends. An exception goes to the loop's exception handler; cancellation is silent."""
    if sys.version_info >= (3, 12):
        return asyncio.Task(coroutine, loop=loop, eager_start=True)
    driven = Drive(coroutine, loop)
    driven.step()
    return driven


class Drive:
    """One run, on Python 3.11."""

    __slots__ = ("_awaited", "_coroutine", "_loop")

    def __init__(self, coroutine: Coroutine[object, None, None], loop: asyncio.AbstractEventLoop) -> None:
        self._coroutine = coroutine
        self._loop = loop
        self._awaited: asyncio.Future[object] | None = None

    def step(self, _: object = None) -> None:
        """Runs until the coroutine blocks or ends. Call it once; after that it is its own callback."""
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
        if self._awaited is not None:
            self._awaited.cancel()
