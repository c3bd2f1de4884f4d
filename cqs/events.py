"""What happened to messages, told once, in one place: the service calls a `Witness`, and metrics, the console's message
lives and the event journal are witnesses. A witness never blocks and never raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cqs.cache.interface import Received
from cqs.message import Message
from cqs.queue import Queue


class Witness(Protocol):
    """Hears of every step of every message, after it was made."""

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None: ...

    def deduplicated(self, queue: Queue, addresses: Sequence[int]) -> None:
        """A send was answered with the first message of its deduplication id."""

    def received(self, queue: Queue, received: Sequence[Received], *, is_from_store: bool) -> None: ...

    def received_nothing(self, queue: Queue) -> None: ...

    def given_back(self, queue: Queue, received: Sequence[Received]) -> None:
        """A receive's answer reached nobody."""

    def deleted(self, queue: Queue, addresses: Sequence[int]) -> None: ...

    def hidden(self, queue: Queue, address: int, until_ms: int) -> None: ...

    def revealed(self, queue: Queue, count: int) -> None:
        """Timeouts ran out or delays came due."""

    def expired(self, queue: Queue, addresses: Sequence[int]) -> None: ...

    def moved(self, source: Queue, target: Queue, messages: Sequence[tuple[int, Message]]) -> None:
        """Old address and new message, by redrive to a dead-letter queue or by a move task."""

    def purged(self, queue: Queue) -> None: ...


class NullWitness:
    """Hears nothing: for tools and tests that do not care."""

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None:
        pass

    def deduplicated(self, queue: Queue, addresses: Sequence[int]) -> None:
        pass

    def received(self, queue: Queue, received: Sequence[Received], *, is_from_store: bool) -> None:
        pass

    def received_nothing(self, queue: Queue) -> None:
        pass

    def given_back(self, queue: Queue, received: Sequence[Received]) -> None:
        pass

    def deleted(self, queue: Queue, addresses: Sequence[int]) -> None:
        pass

    def hidden(self, queue: Queue, address: int, until_ms: int) -> None:
        pass

    def revealed(self, queue: Queue, count: int) -> None:
        pass

    def expired(self, queue: Queue, addresses: Sequence[int]) -> None:
        pass

    def moved(self, source: Queue, target: Queue, messages: Sequence[tuple[int, Message]]) -> None:
        pass

    def purged(self, queue: Queue) -> None:
        pass
