"""What the lanes of one process share, and their common end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from cqs.api.dispatch import Dispatcher
from cqs.api.http.bounds import Bounds
from cqs.api.http.connection import Connection
from cqs.api.http.connections import Connections
from cqs.api.http.outbox import Outbox
from cqs.api.http.plain_reply import ReplyWriter
from cqs.api.http.room import Room
from cqs.api.lane import SLOW_S, Lane


class Lanes:
    """Makes a lane for each connection."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        connections: Connections,
        bounds: Bounds,
        room: Room,
        reference: Callable[[], Connection],
    ) -> None:
        """`reference` makes aiohttp's protocol for a connection that is handed over."""
        self.dispatcher = dispatcher
        self.connections = connections
        self.bounds = bounds
        self.room = room
        self.reference = reference
        self.writer = ReplyWriter()
        self.outbox = Outbox(asyncio.get_running_loop())
        self.is_stopping = False
        self._open: set[Lane] = set()
        self._emptied = asyncio.Event()

    def __call__(self) -> Lane:
        return Lane(self)

    def entered(self, lane: Lane) -> None:
        self._open.add(lane)

    def left(self, lane: Lane) -> None:
        self._open.discard(lane)
        self.connections.leave(lane)
        if not self._open:
            self._emptied.set()

    async def stop(self, stop_s_max: float) -> None:
        """Closes idle connections now, new ones after SLOW_S without a request, the others after their answer; at the
        latest after `stop_s_max`."""
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
