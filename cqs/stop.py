"""How a server process is told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine

SAME_SIGNAL_S = 1.0


def end_signals() -> list[signal.Signals]:
    """The signals that request an orderly shutdown: SIGTERM, Ctrl-C and, unless `nohup` blocks it, a closed terminal
    (SIGHUP)."""
    is_nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGTERM, signal.SIGINT, *([] if is_nohup else [signal.SIGHUP])]


class Stop:
    """The first of `end_signals` requests an orderly shutdown, a second one ends the process at once. `make` forwards a
    signal that the whole process group got, so the server receives it twice. Signals within SAME_SIGNAL_S of the first
    therefore count as the same request."""

    def __init__(self, reload: Callable[[], None] | None = None) -> None:
        """`reload`: SIGHUP calls this instead, even under `nohup`."""
        self.requested = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._requested_s = 0.0
        for number in end_signals():
            self._loop.add_signal_handler(number, self._hear, number)
        if reload is not None:
            self._loop.add_signal_handler(signal.SIGHUP, reload)

    async def cuts(self, work: Coroutine[object, object, None]) -> bool:
        """Runs the work unless told to stop first; then it is cancelled, and the result is True."""
        task = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self.requested.wait())
        await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))
            return True
        task.result()
        return False

    def _hear(self, number: int) -> None:
        now_s = self._loop.time()
        if not self.requested.is_set():
            self._requested_s = now_s
            self.requested.set()
        elif now_s - self._requested_s > SAME_SIGNAL_S:
            os._exit(128 + number)
