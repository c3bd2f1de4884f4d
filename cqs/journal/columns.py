"""Converts fields (`cqs.journal.fields`) to the columns of a line of text. This runs for every event of a busy server:
the work per event is done by functions written in C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from cqs.events import INDEX_ATTRIBUTE, RUN_ATTRIBUTE, SENDER_ATTRIBUTE, EventName
from cqs.ids import text_of
from cqs.journal.calls import Fields, Place

Columns = dict[str, Sequence[Any]]
RECEIVES = {EventName.RECEIVED.value, EventName.FROM_STORE.value}
_SENT, _DELETED, _MOVED = EventName.SENT.value, EventName.DELETED.value, EventName.MOVED.value
_DIGEST_BYTES = 16
_Rest = tuple[int, str | None, int, str | None, tuple[tuple[str, bytes], ...]]
_NO_REST: _Rest = (0, None, 0, None, ())
_NO_ORDER = (None, 0)
_ADDRESSES_MAX = 2_048
"""Each message is reported three times, mostly within this many others."""
_text_of = lru_cache(_ADDRESSES_MAX)(text_of)


def of_queues(queues: Sequence[Place]) -> Columns:
    """Columns for the queue of each event, or for the one queue that all have."""
    if queues.count(queues[0]) == len(queues):
        queues = queues[:1]
    return _named(("account", "queue", "uid", "generation", "is_fifo"), queues)


def of_fields(event: str, common: Sequence[Any], fields: Fields) -> Columns:
    """Columns for each event's own values, and for those shared by the events of a call."""
    columns = _COLUMNS[event](*fields)
    if event == _SENT:
        columns |= _of_senders(common)
    elif event in RECEIVES:
        columns["receiver_id"] = common
    elif event == _DELETED:
        columns["begun_ms"] = common
    elif event == _MOVED:
        columns |= _named(("to_queue", "to_uid", "to_generation"), common)
    return columns


def _named(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Columns:
    """Rows as columns."""
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def _of_addresses(addresses: Sequence[int]) -> Columns:
    return {"address": list(map(_text_of, addresses))}


def _of_senders(senders: Sequence[tuple[str, int]]) -> Columns:
    return _named(("sender_id", "sent_ms"), senders)


def _of_sent(addresses: Sequence[int], digests: bytes, sizes: Sequence[int], rests: Sequence[_Rest | None]) -> Columns:
    columns = _of_addresses(addresses) | {"md5": _hex_of(digests), "bytes": sizes}
    if not any(rests):
        return columns
    visible_ms, groups, sequences, moved_ids, attributes = zip(*(one or _NO_REST for one in rests), strict=True)
    columns |= {"visible_ms": visible_ms, "message_id": _texts(moved_ids)} | _of_order(groups, sequences)
    return columns | _of_attributes(attributes) if any(attributes) else columns


def _of_moved(olds: Sequence[int], senders: Sequence[tuple[str, int]], *fields: Any) -> Columns:
    columns = _of_sent(*fields) | _of_senders(senders)
    return columns | {"to_address": columns["address"]} | _of_addresses(olds)


def _of_received(*fields: Any) -> Columns:
    *receives, digests = fields
    return _of_given_back(*receives) | {"md5": _hex_of(digests)}


def _of_given_back(addresses: Sequence[int], *fields: Any) -> Columns:
    *times_and_counts, orders = fields
    names = ("sent_ms", "receive_number", "receive_count", "received_ms", "hidden_until_ms")
    columns = _of_addresses(addresses) | dict(zip(names, times_and_counts, strict=True))
    if any(orders):
        columns |= _of_order(*zip(*(one or _NO_ORDER for one in orders), strict=True))
    return columns


def _of_order(groups: Sequence[str | None], sequences: Sequence[int]) -> Columns:
    return {"tenant": _texts(groups), "sequence": sequences}


def _of_hidden(
    addresses: Sequence[int], numbers: Sequence[int], received_ms: Sequence[int], until_ms: Sequence[int]
) -> Columns:
    times = {"receive_number": numbers, "received_ms": received_ms, "hidden_until_ms": until_ms}
    return _of_addresses(addresses) | times


def _of_counts(counts: Sequence[int]) -> Columns:
    return {"count": counts}


def _of_empty(counts: Sequence[int], last_ms: Sequence[int]) -> Columns:
    return {"count": counts, "received_ms": last_ms}


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


def _hex_of(digests: bytes) -> list[str]:
    return digests.hex(" ", _DIGEST_BYTES).split(" ")


_BY_EVENT: dict[EventName, Callable[..., Columns]] = {
    EventName.SENT: _of_sent,
    EventName.DEDUPLICATED: _of_addresses,
    EventName.DOUBTFUL: _of_addresses,
    EventName.RECEIVED: _of_received,
    EventName.FROM_STORE: _of_received,
    EventName.RECEIVED_NOTHING: _of_empty,
    EventName.GIVEN_BACK: _of_given_back,
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
