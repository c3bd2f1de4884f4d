"""Accepts connections from a socket that other processes accept from too, and leaves them their share.

    a connection arrives ─► all idle workers wake ─► each accepts one, and pauses for REST_S

Without the pause, the worker that wakes first takes a whole burst, and clients with persistent connections stay on it:
of 60 connections to 3 workers, one got 38 to 60; with the pause, each gets 19 to 22. A worker accepts at most 1,000
connections per second; requests on open connections are not slowed down.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

REST_S = 0.001
_FAILED_REST_S = 0.1
"""The pause after a failed accept, for example when file descriptors run out."""
SETTLE_S_MAX = 1.0
_log = logging.getLogger("cqs.http")


class SharedDoor:
    """Serves one listening socket from construction to `close`. `factory` creates a connection's protocol."""

    def __init__(
        self, listening: socket.socket, factory: Callable[[], asyncio.BaseProtocol], *, rest_s: float = REST_S
    ) -> None:
        """`rest_s`: the pause after each connection; 0 if no other process accepts from the socket."""
        self._listening = listening
        self._factory = factory
        self._rest_s = rest_s
        self._loop = asyncio.get_running_loop()
        self._coming: set[asyncio.Task[object]] = set()
        self._resting: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._loop.add_reader(listening, self._accept)

    @property
    def coming(self) -> int:
        """How many accepted connections do not have their protocol yet."""
        return len(self._coming)

    def close(self) -> None:
        """Stops accepting; leaves pending connections to the other processes. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            if self._resting is not None:
                self._resting.cancel()
            self._loop.remove_reader(self._listening)
            self._listening.close()

    async def settle(self) -> None:
        """Returns when every accepted connection has its protocol; drops those that have none after a second."""
        if self._coming:
            await asyncio.wait(self._coming, timeout=SETTLE_S_MAX)
        for task in self._coming:
            task.cancel()

    async def take(self, accepted: socket.socket, address: str) -> None:
        """Gives an accepted connection from that address its protocol. Raises OSError."""
        await self._loop.connect_accepted_socket(self._factory, accepted)

    def _accept(self) -> None:
        try:
            accepted, peer = self._listening.accept()
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            _log.warning("a connection could not be accepted: %s", error)
            self._rest(_FAILED_REST_S)
            return
        accepted.setblocking(False)
        task: asyncio.Task[object] = self._loop.create_task(self.take(accepted, str(peer[0])))
        self._coming.add(task)
        task.add_done_callback(self._came)
        if self._rest_s:
            self._rest(self._rest_s)

    def _came(self, task: asyncio.Task[object]) -> None:
        self._coming.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.warning("a connection could not be taken: %s", task.exception())

    def _rest(self, seconds: float) -> None:
        self._loop.remove_reader(self._listening)
        self._resting = self._loop.call_later(seconds, self._wake)

    def _wake(self) -> None:
        if not self._is_closed:
            self._loop.add_reader(self._listening, self._accept)
