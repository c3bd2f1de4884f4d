"""What the lanes of one process share, and how they are stopped together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from cqs.api.dispatch import Dispatcher
from cqs.api.http.bounds import Bounds
from cqs.api.http.connection import Connection
from cqs.api.http.connections import Connections, Guest
from cqs.api.http.outbox import Outbox
from cqs.api.http.plain_reply import ReplyWriter
from cqs.api.http.room import Room

SLOW_S = 1.0
"""A lane does not serve a request that is still incomplete after this."""


class Ending(Guest, Protocol):
    """A lane, as `Lanes.stop` sees it."""

    def stop(self, *, is_patient: bool = False) -> None:
        """The server is stopping: closes the connection if idle (`is_patient`: only if it has served a request), else
        after its answer."""

    def cut(self) -> None:
        """Cancels the request and aborts the connection."""


class Lanes:
    """The open lanes and their shared dependencies."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        connections: Connections,
        bounds: Bounds,
        room: Room,
        reference: Callable[[], Connection],
    ) -> None:
        """`reference` creates aiohttp's protocol for a connection that is handed over."""
        self.dispatcher = dispatcher
        self.connections = connections
        self.bounds = bounds
        self.room = room
        self.reference = reference
        self.writer = ReplyWriter()
        self.outbox = Outbox(asyncio.get_running_loop())
        self.is_stopping = False
        self._open: set[Ending] = set()
        self._emptied = asyncio.Event()

    def entered(self, lane: Ending) -> None:
        self._open.add(lane)

    def left(self, lane: Ending) -> None:
        self._open.discard(lane)
        self.connections.leave(lane)
        if not self._open:
            self._emptied.set()

    async def stop(self, stop_s_max: float) -> None:
        """Closes idle connections now, connections without a request yet after SLOW_S, and the rest after their answer,
        but no later than `stop_s_max`."""
        self.is_stopping = True
        self._emptied.clear()
        for lane in list(self._open):
            lane.stop(is_patient=True)
            asyncio.get_running_loop().call_later(SLOW_S, lane.stop)
        if self._open:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._emptied.wait(), stop_s_max)
        for lane in list(self._open):
            lane.cut()
