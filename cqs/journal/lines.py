"""From what was heard to numbered lines. Belongs to the writer thread; bodies are hashed here, away from the requests.

Sampling takes a message or leaves it, by a hash of its address: all that happens to it is written, or nothing. What
concerns a whole queue is always written.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast
from zlib import crc32

import msgspec

from cqs.cache.interface import Received
from cqs.events import INDEX_ATTRIBUTE, RUN_ATTRIBUTE, SENDER_ATTRIBUTE, VERSION, EventName, Line
from cqs.ids import text_of
from cqs.journal.buffer import Heard
from cqs.message import Message

Fields = dict[str, Any]
_PER_QUEUE = (EventName.RECEIVED_NOTHING, EventName.REVEALED)


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
        self._encode = msgspec.json.Encoder().encode

    def encode(self, heard: Sequence[Heard]) -> Encoded:
        """The lines of these calls; a call that can't be written as JSON raises what msgspec raises."""
        return self._encoded([line for one in heard for line in self._lines_of(one)])

    def one(self, event: EventName, at_ms: int, **fields: Any) -> Encoded:
        """A line about the journal itself."""
        return self._encoded([self._line(event, at_ms, fields)])

    def _encoded(self, lines: Sequence[Line]) -> Encoded:
        texts = [self._encode(line) for line in lines]
        texts.append(b"")
        return Encoded(b"\n".join(texts), sum(map(crc32, texts)), Counter(line.event for line in lines))

    def _line(self, event: EventName, at_ms: int, fields: Fields) -> Line:
        self.number += 1
        return Line(
            v=VERSION,
            node=self.node,
            incarnation=self.incarnation,
            number=self.number,
            event=event,
            at_ms=at_ms,
            **fields,
        )

    def _lines_of(self, heard: Heard) -> Iterator[Line]:
        queue = heard.queue
        common: Fields = {
            "account": queue.account,
            "queue": queue.name,
            "uid": queue.uid,
            "generation": queue.generation,
            "is_fifo": queue.settings.is_fifo,
        }
        if heard.event in _PER_QUEUE:
            common["count"] = heard.number
        fields_of = _FIELDS.get(heard.event)
        if fields_of is None:
            yield self._line(heard.event, heard.at_ms, common)
            return
        common["call"] = self.number + 1
        for item in heard.items:
            address, fields = fields_of(heard, item)
            if self._is_chosen(address):
                yield self._line(heard.event, heard.at_ms, common | fields)

    def _is_chosen(self, address: int) -> bool:
        return self.sample_every == 1 or crc32(address.to_bytes(16, "big")) % self.sample_every == 0


def _of_message(_: Heard, item: object) -> tuple[int, Fields]:
    message = cast("Message", item)
    return message.address, {"address": text_of(message.address), **_content(message)}


def _of_address(heard: Heard, item: object) -> tuple[int, Fields]:
    address = cast("int", item)
    fields: Fields = {"address": text_of(address)}
    if heard.event is EventName.HIDDEN:
        fields["hidden_until_ms"] = heard.number
    return address, fields


def _of_received(heard: Heard, item: object) -> tuple[int, Fields]:
    one = cast("Received", item)
    fields: Fields = {
        "address": text_of(one.address),
        "tenant": one.group or "",
        "sequence": one.sequence,
        "sent_ms": one.sent_ms,
        "receiver_id": heard.receiver_id,
        "receive_number": one.receive_number,
        "receive_count": one.receive_count,
        "received_ms": one.received_ms,
        "hidden_until_ms": one.hidden_until_ms,
    }
    if heard.event is not EventName.GIVEN_BACK and one.message is not None:
        fields["md5"] = _md5(one.message.body)
    return one.address, fields


def _of_moved(heard: Heard, item: object) -> tuple[int, Fields]:
    old_address, message = cast("tuple[int, Message]", item)
    target = heard.target
    assert target is not None
    fields: Fields = {
        "address": text_of(old_address),
        "to_queue": target.name,
        "to_uid": target.uid,
        "to_generation": target.generation,
        "to_address": text_of(message.address),
        **_content(message),
    }
    return old_address, fields


_FIELDS: dict[EventName, Callable[[Heard, object], tuple[int, Fields]]] = {
    EventName.SENT: _of_message,
    EventName.DEDUPLICATED: _of_address,
    EventName.RECEIVED: _of_received,
    EventName.FROM_STORE: _of_received,
    EventName.GIVEN_BACK: _of_received,
    EventName.DELETED: _of_address,
    EventName.HIDDEN: _of_address,
    EventName.EXPIRED: _of_address,
    EventName.MOVED: _of_moved,
}


def _content(message: Message) -> Fields:
    body = message.body.encode()
    fields: Fields = {
        "md5": hashlib.md5(body, usedforsecurity=False).hexdigest(),
        "bytes": len(body),
        "tenant": message.group or "",
        "sequence": message.sequence,
        "sent_ms": message.sent_ms,
        "visible_ms": message.visible_ms,
        "sender_id": message.sender_id,
        "message_id": message.moved_id or "",
    }
    for attribute in message.attributes:
        field = _FROM_ATTRIBUTES.get(attribute.name)
        if field is not None:
            text = attribute.value.decode(errors="replace")
            fields[field] = _index(text) if field == "index" else text
    return fields


def _index(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1


_FROM_ATTRIBUTES = {RUN_ATTRIBUTE: "run", SENDER_ATTRIBUTE: "sender", INDEX_ATTRIBUTE: "index"}


def _md5(body: str) -> str:
    return hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()
