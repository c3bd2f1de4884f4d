"""The witness that writes the journal. For each call it appends a tuple to a buffer, which makes bytes of many calls at
once (`_packed`); the rest is done by the recorder, a process of its own, because a thread would take the GIL from the
event loop.

Sampling selects messages by a hash of their address: of each message either every event is written, or none. Events of
a whole queue are always written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

from cqs.cache.interface import Received
from cqs.clock import Clock
from cqs.events import EventName
from cqs.journal import fields
from cqs.journal.buffer import Buffer
from cqs.journal.calls import Place, Told, pack_calls
from cqs.journal.recorder_process import RecorderProcess
from cqs.journal.rules import JournalRules
from cqs.message import Message
from cqs.queue import Queue
from cqs.receipt import Receipt

NOTHING_MS = 1_000
"""Empty receives of a queue are summed up for about this long."""
BEAT_MS = 10_000
"""At least this often, a line says that everything reported before is written (`spark_jobs.window`)."""
_NO_QUEUE = Queue(account="", name="", region="", uid=0, created_ms=0, modified_ms=0)
_SENT, _RECEIVED, _FROM_STORE = EventName.SENT.value, EventName.RECEIVED.value, EventName.FROM_STORE.value
_DELETED = EventName.DELETED.value


class Journal:
    """A `cqs.events.Witness`, for the event loop's thread."""

    def __init__(self, rules: JournalRules, clock: Clock) -> None:
        self._now_ms = clock.now_ms
        self._folder = rules.folder
        self._sample_every = rules.sample_every
        self._nothing: dict[int, tuple[Queue, int, int]] = {}
        """By uid: the queue, the number of empty receives, and the time of the last one."""
        self._nothing_since_ms = 0
        self.buffer = Buffer(rules.buffer_bytes_max, self._packed)
        self._put = self.buffer.put
        self._beaten_ms = clock.now_ms()
        self.recorder = RecorderProcess(rules, self.buffer, self.beat)

    @property
    def dropped(self) -> int:
        """Events since the start that are missing in the journal, as far as known."""
        return self.buffer.dropped

    @property
    def trouble(self) -> str:
        """Why no event can be written now, as a sentence; "" = they are written."""
        reason = self.recorder.trouble
        return (
            f"The event journal can't be written to {self._folder}: {reason}. Events are missing in it."
            if reason
            else ""
        )

    async def open(self) -> None:
        """Returns when the recorder has begun its first file. Raises CannotStart."""
        await self.recorder.open()

    async def close(self) -> None:
        """Returns when everything reported is written, with a closing line. Idempotent; never raises."""
        self.tell_nothing()
        await self.recorder.close()

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None:
        if self._sample_every > 1:
            messages = [message for message in messages if self._is_chosen(message.address)]
        if messages:
            self._put((_SENT, self._now_ms(), queue, fields.sender_of(messages[0]), messages))

    def deduplicated(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._tell(EventName.DEDUPLICATED.value, queue, self._chosen(addresses))

    def doubtful(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._tell(EventName.DOUBTFUL.value, queue, self._chosen(addresses))

    def received(
        self, queue: Queue, received: Sequence[Received], *, is_from_store: bool, receiver_id: str = ""
    ) -> None:
        if self._sample_every > 1:
            received = self._sampled(received)
        if received:
            event = _FROM_STORE if is_from_store else _RECEIVED
            self._put((event, self._now_ms(), queue, receiver_id, received))

    def received_nothing(self, queue: Queue) -> None:
        now_ms = self._now_ms()
        if self._nothing and now_ms - self._nothing_since_ms >= NOTHING_MS:
            self.tell_nothing()
        if not self._nothing:
            self._nothing_since_ms = now_ms
        _, count, _ = self._nothing.get(queue.uid, (queue, 0, 0))
        self._nothing[queue.uid] = (queue, count + 1, now_ms)

    def given_back(self, queue: Queue, received: Sequence[Received]) -> None:
        self._tell(EventName.GIVEN_BACK.value, queue, self._sampled(received))

    def deleted(self, queue: Queue, addresses: Sequence[int], begun_ms: int = 0) -> None:
        if self._sample_every > 1:
            addresses = self._chosen(addresses)
        if addresses:
            self._put((_DELETED, self._now_ms(), queue, begun_ms, addresses))

    def hidden(self, queue: Queue, receipt: Receipt, until_ms: int) -> None:
        if self._is_chosen(receipt.address):
            told = (receipt.address, receipt.receive_number, receipt.received_ms, until_ms)
            self._tell(EventName.HIDDEN.value, queue, [told])

    def revealed(self, queue: Queue, count: int) -> None:
        self._tell(EventName.REVEALED.value, queue, [count])

    def expired(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._tell(EventName.EXPIRED.value, queue, self._chosen(addresses))

    def moved(self, source: Queue, target: Queue, messages: Sequence[tuple[int, Message]]) -> None:
        chosen = [(old, new) for old, new in messages if self._is_chosen(old) or self._is_chosen(new.address)]
        self._tell(EventName.MOVED.value, source, chosen, (target.name, target.uid, target.generation))

    def purged(self, queue: Queue) -> None:
        self._tell(EventName.PURGED.value, queue, [None])

    def queue_deleted(self, queue: Queue) -> None:
        self._tell(EventName.QUEUE_DELETED.value, queue, [None])

    def beat(self) -> None:
        """When due, writes that this node is alive, after everything reported before."""
        now_ms = self._now_ms()
        if not 0 <= now_ms - self._beaten_ms < BEAT_MS:
            self._beaten_ms = now_ms
            self.tell_nothing()
            self._tell(EventName.ALIVE.value, _NO_QUEUE, [None])

    def tell_nothing(self) -> None:
        """Reports the empty receives summed up so far, and when the last one was."""
        for queue, count, last_ms in self._nothing.values():
            self._tell(EventName.RECEIVED_NOTHING.value, queue, [(count, last_ms)])
        self._nothing.clear()

    def _tell(self, event: str, queue: Queue, things: Sequence[Any], common: Any = "") -> None:
        if things:
            self._put((event, self._now_ms(), queue, common, things))

    def _packed(self, told: Sequence[Told]) -> bytes:
        """Raises ValueError for values that can't be packed, or a text that is not valid Unicode."""
        places: dict[int, int] = {}
        queues: list[Place] = []
        groups: dict[str, tuple[list[Any], list[Any]]] = {}
        place = 0
        for event, at_ms, queue, common, things in told:
            queue_place = places.get(id(queue))
            if queue_place is None:
                queue_place = places[id(queue)] = len(queues)
                queues.append((queue.account, queue.name, queue.uid, queue.generation, queue.settings.is_fifo))
            group = groups.get(event)
            if group is None:
                group = groups[event] = [], []
            calls, all_things = group
            size = len(things)
            calls += (place, size, at_ms, queue_place, common)
            all_things += things
            place += size
        made = [(event, calls, fields.MAKERS[event](told_of)) for event, (calls, told_of) in groups.items()]
        return pack_calls((queues, made))

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
