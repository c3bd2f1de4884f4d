"""Converts rows (`cqs.journal.rows`) to the columns of a line of text. This runs for every event of a busy server, so
the work per event is done by functions written in C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from cqs.events import INDEX_ATTRIBUTE, RUN_ATTRIBUTE, SENDER_ATTRIBUTE, EventName
from cqs.ids import text_of
from cqs.journal.calls import Place

Columns = dict[str, Sequence[Any]]
RECEIVES = {EventName.RECEIVED.value, EventName.FROM_STORE.value}
_DELETED, _MOVED = EventName.DELETED.value, EventName.MOVED.value
_ADDRESSES_MAX = 32_768
"""Each message is reported three times, mostly within this many others."""
_text_of = lru_cache(_ADDRESSES_MAX)(text_of)


def of_queues(queues: Sequence[Place]) -> Columns:
    """Columns for the queue of each event, or for the one queue that all have."""
    if queues.count(queues[0]) == len(queues):
        queues = queues[:1]
    return dict(zip(("account", "queue", "uid", "generation", "is_fifo"), zip(*queues, strict=True), strict=True))


def of_rows(event: str, common: Sequence[Any], rows: Sequence[Any]) -> Columns:
    """Columns for each event's own values, and for those shared by the events of a call."""
    columns = _COLUMNS[event](rows)
    if event in RECEIVES:
        columns["receiver_id"] = common
    elif event == _DELETED:
        columns["begun_ms"] = common
    elif event == _MOVED:
        columns |= zip(("to_queue", "to_uid", "to_generation"), zip(*common, strict=True), strict=True)
    return columns


def _of_addresses(addresses: Iterable[int]) -> Columns:
    return {"address": list(map(_text_of, addresses))}


def _of_sent(rows: Sequence[Any]) -> Columns:
    address, md5, size, sent_ms, sender_id, visible_ms, group, sequence, moved_id, attributes = zip(*rows, strict=True)
    columns: Columns = {
        "address": list(map(_text_of, address)),
        "md5": list(map(bytes.hex, md5)),
        "bytes": size,
        "sent_ms": sent_ms,
        "sender_id": sender_id,
        "visible_ms": visible_ms,
    }
    if any(moved_id):
        columns["message_id"] = _texts(moved_id)
    if any(attributes):
        columns |= _of_attributes(attributes)
    return columns | _of_order(group, sequence)


def _of_moved(rows: Sequence[Any]) -> Columns:
    old, new = zip(*rows, strict=True)
    columns = _of_sent(new)
    return columns | {"address": list(map(_text_of, old)), "to_address": columns["address"]}


def _of_received(rows: Sequence[Any]) -> Columns:
    address, sent_ms, number, count, received_ms, until_ms, group, sequence, md5 = zip(*rows, strict=True)
    columns: Columns = {
        "address": list(map(_text_of, address)),
        "sent_ms": sent_ms,
        "receive_number": number,
        "receive_count": count,
        "received_ms": received_ms,
        "hidden_until_ms": until_ms,
        "md5": list(map(bytes.hex, md5)),
    }
    return columns | _of_order(group, sequence)


def _of_order(group: Sequence[str | None], sequence: Sequence[int]) -> Columns:
    return {"sequence": sequence} | ({"tenant": _texts(group)} if any(group) else {})


def _of_hidden(rows: Sequence[tuple[int, int, int, int]]) -> Columns:
    address, number, received_ms, until_ms = zip(*rows, strict=True)
    return {
        "address": list(map(_text_of, address)),
        "receive_number": number,
        "received_ms": received_ms,
        "hidden_until_ms": until_ms,
    }


def _of_counts(rows: Sequence[int]) -> Columns:
    return {"count": rows}


def _of_empty(rows: Sequence[tuple[int, int]]) -> Columns:
    count, last_ms = zip(*rows, strict=True)
    return {"count": count, "received_ms": last_ms}


def _of_nothing(_: Sequence[None]) -> Columns:
    return {}


def _of_attributes(attributes: Sequence[tuple[tuple[str, bytes], ...]]) -> Columns:
    told = [dict(one) for one in attributes]
    return {
        "run": [one.get(RUN_ATTRIBUTE, b"").decode(errors="replace") for one in told],
        "sender": [one.get(SENDER_ATTRIBUTE, b"").decode(errors="replace") for one in told],
        "index": [_index_of(one.get(INDEX_ATTRIBUTE, b"")) for one in told],
    }


def _index_of(value: bytes) -> int:
    return int(value) if value.isdigit() and len(value) < 19 else -1


def _texts(values: Sequence[str | None]) -> list[str]:
    return [value or "" for value in values]


_BY_EVENT: dict[EventName, Callable[[Sequence[Any]], Columns]] = {
    EventName.SENT: _of_sent,
    EventName.DEDUPLICATED: _of_addresses,
    EventName.DOUBTFUL: _of_addresses,
    EventName.RECEIVED: _of_received,
    EventName.FROM_STORE: _of_received,
    EventName.RECEIVED_NOTHING: _of_empty,
    EventName.GIVEN_BACK: _of_received,
    EventName.DELETED: _of_addresses,
    EventName.HIDDEN: _of_hidden,
    EventName.REVEALED: _of_counts,
    EventName.EXPIRED: _of_addresses,
    EventName.MOVED: _of_moved,
    EventName.PURGED: _of_nothing,
    EventName.QUEUE_DELETED: _of_nothing,
    EventName.ALIVE: _of_nothing,
}
_COLUMNS = {event.value: columns for event, columns in _BY_EVENT.items()}
