"""Replies of one turn of the event loop, written together at its end.

    turn   read a ─ answer ─┐  read b ─ answer ─┐  read c ─ answer ─┐
                            └──────── put ──────┴───────────────────┴─► write a, b, c

A client that reads many connections is woken once for all of them, and waking somebody costs the kernel more than the
write itself: a third of a small call, measured. A lone reply waits for nothing but the end of its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from cqs.api.request import Reply

REPLIES_MAX = 32
"""Replies that are written together at most: the first of them waits for the others."""


class Outbox:
    """Belongs to one event loop. Keeps the order."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._replies: list[tuple[Callable[[Reply], None], Reply]] = []

    def put(self, write: Callable[[Reply], None], reply: Reply) -> None:
        """Calls `write(reply)` soon."""
        replies = self._replies
        if not replies:
            self._loop.call_soon(self._flush)
        replies.append((write, reply))
        if len(replies) >= REPLIES_MAX:
            self._flush()

    def _flush(self) -> None:
        replies, self._replies = self._replies, []
        for write, reply in replies:
            write(reply)
