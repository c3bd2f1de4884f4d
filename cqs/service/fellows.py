"""The other worker processes of this server (`cqs serve --workers N`), as the service knows them: somebody to ask.

    this worker ── ask("drain", "on") ──► each fellow's handler of "drain" ──► its answer

What a worker is told it does for itself alone; whoever asked adds up the answers. A server of one process has none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

Handler = Callable[[str], Awaitable[bytes]]


class Fellows(Protocol):
    """Belongs to one event loop."""

    name: str
    """What this worker is called; "" = it has no fellows."""

    def answer(self, question: str, handler: Handler) -> None:
        """From now on this worker answers the question so. `question` is one word."""

    async def ask(self, question: str, about: str = "") -> Mapping[str, bytes]:
        """The answers by the fellows' names. Who does not answer in time is left out; never raises."""


class NoFellows:
    """Of a server that is one process."""

    name = ""

    def answer(self, question: str, handler: Handler) -> None:
        """Nobody will ask."""

    async def ask(self, question: str, about: str = "") -> Mapping[str, bytes]:
        return {}
