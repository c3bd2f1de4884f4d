"""Several witnesses as one, so that metrics and the journal get the same events."""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.interface import Received
from cqs.events import Witness
from cqs.message import Message
from cqs.queue import Queue
from cqs.receipt import Receipt


class Witnesses:
    """A `Witness` that forwards to several others, in order."""

    def __init__(self, *witnesses: Witness) -> None:
        self._all = witnesses

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None:
        for witness in self._all:
            witness.sent(queue, messages)

    def deduplicated(self, queue: Queue, addresses: Sequence[int]) -> None:
        for witness in self._all:
            witness.deduplicated(queue, addresses)

    def doubtful(self, queue: Queue, addresses: Sequence[int]) -> None:
        for witness in self._all:
            witness.doubtful(queue, addresses)

    def received(
        self, queue: Queue, received: Sequence[Received], *, is_from_store: bool, receiver_id: str = ""
    ) -> None:
        for witness in self._all:
            witness.received(queue, received, is_from_store=is_from_store, receiver_id=receiver_id)

    def received_nothing(self, queue: Queue) -> None:
        for witness in self._all:
            witness.received_nothing(queue)

    def given_back(self, queue: Queue, received: Sequence[Received]) -> None:
        for witness in self._all:
            witness.given_back(queue, received)

    def deleted(self, queue: Queue, addresses: Sequence[int], begun_ms: int = 0) -> None:
        for witness in self._all:
            witness.deleted(queue, addresses, begun_ms)

    def hidden(self, queue: Queue, receipt: Receipt, until_ms: int) -> None:
        for witness in self._all:
            witness.hidden(queue, receipt, until_ms)

    def revealed(self, queue: Queue, count: int) -> None:
        for witness in self._all:
            witness.revealed(queue, count)

    def expired(self, queue: Queue, addresses: Sequence[int]) -> None:
        for witness in self._all:
            witness.expired(queue, addresses)

    def moved(self, source: Queue, target: Queue, messages: Sequence[tuple[int, Message]]) -> None:
        for witness in self._all:
            witness.moved(source, target, messages)

    def purged(self, queue: Queue) -> None:
        for witness in self._all:
            witness.purged(queue)

    def queue_deleted(self, queue: Queue) -> None:
        for witness in self._all:
            witness.queue_deleted(queue)
