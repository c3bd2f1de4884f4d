"""From what was heard to numbered lines. Belongs to the writer thread; bodies are hashed here, away from the requests.

Sampling takes a message or leaves it, by a hash of its address: all that happens to it is written, or nothing. What
concerns a whole queue is always written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast
from zlib import crc32

import msgspec

from cqs.cache.interface import Received
from cqs.events import VERSION, EventName, Line
from cqs.journal import texts
from cqs.journal.buffer import Heard
from cqs.message import Message
from cqs.queue import Queue

_QUEUES_MAX = 10_000
_OF_ADDRESSES = frozenset({EventName.DEDUPLICATED, EventName.DELETED, EventName.HIDDEN, EventName.EXPIRED})
_EVENTS = {name: f',"event":"{name.value}","at_ms":' for name in EventName}
_OF_RECEIVES = frozenset({EventName.RECEIVED, EventName.FROM_STORE, EventName.GIVEN_BACK})


@dataclass(frozen=True, slots=True)
class Encoded:
    """Lines ready to be written, each with its end."""

    block: bytes
    checksum: int
    counts: Counter[EventName]


def together(parts: Sequence[Encoded]) -> Encoded:
    """Several blocks as one."""
    counts: Counter[EventName] = Counter()
    for part in parts:
        counts.update(part.counts)
    return Encoded(b"".join(part.block for part in parts), sum(part.checksum for part in parts), counts)


class Numberer:
    """Gives out an incarnation's lines. `number` is the last one given, and may be set back when a write failed."""

    def __init__(self, node: str, incarnation: str, sample_every: int = 1) -> None:
        self.node = node
        self.incarnation = incarnation
        self.sample_every = sample_every
        self.number = 0
        self._head = f'{{"v":{VERSION},"node":"{node}","incarnation":"{incarnation}","number":'
        self._queues: dict[int, str] = {}

    def encode(self, heard: Sequence[Heard]) -> Encoded:
        """The lines of these calls; text that is no Unicode raises UnicodeEncodeError."""
        lines: list[bytes] = []
        counts: Counter[EventName] = Counter()
        for one in heard:
            before = len(lines)
            lines += self._lines_of(one)
            counts[one.event] += len(lines) - before
        return _encoded(lines, +counts)

    def one(self, event: EventName, at_ms: int, **fields: Any) -> Encoded:
        """A line about the journal itself."""
        self.number += 1
        line = Line(
            v=VERSION,
            node=self.node,
            incarnation=self.incarnation,
            number=self.number,
            event=event,
            at_ms=at_ms,
            **fields,
        )
        return _encoded([msgspec.json.encode(line)], Counter([event]))

    def _lines_of(self, heard: Heard) -> Iterator[bytes]:
        number = self.number
        middle = f"{_EVENTS[heard.event]}{heard.at_ms}{self._queue(heard.queue)}"
        if not heard.items:
            count = f',"count":{heard.number}' if heard.number else ""
            self.number = number + 1
            yield f"{self._head}{self.number}{middle}{count}}}".encode()
            return
        end = f',"call":{number + 1}}}'
        for address, text in _texts_of(heard):
            if self.sample_every == 1 or crc32(address.to_bytes(16, "big")) % self.sample_every == 0:
                number += 1
                yield f"{self._head}{number}{middle}{text}{end}".encode()
        self.number = number

    def _queue(self, queue: Queue) -> str:
        text = self._queues.get(queue.storage_id)
        if text is None:
            if len(self._queues) >= _QUEUES_MAX:
                self._queues.clear()
            text = self._queues[queue.storage_id] = texts.of_queue(queue)
        return text


def _encoded(lines: list[bytes], counts: Counter[EventName]) -> Encoded:
    checksum = sum(map(crc32, lines))
    lines.append(b"")
    return Encoded(b"\n".join(lines), checksum, counts)


def _texts_of(heard: Heard) -> Iterator[tuple[int, str]]:
    """Address and text of each item."""
    event = heard.event
    if event is EventName.SENT:
        for message in cast("Sequence[Message]", heard.items):
            yield message.address, texts.of_address(message.address) + texts.of_message(message)
    elif event in _OF_RECEIVES:
        is_body_told = event is not EventName.GIVEN_BACK
        for one in cast("Sequence[Received]", heard.items):
            yield one.address, texts.of_received(one, heard.receiver_id, is_body_told=is_body_told)
    elif event in _OF_ADDRESSES:
        until = f',"hidden_until_ms":{heard.number}' if event is EventName.HIDDEN else ""
        for address in cast("Sequence[int]", heard.items):
            yield address, texts.of_address(address) + until
    else:
        assert heard.target is not None, event
        target = texts.of_queue(heard.target, "to_")
        for old_address, message in cast("Sequence[tuple[int, Message]]", heard.items):
            to_address = f'{target},"to_{texts.of_address(message.address)[2:]}'
            yield old_address, texts.of_address(old_address) + to_address + texts.of_message(message)
