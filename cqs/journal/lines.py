"""Builds lines of text, and numbers their events. Belongs to the recorder: a number is assigned when a line is written,
never before, so that a gap in the numbers is a real one.

    {"v":2,"node":"api-1","incarnation":"…","event":"received","number":[17,18],"at_ms":[…],"queue":["orders"],…
    └──────────── head ───────────────────────────────────────┘└───── columns (`cqs.journal.columns`) ──────────

Numbers follow the order in which calls were reported, whichever line an event is in. The lines of a frame are in the
order of their last events, so that a file's last line has its highest number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import msgspec

from cqs.events import VERSION, EventName, Line
from cqs.journal import columns
from cqs.journal.blocks import block_of
from cqs.journal.calls import CALL, Pack, Place

LINE_EVENTS_MAX = 1_000
"""Maximum number of events in a line of text, which a reader must hold in memory."""
_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Line)}
_encode = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class Encoded:
    """Lines of text ready to be written, each with its newline."""

    block: bytes
    checksum: int
    counts: dict[str, int]
    """Number of events by kind."""


@dataclass(frozen=True, slots=True)
class _Events:
    """Events of one kind, with one list per value: number, number of the call's first event, time, queue, shared value
    of the call, row."""

    numbers: list[int] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    at_ms: list[int] = field(default_factory=list)
    queues: list[Place] = field(default_factory=list)
    common: list[Any] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)

    def add(self, start: int, queues: Sequence[Place], calls: Sequence[Any], rows: Sequence[Any]) -> None:
        """Adds the events of a pack with these queues, whose first event has the number `start`."""
        if len(calls) == CALL * len(rows):
            numbers = [start + place for place in calls[::CALL]]
            self.numbers.extend(numbers)
            self.firsts.extend(numbers)
            self.at_ms.extend(calls[2::CALL])
            self.queues.extend([queues[place] for place in calls[3::CALL]])
            self.common.extend(calls[4::CALL])
        else:
            for place, size, at_ms, queue_place, common in zip(*[iter(calls)] * CALL, strict=True):
                first = start + place
                self.numbers.extend(range(first, first + size))
                self.firsts.extend([first] * size)
                self.at_ms.extend([at_ms] * size)
                self.queues.extend([queues[queue_place]] * size)
                self.common.extend([common] * size)
        self.rows.extend(rows)


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
        by_kind: dict[str, _Events] = {}
        known: dict[Place, Place] = {}
        number = self.number
        for pack_queues, groups in packs:
            queues = [known.setdefault(queue, queue) for queue in pack_queues]
            start = number + 1
            for event, calls, rows in groups:
                if event not in by_kind:
                    by_kind[event] = _Events()
                by_kind[event].add(start, queues, calls, rows)
                number += len(rows)
        self.number = number
        lines = sorted(line for event, events in by_kind.items() for line in self._lines_of(event, events))
        return _encoded([text for _, text in lines], {event: len(events.rows) for event, events in by_kind.items()})

    def _lines_of(self, event: str, events: _Events) -> Iterator[tuple[int, bytes]]:
        """The lines, each with the number of its last event."""
        head = f'{self._head}{event}",'.encode()
        for at in range(0, len(events.rows), LINE_EVENTS_MAX):
            part = slice(at, at + LINE_EVENTS_MAX)
            numbers = events.numbers[part]
            told: columns.Columns = {"at_ms": events.at_ms[part], **columns.of_queues(events.queues[part])}
            told |= columns.of_rows(event, events.common[part], events.rows[part])
            if event in columns.RECEIVES:
                told["call"] = events.firsts[part]
            yield numbers[-1], head + _text_of({"number": numbers} | _short(told))[1:]

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
