"""The witness that keeps the journal. The event loop's part is to put the text together and to append it to a buffer:
threads share one interpreter, so what the writer thread did instead would cost the same and make requests wait for it.

Sampling takes a message or leaves it, by a hash of its address: all that happens to it is written, or nothing. What
concerns a whole queue is always written.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from zlib import crc32

from cqs.cache.interface import Received
from cqs.clock import Clock
from cqs.events import EventName
from cqs.journal import texts
from cqs.journal.buffer import Buffer, Told
from cqs.journal.recorder import JournalRules, Recorder
from cqs.message import Message
from cqs.queue import Queue

NOTHING_MS = 1_000
"""Empty receives of a queue are added up for about so long."""
_QUEUES_MAX = 10_000
_EVENTS = {name: f',"event":"{name.value}","at_ms":' for name in EventName}


class Journal:
    """A `cqs.events.Witness`, for the event loop's thread."""

    def __init__(self, rules: JournalRules, clock: Clock, rng: random.Random) -> None:
        self._now_ms = clock.now_ms
        self._sample_every = rules.sample_every
        self._buffer = Buffer(rules.buffer_bytes_max)
        self._queues: dict[int, str] = {}
        self._nothing: dict[int, tuple[Queue, int]] = {}
        self._nothing_since_ms = 0
        self.recorder = Recorder(rules, self._buffer, clock, rng)

    def open(self) -> None:
        """Begins the first file and starts the writer thread. Raises CannotStart."""
        self.recorder.open()
        self.recorder.start()

    def close(self) -> None:
        """Writes everything that was heard, with a closing line. Idempotent; never raises."""
        self._tell_nothing()
        self.recorder.close()

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None:
        if self._sample_every > 1:
            messages = [message for message in messages if self._is_chosen(message.address)]
        self._tell(EventName.SENT, queue, [texts.of_address(m.address) + texts.of_message(m) for m in messages])

    def deduplicated(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._tell_addresses(EventName.DEDUPLICATED, queue, addresses)

    def received(
        self, queue: Queue, received: Sequence[Received], *, is_from_store: bool, receiver_id: str = ""
    ) -> None:
        event = EventName.FROM_STORE if is_from_store else EventName.RECEIVED
        told = [texts.of_received(one, receiver_id) for one in received if self._is_chosen(one.address)]
        self._tell(event, queue, told)

    def received_nothing(self, queue: Queue) -> None:
        now_ms = self._now_ms()
        if self._nothing and now_ms - self._nothing_since_ms >= NOTHING_MS:
            self._tell_nothing()
        if not self._nothing:
            self._nothing_since_ms = now_ms
        _, count = self._nothing.get(queue.uid, (queue, 0))
        self._nothing[queue.uid] = (queue, count + 1)

    def given_back(self, queue: Queue, received: Sequence[Received]) -> None:
        chosen = [one for one in received if self._is_chosen(one.address)]
        self._tell(EventName.GIVEN_BACK, queue, [texts.of_given_back(one) for one in chosen])

    def deleted(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._tell_addresses(EventName.DELETED, queue, addresses)

    def hidden(self, queue: Queue, address: int, until_ms: int) -> None:
        if self._is_chosen(address):
            self._tell(EventName.HIDDEN, queue, [f'{texts.of_address(address)},"hidden_until_ms":{until_ms}'])

    def revealed(self, queue: Queue, count: int) -> None:
        self._tell(EventName.REVEALED, queue, [f',"count":{count}'])

    def expired(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._tell_addresses(EventName.EXPIRED, queue, addresses)

    def moved(self, source: Queue, target: Queue, messages: Sequence[tuple[int, Message]]) -> None:
        to = texts.of_queue(target, "to_")
        chosen = [(old, new) for old, new in messages if self._is_chosen(old) or self._is_chosen(new.address)]
        told = [
            f"{texts.of_address(old)}{to}{texts.of_address(new.address, 'to_')}{texts.of_message(new)}"
            for old, new in chosen
        ]
        self._tell(EventName.MOVED, source, told)

    def purged(self, queue: Queue) -> None:
        self._tell(EventName.PURGED, queue, [""])

    def queue_deleted(self, queue: Queue) -> None:
        self._tell(EventName.QUEUE_DELETED, queue, [""])

    def _tell(self, event: EventName, queue: Queue, told: list[str]) -> None:
        if told:
            self._buffer.put(Told(event, f"{_EVENTS[event]}{self._now_ms()}{self._text_of(queue)}", told))

    def _tell_addresses(self, event: EventName, queue: Queue, addresses: Sequence[int]) -> None:
        self._tell(event, queue, [texts.of_address(address) for address in addresses if self._is_chosen(address)])

    def _tell_nothing(self) -> None:
        for queue, count in self._nothing.values():
            self._tell(EventName.RECEIVED_NOTHING, queue, [f',"count":{count}'])
        self._nothing.clear()

    def _is_chosen(self, address: int) -> bool:
        return self._sample_every == 1 or crc32(address.to_bytes(16, "big")) % self._sample_every == 0

    def _text_of(self, queue: Queue) -> str:
        text = self._queues.get(queue.storage_id)
        if text is None:
            if len(self._queues) >= _QUEUES_MAX:
                self._queues.clear()
            text = self._queues[queue.storage_id] = texts.of_queue(queue)
        return text
