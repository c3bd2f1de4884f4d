"""The other worker processes of this server (`cqs serve --workers N`), which the service can query.

    this worker ── ask("drain", "on") ──► each peer's handler of "drain" ──► its answer

Each worker acts for itself alone; the one that asked adds up the answers. A single-process server has no peers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

Handler = Callable[[str], Awaitable[bytes]]


class Fellows(Protocol):
    """Belongs to one event loop."""

    name: str
    """This worker's name; "" = it has no peers."""

    def count(self) -> int:
        """How many workers the server has, with this one; also those that do not answer."""

    def answer(self, question: str, handler: Handler) -> None:
        """Registers this worker's handler for the question, which is one word."""

    async def ask(self, question: str, about: str = "") -> Mapping[str, bytes]:
        """The answers by worker name. A worker that does not answer in time is left out; never raises."""


class NoFellows:
    """For a server with a single process."""

    name = ""

    def count(self) -> int:
        return 1

    def answer(self, question: str, handler: Handler) -> None:
        """Nobody will ask."""

    async def ask(self, question: str, about: str = "") -> Mapping[str, bytes]:
        return {}
