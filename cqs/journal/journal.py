"""The witness that keeps the journal. The event loop's part of an event is one append to a buffer."""

from __future__ import annotations

import random
from collections.abc import Sequence

from cqs.cache.interface import Received
from cqs.clock import Clock
from cqs.events import EventName
from cqs.journal.buffer import Buffer, Heard
from cqs.journal.recorder import JournalRules, Recorder
from cqs.message import Message
from cqs.queue import Queue

NOTHING_MS = 1_000
"""Empty receives of a queue are added up for about so long."""


class Journal:
    """A `cqs.events.Witness`, for the event loop's thread. Sequences told to it must not change afterwards."""

    def __init__(self, rules: JournalRules, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self._buffer = Buffer(rules.buffer_bytes_max)
        self._put = self._buffer.put
        self._nothing: dict[int, tuple[Queue, int]] = {}
        self._nothing_since_ms = 0
        self.recorder = Recorder(rules, self._buffer, clock, rng)

    def open(self) -> None:
        """Begins the first file and starts the writer thread. Raises CannotStart."""
        self.recorder.open()
        self.recorder.start()

    def close(self) -> None:
        """Writes everything that was heard, with a closing line. Idempotent; never raises."""
        self._tell_nothing(self._clock.now_ms())
        self.recorder.close()

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None:
        self._put(Heard(EventName.SENT, self._clock.now_ms(), queue, messages), _body_bytes(messages))

    def deduplicated(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._put(Heard(EventName.DEDUPLICATED, self._clock.now_ms(), queue, addresses))

    def received(
        self, queue: Queue, received: Sequence[Received], *, is_from_store: bool, receiver_id: str = ""
    ) -> None:
        event = EventName.FROM_STORE if is_from_store else EventName.RECEIVED
        body_bytes = 0
        for one in received:
            if one.message is not None:
                body_bytes += len(one.message.body)
        self._put(Heard(event, self._clock.now_ms(), queue, received, receiver_id), body_bytes)

    def received_nothing(self, queue: Queue) -> None:
        now_ms = self._clock.now_ms()
        if self._nothing and now_ms - self._nothing_since_ms >= NOTHING_MS:
            self._tell_nothing(now_ms)
        if not self._nothing:
            self._nothing_since_ms = now_ms
        _, count = self._nothing.get(queue.uid, (queue, 0))
        self._nothing[queue.uid] = (queue, count + 1)

    def given_back(self, queue: Queue, received: Sequence[Received]) -> None:
        self._put(Heard(EventName.GIVEN_BACK, self._clock.now_ms(), queue, received))

    def deleted(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._put(Heard(EventName.DELETED, self._clock.now_ms(), queue, addresses))

    def hidden(self, queue: Queue, address: int, until_ms: int) -> None:
        self._put(Heard(EventName.HIDDEN, self._clock.now_ms(), queue, (address,), number=until_ms))

    def revealed(self, queue: Queue, count: int) -> None:
        self._put(Heard(EventName.REVEALED, self._clock.now_ms(), queue, number=count))

    def expired(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._put(Heard(EventName.EXPIRED, self._clock.now_ms(), queue, addresses))

    def moved(self, source: Queue, target: Queue, messages: Sequence[tuple[int, Message]]) -> None:
        heard = Heard(EventName.MOVED, self._clock.now_ms(), source, messages, target=target)
        self._put(heard, _body_bytes([message for _, message in messages]))

    def purged(self, queue: Queue) -> None:
        self._put(Heard(EventName.PURGED, self._clock.now_ms(), queue))

    def queue_deleted(self, queue: Queue) -> None:
        self._put(Heard(EventName.QUEUE_DELETED, self._clock.now_ms(), queue))

    def _tell_nothing(self, now_ms: int) -> None:
        for queue, count in self._nothing.values():
            self._put(Heard(EventName.RECEIVED_NOTHING, now_ms, queue, number=count))
        self._nothing.clear()


def _body_bytes(messages: Sequence[Message]) -> int:
    count = 0
    for message in messages:
        count += len(message.body)
    return count
