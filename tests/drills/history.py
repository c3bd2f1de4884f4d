"""What happened in a drill, as the clients saw it: every attempt with its outcome, and every fault, on one clock.

Times are seconds of `time.monotonic`, which all clients of a drill share. The history only records;
`tests.drills.verdict` judges.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any


class Outcome(StrEnum):
    """What a client knows about a call. `UNKNOWN`: no response, or a 5xx, so it may have taken effect."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Send:
    """A message and all attempts to send it. `message_id` "" = never acknowledged. `unknown`: attempts that may have
    created another copy. `number` counts within the queue, and increases within a group in send order."""

    queue: str
    number: int
    group: str
    started_s: float
    ended_s: float
    message_id: str
    unknown: int


@dataclass(frozen=True, slots=True)
class Receive:
    """A message in a response. `number` None = its body was never sent to this queue, or is damaged. `answer` is the
    number of the response, `place` the position in it, `count` the ApproximateReceiveCount."""

    queue: str
    number: int | None
    message_id: str
    count: int
    started_s: float
    ended_s: float
    hidden_s: float
    answer: int
    place: int


@dataclass(frozen=True, slots=True)
class Empty:
    """A response without messages to a receive."""

    queue: str
    started_s: float
    ended_s: float


@dataclass(frozen=True, slots=True)
class Delete:
    queue: str
    message_id: str
    started_s: float
    ended_s: float
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class LetGo:
    """A consumer abandons a message: it quits (the lease keeps running), or gives it back (visible at once)."""

    queue: str
    message_id: str
    at_s: float
    is_given_back: bool


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt of one call. `error`: the HTTP status and response of a refusal, or why there was no response; "" if
    it is done."""

    action: str
    started_s: float
    ended_s: float
    is_done: bool
    error: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """When an injected fault began and ended."""

    name: str
    started_s: float
    ended_s: float


@dataclass
class History:
    """Append-only. `closed`: when no send could be stored. `left`: rows that the store still had for each queue after
    the drain. `told`: other counts of the drill, by name."""

    sends: list[Send] = field(default_factory=list)
    receives: list[Receive] = field(default_factory=list)
    empties: list[Empty] = field(default_factory=list)
    deletes: list[Delete] = field(default_factory=list)
    let_go: list[LetGo] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    closed: list[Fault] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)

    def last_lease_s(self) -> float:
        """When the last receive ended that returned a message, or may have; 0 = none."""
        answered_s = [receive.ended_s for receive in self.receives]
        unknown_s = [call.ended_s for call in self.calls if call.action == "ReceiveMessage" and not call.is_done]
        return max(answered_s + unknown_s, default=0.0)

    def write(self, path: Path) -> None:
        """Writes one JSON object per line, ordered by the time of its end."""
        records: list[Any] = [*self.sends, *self.receives, *self.empties, *self.deletes, *self.let_go, *self.calls]
        records += self.faults
        rows = [{"kind": type(record).__name__, **asdict(record)} for record in records]
        rows.sort(key=lambda row: float(row.get("ended_s") or row.get("at_s") or 0))
        rows.append({"kind": "left", "rows": self.left})
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def body_of(queue: str, number: int, size: int) -> str:
    """Returns a body that contains its queue and number, padded to `size` characters, and a checksum of these."""
    head = f"{queue} {number} ".ljust(size - 11, "x")
    return f"{head} {zlib.crc32(head.encode()):010d}"


def number_of(queue: str, body: str) -> int | None:
    """Returns the number in a body of this queue; None if it is damaged or belongs to another queue."""
    head, _, checksum = body.rpartition(" ")
    words = head.split(" ")
    if not checksum.isdigit() or zlib.crc32(head.encode()) != int(checksum):
        return None
    return int(words[1]) if len(words) > 1 and words[0] == queue else None
