"""A journal without a recorder process: it records in this process, when told to."""

from __future__ import annotations

import random

from cqs.clock import Clock
from cqs.journal.journal import Journal
from cqs.journal.recorder import Recorder
from cqs.journal.rules import JournalRules


class JournalHere(Journal):
    """Events take the usual path, as frames, when `flush` or `finish` is called. Raises OSError when the folder can't
    be written."""

    def __init__(self, rules: JournalRules, clock: Clock, rng: random.Random) -> None:
        super().__init__(rules, clock)
        self.writing = Recorder(rules, clock, rng)
        self.writing.open()

    def flush(self) -> None:
        """Writes what was reported."""
        if (frame := self.buffer.take()) is None:
            self.writing.tick()
        while frame is not None:
            self.writing.record(frame.data)
            frame = self.buffer.take()

    def finish(self) -> None:
        """Writes what was reported, and the closing line. Idempotent."""
        self.tell_nothing()
        self.flush()
        self.writing.close()
