"""Builds lines of text, and numbers their events. Belongs to the recorder: a number is assigned when a line is written,
never before, so that a gap in the numbers is a real one.

    {"v":2,"node":"api-1","incarnation":"…","event":"received","number":[17,18],"at_ms":[…],"queue":["orders"],…
    └──────────── head ───────────────────────────────────────┘└───── columns (`cqs.journal.columns`) ──────────

Numbers follow the order in which calls were reported, whichever line an event is in. The lines of a frame are in the
order of their last events, so that a file's last line has its highest number.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from cqs.events import VERSION, EventName, Line
from cqs.journal import columns
from cqs.journal.blocks import block_of
from cqs.journal.calls import CALL, Fields, Pack, Place

LINE_EVENTS_MAX = 1_000
"""Maximum number of events in a line of text, which a reader must hold in memory."""
_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Line)}
_encode = msgspec.json.encode
_flat = chain.from_iterable


@dataclass(frozen=True, slots=True)
class Encoded:
    """Lines of text ready to be written, each with its newline."""

    block: bytes
    checksum: int
    counts: dict[str, int]
    """Number of events by kind."""


class _Calls:
    """The calls of one kind in a frame: for each its size, the number of its first event, time, queue and shared value;
    and the fields of their events, in pieces."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._firsts: list[int] = []
        self._at_ms: list[int] = []
        self._queues: list[Place] = []
        self._common: list[Any] = []
        self._fields: list[Fields] = []

    def add(self, start: int, queues: Sequence[Place], calls: Sequence[Any], fields: Fields) -> None:
        """Adds the calls of a pack with these queues, whose first event has the number `start`."""
        self._firsts += [start + place for place in calls[::CALL]]
        self.sizes += calls[1::CALL]
        self._at_ms += calls[2::CALL]
        self._queues += [queues[place] for place in calls[3::CALL]]
        self._common += calls[4::CALL]
        self._fields.append(fields)

    def events(self) -> _Events:
        """Their events, in order."""
        fields = [_joined(pieces) for pieces in zip(*self._fields, strict=True)]
        firsts, at_ms, queues, common = self._firsts, self._at_ms, self._queues, self._common
        if sum(self.sizes) == len(self.sizes):
            return _Events(firsts, firsts, at_ms, queues, common, fields)
        numbers = list(_flat(map(range, firsts, map(operator.add, firsts, self.sizes))))
        each = self._of_each
        return _Events(numbers, each(firsts), each(at_ms), each(queues), each(common), fields)

    def _of_each(self, values: Sequence[Any]) -> list[Any]:
        """A value per event, from one per call."""
        return list(_flat(map(repeat, values, self.sizes)))


class _Events(NamedTuple):
    """Events of one kind, with one list per value: number, number of the call's first event, time, queue, shared value
    of the call; and the fields."""

    numbers: list[int]
    firsts: list[int]
    at_ms: list[int]
    queues: list[Place]
    common: list[Any]
    fields: Fields


def _joined(pieces: Sequence[Any]) -> list[Any] | bytes:
    return b"".join(pieces) if isinstance(pieces[0], bytes) else list(_flat(pieces))


class Numberer:
    """Assigns an incarnation's numbers. `number` is the last one assigned, and may be reset when a write failed."""

    def __init__(self, node: str, incarnation: str, sample_every: int = 1) -> None:
        self.node = node
        self.incarnation = incarnation
        self.sample_every = sample_every
        self.number = 0
        self._head = f'{{"v":{VERSION},"node":"{node}","incarnation":"{incarnation}","event":"'

    def encode(self, packs: Sequence[Pack]) -> Encoded:
        """The lines for these calls."""
        by_kind: dict[str, _Calls] = {}
        known: dict[Place, Place] = {}
        number = self.number
        for pack_queues, groups in packs:
            queues = [known.setdefault(queue, queue) for queue in pack_queues]
            start = number + 1
            for event, calls, fields in groups:
                if event not in by_kind:
                    by_kind[event] = _Calls()
                by_kind[event].add(start, queues, calls, fields)
                number += sum(calls[1::CALL])
        self.number = number
        lines = sorted(line for event, calls in by_kind.items() for line in self._lines_of(event, calls.events()))
        return _encoded([text for _, text in lines], {event: sum(calls.sizes) for event, calls in by_kind.items()})

    def _lines_of(self, event: str, events: _Events) -> Iterator[tuple[int, bytes]]:
        """The lines, each with the number of its last event."""
        head = f'{self._head}{event}",'.encode()
        told: columns.Columns = {"number": events.numbers, "at_ms": events.at_ms}
        told |= columns.of_fields(event, events.common, events.fields)
        if event in columns.RECEIVES:
            told["call"] = events.firsts
        for at in range(0, len(events.numbers), LINE_EVENTS_MAX):
            part = slice(at, at + LINE_EVENTS_MAX)
            own = {name: values[part] for name, values in told.items()} | columns.of_queues(events.queues[part])
            yield own["number"][-1], head + _text_of(_short(own))[1:]

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
        return _encoded([block_of(line)], {event.value: 1})


def _short(told: columns.Columns) -> columns.Columns:
    """Leaves out columns that have only default values, and reduces those with equal values to one."""
    found: columns.Columns = {}
    for name, values in told.items():
        first = values[0]
        if first != values[-1] or values.count(first) < len(values):
            found[name] = values
        elif first != _DEFAULTS[name]:
            found[name] = [first]
    return found


def _text_of(told: columns.Columns) -> bytes:
    try:
        return _encode(told)
    except UnicodeEncodeError:
        return _encode({name: list(map(_unicode_of, values)) for name, values in told.items()})


def _unicode_of(value: Any) -> Any:
    """Replaces what is not valid Unicode in texts by question marks."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _encoded(lines: list[bytes], counts: dict[str, int]) -> Encoded:
    checksum = sum(map(crc32, lines))
    lines.append(b"")
    return Encoded(b"\n".join(lines), checksum, counts)
