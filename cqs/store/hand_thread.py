"""A hand of the group commit that is a thread of this process.

Suitable for work that mostly waits for the disk (reads), and for machines with one core. Under the GIL, a computing
thread takes its time from the event loop, and each hand-over costs both; a store's writer is better off as a process
(`cqs.store.sqlite.writer_process`).
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import structlog

from cqs.store.results import results_of

_log = structlog.get_logger("cqs.store")

Job = TypeVar("Job")
Result = TypeVar("Result")
_Done = Callable[[Sequence[Result | Exception]], None]


class HandThread(Generic[Job, Result]):
    """Runs `run(jobs)` in its own thread. If it raises, that is every job's error."""

    def __init__(self, run: Callable[[Sequence[Job]], Sequence[Result | Exception]], *, name: str) -> None:
        self._run = run
        self._given: queue.SimpleQueue[tuple[Sequence[Job], _Done[Result]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._loop: asyncio.AbstractEventLoop

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def give(self, jobs: Sequence[Job], done: _Done[Result]) -> None:
        self._given.put((jobs, done))

    def hurry(self) -> None:
        """Does nothing: a thread can't be abandoned."""

    async def close(self) -> None:
        if self._thread.ident is not None:
            self._given.put(None)
            await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        while (given := self._given.get()) is not None:
            jobs, done = given
            self._loop.call_soon_threadsafe(done, results_of(self._run, jobs, self._report))

    def _report(self) -> None:
        _log.exception("store_thread_failed", thread=self._thread.name)
