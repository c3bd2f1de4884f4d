"""What the lanes of one process share, and their common end."""

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
"""A request that is not complete by then is none for a lane."""


class Ending(Guest, Protocol):
    """A lane, as its end sees it."""

    def stop(self, *, is_patient: bool = False) -> None:
        """The server stops: idle, the connection closes (`is_patient`: if it ever served); else after its answer."""

    def cut(self) -> None:
        """Gives up the request, and ends the connection at once."""


class Lanes:
    """The open lanes, and what each of them works with."""

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
