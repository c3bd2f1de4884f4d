"""Counts what happens to messages: a dictionary look-up and an addition per event."""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.interface import Received
from cqs.message import Message
from cqs.metrics.depths import Depths
from cqs.metrics.queue_stats import QueueStats
from cqs.metrics.queue_table import QueueTable
from cqs.queue import Queue
from cqs.receipt import Receipt


class MetricsWitness:
    """A `cqs.events.Witness` over a table of queues. Also forgets the depth of queues it is told are deleted."""

    def __init__(self, queues: QueueTable, depths: Depths | None = None) -> None:
        self._queues = queues
        self._depths = Depths() if depths is None else depths
        self._by_uid = queues.by_uid

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None:
        stats = self._by_uid.get(queue.uid) or self._queues.meet(queue)
        stats.sent += len(messages)
        for message in messages:
            body = message.body
            stats.count_size(len(body) if body.isascii() and not message.attributes else message.size)

    def deduplicated(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._of(queue).deduplicated += len(addresses)

    def doubtful(self, queue: Queue, addresses: Sequence[int]) -> None:
        """Not counted: the client got an error, which is counted as an answer."""

    def received(
        self, queue: Queue, received: Sequence[Received], *, is_from_store: bool, receiver_id: str = ""
    ) -> None:
        stats = self._by_uid.get(queue.uid) or self._queues.meet(queue)
        stats.received += len(received)
        for one in received:
            if one.receive_count == 1:
                stats.first_receives += 1
                stats.waited_ms += one.received_ms - one.sent_ms
        if is_from_store:
            stats.from_store += len(received)

    def received_nothing(self, queue: Queue) -> None:
        self._of(queue).empty_receives += 1

    def given_back(self, queue: Queue, received: Sequence[Received]) -> None:
        self._of(queue).given_back += len(received)

    def deleted(self, queue: Queue, addresses: Sequence[int], begun_ms: int = 0) -> None:
        stats = self._by_uid.get(queue.uid) or self._queues.meet(queue)
        stats.deleted += len(addresses)

    def hidden(self, queue: Queue, receipt: Receipt, until_ms: int) -> None:
        self._of(queue).hidden += 1

    def revealed(self, queue: Queue, count: int) -> None:
        self._of(queue).revealed += count

    def expired(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._of(queue).expired += len(addresses)

    def moved(self, source: Queue, target: Queue, messages: Sequence[tuple[int, Message]]) -> None:
        """A dead letter stores the queue it came from; a move task clears that."""
        buried = sum(message.source_arn is not None for _, message in messages)
        stats = self._of(source)
        stats.dead_lettered += buried
        stats.redriven += len(messages) - buried
        self._of(target).arrived += len(messages)

    def purged(self, queue: Queue) -> None:
        self._of(queue).purges += 1

    def queue_deleted(self, queue: Queue) -> None:
        self._by_uid.pop(queue.uid, None)
        self._depths.forget(queue.uid)

    def _of(self, queue: Queue) -> QueueStats:
        return self._by_uid.get(queue.uid) or self._queues.meet(queue)
