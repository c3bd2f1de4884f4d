"""The witness that keeps the journal. For each call it appends a tuple to a buffer, which makes rows of many calls at
once (`_packed`); the rest is the recorder's, a process of its own, because what a thread did would take the
interpreter from the event loop.

Sampling takes a message or leaves it, by a hash of its address: all that happens to it is written, or nothing. What
concerns a whole queue is always written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

from cqs.cache.interface import Received
from cqs.clock import Clock
from cqs.events import EventName
from cqs.journal import rows, texts
from cqs.journal.buffer import Buffer
from cqs.journal.calls import Call, Head, Told, pack_calls
from cqs.journal.recorder_process import RecorderProcess
from cqs.journal.rules import JournalRules
from cqs.message import Message
from cqs.queue import Queue

NOTHING_MS = 1_000
"""Empty receives of a queue are added up for about so long."""
_QUEUES_MAX = 10_000
_SENT, _RECEIVED, _FROM_STORE = EventName.SENT.value, EventName.RECEIVED.value, EventName.FROM_STORE.value
_DELETED = EventName.DELETED.value


class Journal:
    """A `cqs.events.Witness`, for the event loop's thread."""

    def __init__(self, rules: JournalRules, clock: Clock) -> None:
        self._now_ms = clock.now_ms
        self._sample_every = rules.sample_every
        self._queues: dict[int, str] = {}
        self._nothing: dict[int, tuple[Queue, int]] = {}
        self._nothing_since_ms = 0
        self.buffer = Buffer(rules.buffer_bytes_max, self._packed)
        self._put = self.buffer.put
        self.recorder = RecorderProcess(rules, self.buffer)

    @property
    def dropped(self) -> int:
        """Events since the start that are not in the journal, as far as is known by now."""
        return self.buffer.dropped

    async def open(self) -> None:
        """Returns when the recorder has begun its first file. Raises CannotStart."""
        await self.recorder.open()

    async def close(self) -> None:
        """Returns when everything that was heard is written, with a closing line. Idempotent; never raises."""
        self.tell_nothing()
        await self.recorder.close()

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None:
        if self._sample_every > 1:
            messages = [message for message in messages if self._is_chosen(message.address)]
        self._tell(_SENT, queue, messages)

    def deduplicated(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._tell(EventName.DEDUPLICATED.value, queue, self._chosen(addresses))

    def received(
        self, queue: Queue, received: Sequence[Received], *, is_from_store: bool, receiver_id: str = ""
    ) -> None:
        self._tell(_FROM_STORE if is_from_store else _RECEIVED, queue, self._sampled(received), receiver_id)

    def received_nothing(self, queue: Queue) -> None:
        now_ms = self._now_ms()
        if self._nothing and now_ms - self._nothing_since_ms >= NOTHING_MS:
            self.tell_nothing()
        if not self._nothing:
            self._nothing_since_ms = now_ms
        _, count = self._nothing.get(queue.uid, (queue, 0))
        self._nothing[queue.uid] = (queue, count + 1)

    def given_back(self, queue: Queue, received: Sequence[Received]) -> None:
        self._tell(EventName.GIVEN_BACK.value, queue, rows.of_received(self._sampled(received), is_given_back=True))

    def deleted(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._tell(_DELETED, queue, self._chosen(addresses))

    def hidden(self, queue: Queue, address: int, until_ms: int) -> None:
        if self._is_chosen(address):
            self._tell(EventName.HIDDEN.value, queue, [(address, until_ms)])

    def revealed(self, queue: Queue, count: int) -> None:
        self._tell(EventName.REVEALED.value, queue, [count])

    def expired(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._tell(EventName.EXPIRED.value, queue, self._chosen(addresses))

    def moved(self, source: Queue, target: Queue, messages: Sequence[tuple[int, Message]]) -> None:
        chosen = [(old, new) for old, new in messages if self._is_chosen(old) or self._is_chosen(new.address)]
        news = rows.of_messages([new for _, new in chosen])
        told = [(old, row) for (old, _), row in zip(chosen, news, strict=True)]
        self._tell(EventName.MOVED.value, source, told, texts.of_queue(target, "to_"))

    def purged(self, queue: Queue) -> None:
        self._tell(EventName.PURGED.value, queue, [None])

    def queue_deleted(self, queue: Queue) -> None:
        self._tell(EventName.QUEUE_DELETED.value, queue, [None])

    def tell_nothing(self) -> None:
        """What was added up of empty receives."""
        for queue, count in self._nothing.values():
            self._tell(EventName.RECEIVED_NOTHING.value, queue, [count])
        self._nothing.clear()

    def _tell(self, event: str, queue: Queue, things: Sequence[Any], common: str = "") -> None:
        if things:
            self._put((event, self._now_ms(), queue, common, things))

    def _packed(self, told: Sequence[Told]) -> bytes:
        """Raises ValueError for what can't be told: no plain value, or a text that is no Unicode."""
        places: dict[tuple[str, int, str], int] = {}
        heads: list[Head] = []
        calls: list[Call] = []
        for event, at_ms, queue, common, things in told:
            key = event, id(queue), common
            place = places.get(key)
            if place is None:
                place = places[key] = len(heads)
                heads.append((event, self._queues.get(queue.storage_id) or self._text_of(queue), common))
            calls.append((place, at_ms, rows.MAKERS.get(event, list)(things)))
        return pack_calls((heads, calls))

    def _chosen(self, addresses: Sequence[int]) -> Sequence[int]:
        if self._sample_every == 1:
            return addresses
        return [address for address in addresses if self._is_chosen(address)]

    def _sampled(self, received: Sequence[Received]) -> Sequence[Received]:
        if self._sample_every == 1:
            return received
        return [one for one in received if self._is_chosen(one.address)]

    def _is_chosen(self, address: int) -> bool:
        return self._sample_every == 1 or crc32(address.to_bytes(16, "big")) % self._sample_every == 0

    def _text_of(self, queue: Queue) -> str:
        if len(self._queues) >= _QUEUES_MAX:
            self._queues.clear()
        text = self._queues[queue.storage_id] = texts.of_queue(queue)
        return text
