"""Encodes messages, leases and answers between Python and the scripts.

    address    16 bytes, big-endian: byte order is numeric order
    meta       "sent_ms sequence group"                    never changes; "" = no group
    standing   "visible_ms is_flight number count first_ms", or "0": ready and never received
    lease      "ends_ms number count first_ms place mark"  ends_ms 0 = not in flight
    content    a Message without its address, as MessagePack

Bodies are copied as they are, never escaped or parsed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec

from cqs.cache.entry import Entry, State
from cqs.cache.interface import Received, Residency, Ticket
from cqs.errors import CacheUnavailable
from cqs.message import Attribute, Message

ADDRESS_BYTES = 16
RESIDENCY = {b"a": Residency.ABSENT, b"i": Residency.INITIALIZING, b"r": Residency.READY}
_NEVER_RECEIVED = b"0"


class _Content(msgspec.Struct, array_like=True, gc=False):
    body: str
    sent_ms: int
    visible_ms: int
    sender_id: str
    group: str | None
    sequence: int
    dedup_id: str | None
    trace_header: str | None
    moved_id: str | None
    source_arn: str | None
    attributes: tuple[tuple[str, str, bytes], ...] = ()
    earlier_receives: int = 0
    earlier_first_ms: int = 0


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Content)


def address_word(address: int) -> bytes:
    return address.to_bytes(ADDRESS_BYTES, "big")


def address_of(word: bytes) -> int:
    return int.from_bytes(word, "big")


def content_word(message: Message) -> bytes:
    """Never empty."""
    return _encoder.encode(
        _Content(
            message.body,
            message.sent_ms,
            message.visible_ms,
            message.sender_id,
            message.group,
            message.sequence,
            message.dedup_id,
            message.trace_header,
            message.moved_id,
            message.source_arn,
            tuple((one.name, one.data_type, one.value) for one in message.attributes) if message.attributes else (),
            message.earlier_receives,
            message.earlier_first_ms,
        )
    )


def message_of(address: int, word: bytes) -> Message:
    """Raises CacheUnavailable when `word` is not a valid content."""
    try:
        content = _decoder.decode(word)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CacheUnavailable(f"Redis holds a damaged message: {error}") from error
    return Message(
        address=address,
        body=content.body,
        sent_ms=content.sent_ms,
        visible_ms=content.visible_ms,
        sender_id=content.sender_id,
        attributes=tuple(Attribute(*one) for one in content.attributes) if content.attributes else (),
        trace_header=content.trace_header,
        group=content.group,
        dedup_id=content.dedup_id,
        sequence=content.sequence,
        moved_id=content.moved_id,
        source_arn=content.source_arn,
        earlier_receives=content.earlier_receives,
        earlier_first_ms=content.earlier_first_ms,
    )


def entry_words(entry: Entry, *, is_fifo: bool, content: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """An entry, as `put.lua` and `fill.lua` expect it."""
    sequence = b"%020d" % entry.sequence if is_fifo else b"0"
    meta = b"%d %b %b" % (entry.sent_ms, sequence, entry.group.encode() if entry.group else b"")
    standing = _NEVER_RECEIVED
    if entry.visible_ms or entry.receive_count or entry.receive_number:
        standing = b"%d %d %d %d %d" % (
            max(0, entry.visible_ms),
            entry.state is State.IN_FLIGHT,
            entry.receive_number,
            entry.receive_count,
            entry.first_receive_ms,
        )
    return entry.address.to_bytes(ADDRESS_BYTES, "big"), standing, meta, content


def ticket_words(tickets: Sequence[Ticket]) -> list[bytes | int]:
    """Address and receive number of each."""
    return [word for one in tickets for word in (address_word(one.address), one.receive_number)]


def entry_of(address: int, found: Sequence[bytes | None]) -> Entry | None:
    """An entry, from the answer of `lookup.lua`."""
    if not found:
        return None
    meta, lease, due, content = found
    assert meta is not None
    sent, sequence, group = meta.split(b" ", 2)
    entry = Entry(
        address=address,
        sent_ms=int(sent),
        sequence=int(sequence),
        group=group.decode() if group else None,
        message=message_of(address, content) if content is not None else None,
    )
    ends = 0
    if lease is not None:
        ends, entry.receive_number, entry.receive_count, entry.first_receive_ms = map(int, lease.split(b" ", 4)[:4])
    if due is not None:
        entry.state, entry.visible_ms = (State.IN_FLIGHT if ends else State.DELAYED), int(due)
    return entry


def received_of(words: Sequence[bytes | None], received_ms: int) -> list[Received]:
    """The messages in the answer of `take.lua`: address, meta, lease and content of each."""
    received: list[Received] = []
    for at in range(0, len(words), 4):
        word, meta, lease, content = cast("tuple[bytes, bytes, bytes, bytes | None]", words[at : at + 4])
        sent, sequence, group = meta.split(b" ", 2)
        ends, number, count, first, _ = lease.split(b" ", 4)
        address = int.from_bytes(word, "big")
        received.append(
            Received(
                address=address,
                sent_ms=int(sent),
                group=group.decode() if group else None,
                sequence=int(sequence),
                message=message_of(address, content) if content is not None else None,
                receive_count=int(count),
                first_receive_ms=int(first),
                receive_number=int(number),
                received_ms=received_ms,
                hidden_until_ms=int(ends) or received_ms,
            )
        )
    return received
