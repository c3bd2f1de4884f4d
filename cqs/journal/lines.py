"""Numbers for lines. Belongs to the writer thread: a number is given when a line is written, never before, so that a
gap in the numbers is a real one.

    {"v":1,"node":"api-1","incarnation":"…","number":  17  ,"event":"sent","at_ms":… ,"address":…   ,"call":17}
    └──────────── head ──────────────────────────────┘    └──── common ────────────┘└──── text ───┘
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import msgspec

from cqs.events import VERSION, EventName, Line
from cqs.journal.buffer import Told


@dataclass(frozen=True, slots=True)
class Encoded:
    """Lines ready to be written, each with its end."""

    block: bytes
    checksum: int
    counts: Counter[EventName]


class Numberer:
    """Gives out an incarnation's lines. `number` is the last one given, and may be set back when a write failed."""

    def __init__(self, node: str, incarnation: str, sample_every: int = 1) -> None:
        self.node = node
        self.incarnation = incarnation
        self.sample_every = sample_every
        self.number = 0
        self._head = f'{{"v":{VERSION},"node":"{node}","incarnation":"{incarnation}","number":'

    def encode(self, told: Sequence[Told]) -> Encoded:
        """The lines of these calls."""
        lines: list[bytes] = []
        counts: Counter[EventName] = Counter()
        head, number = self._head, self.number
        for call in told:
            first = number + 1
            for text in call.texts:
                number += 1
                lines.append(f'{head}{number}{call.common}{text},"call":{first}}}'.encode())
            counts[call.event] += len(call.texts)
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
        return _encoded([msgspec.json.encode(line)], Counter([event]))


def _encoded(lines: list[bytes], counts: Counter[EventName]) -> Encoded:
    checksum = sum(map(crc32, lines))
    lines.append(b"")
    return Encoded(b"\n".join(lines), checksum, counts)
