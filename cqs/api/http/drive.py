"""Runs a coroutine at once, in the caller's own turn of the loop, and goes on with it when what it waits for is there.

    asyncio.Task       make a task ─► wait for the loop's next turn ─► first step … done ─► tell whoever waits
    here               first step … done, or: wait for the future ─► next step

Most requests need two or three steps, so a whole turn of the loop and a task's share of the work are left out. From
Python 3.12 on, asyncio has eager tasks for that. On 3.11 a `Drive` steps the coroutine itself; the price: there is no
current task, so `asyncio.timeout` and `TaskGroup` can't be used below it; futures, sleeps, `gather` and `wait_for` can.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Protocol


class Run(Protocol):
    """A coroutine that has begun."""

    def cancel(self) -> object:
        """What it waits for is cancelled, and so is it."""


def run_at_once(coroutine: Coroutine[object, None, None], loop: asyncio.AbstractEventLoop) -> Run:
    """Runs it until it waits or ends. What it raises goes to the loop's exception handler; cancelling is quiet."""
    if sys.version_info >= (3, 12):
        return asyncio.Task(coroutine, loop=loop, eager_start=True)
    driven = Drive(coroutine, loop)
    driven.step()
    return driven


class Drive:
    """One run on Python 3.11."""

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
        if self._awaited is not None:
            self._awaited.cancel()
