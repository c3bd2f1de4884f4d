"""Rows (`cqs.journal.rows`) as JSON text without braces, put together by hand: this runs for every event of a busy
server, and costs a third of what building a `cqs.events.Line` and encoding it does. A test decodes every kind of line
as a `Line`.

What a client chose (groups, names, ids) is quoted; numbers, digests and addresses need no quoting. Fields that have
their default are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from cqs.events import INDEX_ATTRIBUTE, RUN_ATTRIBUTE, SENDER_ATTRIBUTE, EventName
from cqs.ids import text_of
from cqs.journal.calls import Row
from cqs.queue import Queue

_QUOTED_MAX = 4_096
_ADDRESSES_MAX = 32_768
"""A message is told of three times, mostly within this many others."""
_text_of = lru_cache(_ADDRESSES_MAX)(text_of)
_ATTRIBUTES = {RUN_ATTRIBUTE: "run", SENDER_ATTRIBUTE: "sender"}


def of_queue(queue: Queue, prefix: str = "") -> str:
    """Its names, or with prefix "to_" those of a move's target."""
    text = f',"{prefix}queue":{quoted(queue.name)},"{prefix}uid":{queue.uid}'
    if queue.generation:
        text += f',"{prefix}generation":{queue.generation}'
    if prefix:
        return text
    return f',"account":{quoted(queue.account)}{text}' + (',"is_fifo":true' if queue.settings.is_fifo else "")


def of_rows(event: str, common: str, rows: Sequence[Any]) -> list[str]:
    """The part of each line that belongs to its row. `common` is what `cqs.journal.journal` gave with this event."""
    return _TEXTS[event](common, rows)


@lru_cache(_QUOTED_MAX)
def quoted(text: str) -> str:
    """As a JSON string; what is no Unicode in it becomes a question mark."""
    return msgspec.json.encode(text.encode(errors="replace").decode()).decode()


def _of_addresses(_: str, rows: Sequence[int]) -> list[str]:
    return [f',"address":"{_text_of(address)}"' for address in rows]


def _of_sent(_: str, rows: Sequence[Any]) -> list[str]:
    return [f',"address":"{_text_of(row[0])}"{_of_content(row)}' for row in rows]


def _of_moved(target: str, rows: Sequence[Any]) -> list[str]:
    return [
        f',"address":"{_text_of(old)}"{target},"to_address":"{_text_of(new[0])}"{_of_content(new)}' for old, new in rows
    ]


def _of_content(row: Row) -> str:
    _, md5, size, sent_ms, sender_id, visible_ms, group, sequence, moved_id, attributes = row
    text = f',"md5":"{md5.hex()}","bytes":{size},"sent_ms":{sent_ms},"sender_id":{quoted(sender_id)}'
    if visible_ms:
        text += f',"visible_ms":{visible_ms}'
    if group is not None:
        text += f',"tenant":{quoted(group)}'
    if sequence:
        text += f',"sequence":{sequence}'
    if moved_id is not None:
        text += f',"message_id":{quoted(moved_id)}'
    return text + _of_attributes(attributes) if attributes else text


def _of_received(receiver_id: str, rows: Sequence[Any]) -> list[str]:
    told: list[str] = []
    common = f',"receiver_id":{quoted(receiver_id)}' if receiver_id else ""
    for address, sent_ms, number, count, received_ms, until_ms, group, sequence, md5 in rows:
        text = (
            f',"address":"{_text_of(address)}","sent_ms":{sent_ms},"receive_number":{number},"receive_count":{count}'
            f',"received_ms":{received_ms},"hidden_until_ms":{until_ms}{common}'
        )
        if md5:
            text += f',"md5":"{md5.hex()}"'
        if group is not None:
            text += f',"tenant":{quoted(group)}'
        if sequence:
            text += f',"sequence":{sequence}'
        told.append(text)
    return told


def _of_hidden(_: str, rows: Sequence[tuple[int, int]]) -> list[str]:
    return [f',"address":"{_text_of(address)}","hidden_until_ms":{until_ms}' for address, until_ms in rows]


def _of_counts(_: str, rows: Sequence[int]) -> list[str]:
    return [f',"count":{count}' for count in rows]


def _of_nothing(_: str, rows: Sequence[None]) -> list[str]:
    return [""] * len(rows)


def _of_attributes(attributes: tuple[tuple[str, bytes], ...]) -> str:
    text = ""
    for name, value in attributes:
        if name in _ATTRIBUTES:
            text += f',"{_ATTRIBUTES[name]}":{quoted(value.decode(errors="replace"))}'
        elif name == INDEX_ATTRIBUTE and value.isdigit() and len(value) < 19:
            text += f',"index":{int(value)}'
    return text


_BY_EVENT: dict[EventName, Callable[[str, Sequence[Any]], list[str]]] = {
    EventName.SENT: _of_sent,
    EventName.DEDUPLICATED: _of_addresses,
    EventName.RECEIVED: _of_received,
    EventName.FROM_STORE: _of_received,
    EventName.RECEIVED_NOTHING: _of_counts,
    EventName.GIVEN_BACK: _of_received,
    EventName.DELETED: _of_addresses,
    EventName.HIDDEN: _of_hidden,
    EventName.REVEALED: _of_counts,
    EventName.EXPIRED: _of_addresses,
    EventName.MOVED: _of_moved,
    EventName.PURGED: _of_nothing,
    EventName.QUEUE_DELETED: _of_nothing,
}
_TEXTS = {event.value: texts for event, texts in _BY_EVENT.items()}
