"""Numbers for lines. Belongs to the recorder: a number is given when a line is written, never before, so that a gap in
the numbers is a real one.

    {"v":1,"node":"api-1","incarnation":"…","number":  17  ,"event":"received","at_ms":… ,"address":…   ,"call":17}
    └──────────── head ──────────────────────────────┘    └────── of the call ────────┘└── of the row ─┘
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import msgspec

from cqs.events import VERSION, EventName, Line
from cqs.journal import texts
from cqs.journal.calls import Pack

_RECEIVES = {EventName.RECEIVED.value, EventName.FROM_STORE.value}


@dataclass(frozen=True, slots=True)
class Encoded:
    """Lines ready to be written, each with its end."""

    block: bytes
    checksum: int
    counts: dict[str, int]
    """Lines by event."""


class Numberer:
    """Gives out an incarnation's lines. `number` is the last one given, and may be set back when a write failed."""

    def __init__(self, node: str, incarnation: str, sample_every: int = 1) -> None:
        self.node = node
        self.incarnation = incarnation
        self.sample_every = sample_every
        self.number = 0
        self._head = f'{{"v":{VERSION},"node":"{node}","incarnation":"{incarnation}","number":'

    def encode(self, packs: Sequence[Pack]) -> Encoded:
        """The lines of these calls."""
        lines: list[bytes] = []
        counts: dict[str, int] = {}
        head, number = self._head, self.number
        for heads, calls in packs:
            openings = [f',"event":"{event}","at_ms":' for event, _, _ in heads]
            for place, at_ms, rows in calls:
                event, queue, common = heads[place]
                middle = f"{openings[place]}{at_ms}{queue}"
                end = f',"call":{number + 1}}}' if event in _RECEIVES else "}"
                for text in texts.of_rows(event, common, rows):
                    number += 1
                    lines.append(f"{head}{number}{middle}{text}{end}".encode())
                counts[event] = counts.get(event, 0) + len(rows)
        self.number = number
        return _encoded(lines, counts)

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
        return _encoded([msgspec.json.encode(line)], {event.value: 1})


def _encoded(lines: list[bytes], counts: dict[str, int]) -> Encoded:
    checksum = sum(map(crc32, lines))
    lines.append(b"")
    return Encoded(b"\n".join(lines), checksum, counts)
