"""Converts a message to a row of a durable store's table `messages`, and back. Shared by SQLite and Cassandra.

    id ║ queue ║ tail ║ sequence ║ sent_ms ║ visible_ms ║ grp ║ checksum ║ meta ║ body
                                  NULL when it is             CRC-32 of all   msgpack map of what differs
                                  the address's own           the others      from the defaults, or NULL

The checksum covers every other column, so that a bit flip on the disk is detected and never delivered.
"""

from __future__ import annotations

import struct
from zlib import crc32

import msgspec

from cqs import ids
from cqs.message import Attribute, Message

COLUMNS = "id, queue, tail, sequence, sent_ms, visible_ms, grp, checksum, meta, body"

Row = tuple[int, int, int, int, int | None, int, str | None, int, bytes | None, bytes]

_HEAD = struct.Struct("<qqqqqq")


class _Meta(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The rare fields. Fields may be added, never renamed."""

    sender_id: str = ""
    attributes: tuple[Attribute, ...] = ()
    trace_header: str | None = None
    dedup_id: str | None = None
    moved_id: str | None = None
    source_arn: str | None = None
    earlier_receives: int = 0
    earlier_first_ms: int = 0


_NO_META = msgspec.msgpack.encode(_Meta())
_encode_meta = msgspec.msgpack.Encoder().encode
_decode_meta = msgspec.msgpack.Decoder(_Meta).decode


def encode(storage_id: int, message: Message) -> Row:
    """Raises UnicodeEncodeError for text that is not valid Unicode (a lone surrogate)."""
    address = message.address
    key = ids.key_of(address)
    tail = ids.tail_of(address)
    sent_ms = None if message.sent_ms == ids.ms_of(address) else message.sent_ms
    meta: bytes | None = _encode_meta(
        _Meta(
            message.sender_id,
            message.attributes,
            message.trace_header,
            message.dedup_id,
            message.moved_id,
            message.source_arn,
            message.earlier_receives,
            message.earlier_first_ms,
        )
    )
    if meta == _NO_META:
        meta = None
    body = message.body.encode()
    group = message.group
    checksum = _checksum(key, storage_id, tail, message.sequence, sent_ms, message.visible_ms, group, meta, body)
    return (key, storage_id, tail, message.sequence, sent_ms, message.visible_ms, group, checksum, meta, body)


def decode(row: Row) -> Message | None:
    """None when the row is damaged."""
    key, storage_id, tail, sequence, sent_ms, visible_ms, group, checksum, meta, body = row
    try:
        if checksum != _checksum(key, storage_id, tail, sequence, sent_ms, visible_ms, group, meta, body):
            return None
        rare = _Meta() if meta is None else _decode_meta(meta)
        address = ids.pack(key, tail)
        return Message(
            address=address,
            body=body.decode(),
            sent_ms=ids.ms_of(address) if sent_ms is None else sent_ms,
            visible_ms=visible_ms,
            sender_id=rare.sender_id,
            attributes=rare.attributes,
            trace_header=rare.trace_header,
            group=group,
            dedup_id=rare.dedup_id,
            sequence=sequence,
            moved_id=rare.moved_id,
            source_arn=rare.source_arn,
            earlier_receives=rare.earlier_receives,
            earlier_first_ms=rare.earlier_first_ms,
        )
    except (msgspec.DecodeError, ValueError, TypeError, AttributeError, struct.error):
        return None


def _checksum(
    key: int,
    storage_id: int,
    tail: int,
    sequence: int,
    sent_ms: int | None,
    visible_ms: int,
    group: str | None,
    meta: bytes | None,
    body: bytes,
) -> int:
    start = crc32(_HEAD.pack(key, storage_id, tail, sequence, -1 if sent_ms is None else sent_ms, visible_ms))
    if group is not None:
        start = crc32(group.encode(), start)
    if meta is not None:
        start = crc32(meta, start)
    return crc32(body, start)
