"""Silence: no request has been answered for a while. Until one is, calls are refused at once.

A coordinator that has lost the other replicas learns it after 10 to 20 s, and until then lets each request wait for
them: 2 s a write, 5 s a read. Every call would wait that long, and those behind it as long again: writes for the same
partition, or the next step of a FIFO send.

    a call ends without an answer, and for some
    time no other request has had one ────────────► silent: calls are refused, nothing is written
                                                    a probe every PROBE_PAUSE_S ── any answer ──► over

What fails in less time, or while other requests are answered, is no silence: a slow partition, one lost connection.
`session` says how long a silence is: longer while all hosts seem to be up, because they may only pause.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from cqs.errors import CqsError, StoreUnavailable

PROBE_S_MAX = 1.0
PROBE_PAUSE_S = 0.25

_log = structlog.get_logger("cqs.store")


class Silence:
    """Belongs to one event loop."""

    def __init__(
        self,
        place: str,
        probe: Callable[[], Awaitable[object]],
        now_s: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """`place`: where Cassandra should be, for texts. `probe` sends a request that needs a quorum, and returns
        within about PROBE_S_MAX or raises CqsError."""
        self._place = place
        self._probe = probe
        self._now_s = now_s
        self._pause = pause
        self._answered_s = now_s()
        self._is_on = False
        self._probing: asyncio.Task[None] | None = None

    def check(self) -> None:
        """Raises StoreUnavailable while Cassandra is silent."""
        if self._is_on:
            silent_s = self._now_s() - self._answered_s
            raise StoreUnavailable(
                f"Cassandra at {self._place}: no request was answered for {silent_s:.0f} s. Nothing was written."
            )

    def answered(self) -> None:
        """A request that needs a quorum was answered just now."""
        self._answered_s = self._now_s()
        if self._is_on:
            self._is_on = False
            _log.info("store_answers", place=self._place)

    def unanswered(self, began_s: float, silent_s_min: float) -> None:
        """A call that began then has ended without an answer. `silent_s_min`: what is shorter is no silence."""
        silent_s = self._now_s() - max(began_s, self._answered_s)
        if self._is_on or silent_s < silent_s_min:
            return
        self._is_on = True
        _log.warning("store_silent", place=self._place, silent_s=round(silent_s, 1))
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._end())

    async def close(self) -> None:
        """Sends no more probes. Idempotent."""
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.gather(self._probing, return_exceptions=True)

    async def _end(self) -> None:
        while self._is_on:
            try:
                await self._probe()
            except CqsError:
                await self._pause(PROBE_PAUSE_S)
