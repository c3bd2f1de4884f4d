"""A journal in its own folder, with a manual clock and without a recorder process: the test calls `flush`."""

from __future__ import annotations

import gzip
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from cqs.events import Line
from cqs.ids import Addresses
from cqs.journal import blocks
from cqs.journal.files import files_of
from cqs.journal.rules import JournalRules
from cqs.message import Message
from cqs.queue import Queue
from cqs.testing.clock import ManualClock
from cqs.testing.journal import JournalHere

QUEUE = Queue(account="000000000000", name="orders", region="us-east-1", uid=7, created_ms=1, modified_ms=1)


class JournalBench:
    """`journal` writes to `folder`; `lines` reads everything there, finished or not, in the order of files."""

    def __init__(self, folder: Path, seed: int = 1, **rules: Any) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self.rng = random.Random(seed)
        self.addresses = Addresses(self.clock, self.rng)
        self.rules = replace(JournalRules(folder, "api-1"), **rules)
        self.journal = JournalHere(self.rules, self.clock, self.rng)

    def message(self, body: str = "hello") -> Message:
        return Message(address=self.addresses.next(), body=body, sent_ms=self.clock.now_ms())

    def send(self, *bodies: str) -> list[Message]:
        messages = [self.message(body) for body in bodies]
        self.journal.sent(QUEUE, messages)
        return messages

    def flush(self) -> None:
        self.journal.flush()

    def lines(self) -> list[Line]:
        return [line for file in files_of(self.folder) for line in lines_of(file.path)]

    def names(self) -> list[str]:
        return [line.event.value for line in self.lines()]


def lines_of(path: Path) -> list[Line]:
    """Returns a file's events in the order of their numbers."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = [line for text in raw.splitlines() for line in blocks.lines_of(text)]
    return sorted(lines, key=lambda line: line.number)
