"""A witness that records what it is told, so that a test can check what happened and in which order."""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.interface import Received
from cqs.message import Message
from cqs.queue import Queue
from cqs.receipt import Receipt


class RecordingWitness:
    """A `cqs.events.Witness`. `heard` has one entry per event: its name, the queue's name, and the addresses, or the
    number for events without addresses."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, tuple[int, ...]]] = []
        self.moves: list[tuple[str, str, tuple[tuple[int, Message], ...]]] = []
        """Source, target, and old addresses with new messages, of each `moved`."""
        self.hides: list[tuple[Receipt, int]] = []
        """The arguments of each `hidden`."""
        self.begins: list[int] = []
        """When each `deleted` began."""

    def names(self) -> list[str]:
        """The events' names, in order."""
        return [name for name, _, _ in self.heard]

    def of(self, name: str) -> list[tuple[str, tuple[int, ...]]]:
        """Queue and addresses of every event of this name, in order."""
        return [(queue, addresses) for heard, queue, addresses in self.heard if heard == name]

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None:
        self._hear("sent", queue, [message.address for message in messages])

    def deduplicated(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._hear("deduplicated", queue, addresses)

    def doubtful(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._hear("doubtful", queue, addresses)

    def received(
        self, queue: Queue, received: Sequence[Received], *, is_from_store: bool, receiver_id: str = ""
    ) -> None:
        self._hear("received_from_store" if is_from_store else "received", queue, [one.address for one in received])

    def received_nothing(self, queue: Queue) -> None:
        self._hear("received_nothing", queue, [])

    def given_back(self, queue: Queue, received: Sequence[Received]) -> None:
        self._hear("given_back", queue, [one.address for one in received])

    def deleted(self, queue: Queue, addresses: Sequence[int], begun_ms: int = 0) -> None:
        self._hear("deleted", queue, addresses)
        self.begins.append(begun_ms)

    def hidden(self, queue: Queue, receipt: Receipt, until_ms: int) -> None:
        self._hear("hidden", queue, [receipt.address])
        self.hides.append((receipt, until_ms))

    def revealed(self, queue: Queue, count: int) -> None:
        self._hear("revealed", queue, [count])

    def expired(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._hear("expired", queue, addresses)

    def moved(self, source: Queue, target: Queue, messages: Sequence[tuple[int, Message]]) -> None:
        self.moves.append((source.name, target.name, tuple(messages)))
        self._hear("moved", source, [old_address for old_address, _ in messages])

    def purged(self, queue: Queue) -> None:
        self._hear("purged", queue, [])

    def queue_deleted(self, queue: Queue) -> None:
        self._hear("queue_deleted", queue, [])

    def _hear(self, name: str, queue: Queue, addresses: Sequence[int]) -> None:
        self.heard.append((name, queue.name, tuple(addresses)))
