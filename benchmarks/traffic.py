"""Calls that are served beside what is measured, in the same process."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import time

from cqs.errors import CqsError
from cqs.metrics.histogram import Histogram
from cqs.queue import Queue
from cqs.service.draft_rules import Draft
from cqs.service.engine import Engine
from cqs.service.receive import ReceiveRequest, receive
from cqs.service.send import send_batch

UNDER_WAY_MAX = 64


class Traffic:
    """Sends and receives beside the pages: `per_second` are started, as long as no more than UNDER_WAY_MAX run."""

    def __init__(self, engine: Engine, per_second: int) -> None:
        self._engine = engine
        self._per_second = per_second
        self._begun_s = 0.0
        self._done = 0
        self._pauses: list[float] = []

    async def run(self) -> None:
        """For ever. Calls that fail are not counted."""
        rng = random.Random(2)
        every: list[Queue] = list(self._engine.registry)
        under_way: set[asyncio.Task[None]] = set()
        self._begun_s, started = time.perf_counter(), 0
        gc.callbacks.append(self._note_pause)
        while self._per_second:
            due = int((time.perf_counter() - self._begun_s) * self._per_second)
            for _ in range(min(due - started, UNDER_WAY_MAX - len(under_way))):
                started += 1
                task = asyncio.create_task(self._one(rng.choice(every), rng.random() < 0.5))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
            await asyncio.sleep(0.01)

    async def _one(self, queue: Queue, is_send: bool) -> None:
        with contextlib.suppress(CqsError):
            if is_send:
                await send_batch(self._engine, queue, [Draft("x")], "bench")
            else:
                await receive(self._engine, queue, ReceiveRequest(count_max=1, wait_ms=0), lambda: True)
            self._done += 1

    def _note_pause(self, phase: str, info: dict[str, int]) -> None:
        now_s = time.perf_counter()
        if phase == "start":
            self._pause_s = now_s
        else:
            self._pauses.append(now_s - self._pause_s)

    def told(self, lag: Histogram) -> str:
        """What became of it."""
        rate = self._done / (time.perf_counter() - self._begun_s)
        longest_ms = max(self._pauses, default=0.0) * 1_000
        return (
            f"{rate:,.0f} calls/s were answered; event loop late: half within {lag.quantile(0.5) * 1_000:g} ms, "
            f"99 % within {lag.quantile(0.99) * 1_000:g} ms; longest garbage collection {longest_ms:.0f} ms"
        )
