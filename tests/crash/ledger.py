"""Records every message of a run and checks the guarantees that a kill must not break.

A call whose response was lost in a kill may or may not have taken effect; the ledger accepts both. Acknowledged calls
must hold: a sent message is never lost, a deleted one never reappears, a hidden one stays hidden, a receive stays
counted. Only on a standard queue may messages received just before a kill be delivered again; the ledger counts these.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

REPEAT_S_MAX = 0.02
"""On a standard queue, messages received within this time before a kill may be delivered again."""
REPEAT_S_TOLERATED = 2.0
"""The same on a busy machine with a slow disk; beyond this the test fails."""
CLOCK_STEP_S = 0.002
"""Tolerance, since the server truncates times to whole milliseconds, on a clock that may be slewed."""


@dataclass(frozen=True)
class Receive:
    started_s: float
    answered_s: float
    count: int


@dataclass
class Entry:
    """One message, as its sender and its consumers know it."""

    number: int
    group: str
    body: str
    message_id: str = ""
    sequence: str = ""
    is_delete_asked: bool = False
    """A delete was sent and not refused."""
    deleted_s: float | None = None
    """When a delete was acknowledged."""
    last: Receive | None = None
    hidden_until_s: float = 0.0
    """The message must not be received before this time, according to the responses."""

    @property
    def is_acknowledged(self) -> bool:
        return bool(self.message_id)


@dataclass
class Ledger:
    """One queue's messages. `violations` has a line of text for each broken guarantee."""

    name: str
    is_fifo: bool
    entries: dict[int, Entry] = field(default_factory=dict)
    groups: dict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    kills_s: list[float] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    repeats_s: list[float] = field(default_factory=list)
    """For each message delivered again after a kill: how long before the kill it had been received."""

    def new(self, group: str) -> Entry:
        """Adds a message that is about to be sent."""
        number = len(self.entries)
        text = f"{self.name} {number} {group} ".ljust(120 + number % 400, "x")
        entry = self.entries[number] = Entry(number, group, f"{text} {zlib.crc32(text.encode())}")
        self.groups[group].append(entry)
        return entry

    def sent(self, entry: Entry, message_id: str, sequence: str) -> None:
        """Records an acknowledged send. A FIFO message may be sent again and must get the same response."""
        if entry.is_acknowledged and (entry.message_id, entry.sequence) != (message_id, sequence):
            self.violations.append(f"{entry.number} was sent again and became another message")
        entry.message_id, entry.sequence = message_id, sequence

    def received(
        self, messages: list[dict[str, Any]], started_s: float, answered_s: float, hidden_s: float
    ) -> list[Entry]:
        """Records a receive's response and returns its entries, in order."""
        entries: list[Entry] = []
        for message in messages:
            entry = self._entry_of(message)
            if entry is None:
                continue
            receive = Receive(started_s, answered_s, int(message["Attributes"]["ApproximateReceiveCount"]))
            self._check_receive(entry, receive)
            if self.is_fifo:
                self._check_order(entry, entries)
            entry.last, entry.hidden_until_s = receive, started_s + hidden_s - CLOCK_STEP_S
            entry.is_delete_asked = False
            entries.append(entry)
        return entries

    def given_back(self, entry: Entry) -> None:
        """Records a request to set the visibility timeout to 0."""
        entry.hidden_until_s = 0.0

    @property
    def waiting(self) -> int:
        return sum(entry.is_acknowledged and entry.deleted_s is None for entry in self.entries.values())

    def lost(self) -> list[int]:
        """After the drain: returns the messages that were acknowledged but never deleted."""
        return [
            entry.number
            for entry in self.entries.values()
            if entry.is_acknowledged and entry.deleted_s is None and not entry.is_delete_asked
        ]

    def _entry_of(self, message: dict[str, Any]) -> Entry | None:
        text, _, checksum = message["Body"].rpartition(" ")
        words = text.split()
        if not checksum.isdigit() or zlib.crc32(text.encode()) != int(checksum) or words[0] != self.name:
            self.violations.append(f"a body came back damaged: {message['Body'][:80]}")
            return None
        entry = self.entries[int(words[1])]
        if entry.is_acknowledged and entry.message_id != message["MessageId"]:
            self.violations.append(f"{entry.number} exists twice")
        return entry

    def _check_receive(self, entry: Entry, receive: Receive) -> None:
        if entry.deleted_s is not None and receive.started_s > entry.deleted_s:
            self.violations.append(f"{entry.number} was received after its delete had been answered")
        if entry.last is None:
            return
        is_early = receive.answered_s < entry.hidden_until_s
        is_uncounted = receive.count <= entry.last.count
        if not is_early and not is_uncounted:
            return
        before_kill_s = self._before_kill(entry.last, receive)
        if not self.is_fifo and before_kill_s is not None and before_kill_s <= REPEAT_S_TOLERATED:
            self.repeats_s.append(before_kill_s)
        elif is_early:
            early_s = entry.hidden_until_s - receive.answered_s
            self.violations.append(f"{entry.number} came {early_s:.3f} s too early (kill after {before_kill_s})")
        else:
            self.violations.append(f"{entry.number} was received {entry.last.count}, then {receive.count} times")

    def _before_kill(self, earlier: Receive, later: Receive) -> float | None:
        """The time from the first of two receives to the first kill between them; None = no kill between them."""
        kills_s = [kill_s for kill_s in self.kills_s if earlier.started_s <= kill_s <= later.answered_s]
        return max(kills_s[0] - earlier.answered_s, 0.0) if kills_s else None

    def _check_order(self, entry: Entry, before: list[Entry]) -> None:
        ahead = [other for other in self.groups[entry.group] if other.number < entry.number]
        for other in ahead:
            is_seen_off = other.deleted_s is not None or other.is_delete_asked or other in before
            if other.is_acknowledged and not is_seen_off:
                self.violations.append(f"{entry.number} of group {entry.group} came before {other.number}")
                return
