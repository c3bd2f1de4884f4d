"""The writer thread: every FLUSH_S it writes what the event loop has put into the buffer.

It survives a full disk and a lost folder: it counts, tries again each RETRY_MS, and when a write succeeds says how much
is missing. `flush` is its whole work, so that a test needs no thread.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from cqs.clock import Clock
from cqs.errors import CannotStart
from cqs.events import EventName
from cqs.journal import files
from cqs.journal.buffer import Buffer, Told
from cqs.journal.lines import Numberer
from cqs.journal.writer import Writer

FLUSH_S = 0.1
CALLS_MAX = 200
"""Calls written at a time: a third of a millisecond, after which a write lets the event loop run."""
RETRY_MS = 1_000
_log = structlog.get_logger("cqs.journal")


@dataclass(frozen=True, slots=True)
class JournalRules:
    """How much is written, where, and how much of it is kept."""

    folder: Path
    node: str
    sample_every: int = 1
    """One message in so many; 1 = all."""
    file_bytes_max: int = 64_000_000
    file_age_ms: int = 600_000
    disk_bytes_max: int = 10_000_000_000
    buffer_bytes_max: int = 64_000_000


class Recorder:
    """Takes from the buffer and writes to the folder."""

    def __init__(self, rules: JournalRules, buffer: Buffer, clock: Clock, rng: random.Random) -> None:
        self._rules = rules
        self._clock = clock
        self._buffer = buffer
        self._numberer = Numberer(files.node_name(rules.node), f"{rng.getrandbits(50):013x}", rules.sample_every)
        self._writer = Writer(
            rules.folder, self._numberer, clock, file_bytes_max=rules.file_bytes_max, file_age_ms=rules.file_age_ms
        )
        self._untold = self._pruned = 0
        self._failed_ms: int | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self.dropped = 0
        """Events that will not be in the journal, so far."""

    def open(self) -> None:
        """Makes the folder, finishes what dead processes left, and begins the first file. Raises CannotStart."""
        try:
            self._rules.folder.mkdir(parents=True, exist_ok=True)
            self._tidy()
            self._writer.open()
        except OSError as error:
            raise CannotStart(f"The journal can't be written to {self._rules.folder}: {error.strerror}.") from error

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def close(self) -> None:
        """Ends the thread, writes what was told, and the closing line. Idempotent; never raises."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()
        self._failed_ms = None
        self.flush()
        try:
            self._writer.close()
            self._tidy()
        except OSError as error:
            self._fail(error, 0)

    def flush(self) -> None:
        """Writes what was heard so far, and goes on to the next file when this one is due. Never raises."""
        while told := self._buffer.take(CALLS_MAX):
            self._write(told)
        self._miss(self._buffer.take_dropped())
        if self._untold:
            self._write([])
        if self._writer.is_due:
            self._rotate()

    def _run(self) -> None:
        try:
            while not self._ending.wait(FLUSH_S):
                self.flush()
        except Exception as error:
            _log.critical("journal_thread_died", exc_info=error)

    def _write(self, told: Sequence[Told]) -> None:
        """These calls, and how many are missing; or, when the disk fails, counts them as missing."""
        lines = sum(len(one.texts) for one in told)
        if self._failed_ms is not None and 0 <= self._clock.now_ms() - self._failed_ms < RETRY_MS:
            self._miss(lines)
            return
        mark = self._numberer.number
        try:
            self._writer.open()
            mark = self._numberer.number
            self._writer.write(self._numberer.encode(told))
            mark, lines = self._numberer.number, 0
            if self._untold:
                self._tell_missing()
            self._failed_ms = None
        except OSError as error:
            self._numberer.number = mark
            self._fail(error, lines)

    def _tell_missing(self) -> None:
        self._writer.write(self._numberer.one(EventName.DROPPED_EVENTS, self._clock.now_ms(), count=self._untold))
        _log.warning("journal_events_dropped", count=self._untold)
        self._untold = 0

    def _fail(self, error: OSError, lines: int) -> None:
        self._failed_ms = self._clock.now_ms()
        self._miss(lines)
        self._writer.abandon()
        _log.error("journal_write_failed", folder=str(self._rules.folder), reason=error.strerror, missing=self._untold)

    def _miss(self, lines: int) -> None:
        self._untold += lines
        self.dropped += lines

    def _rotate(self) -> None:
        try:
            self._writer.close()
            self._writer.open()
            self._tidy()
            if self._pruned:
                self._writer.write(self._numberer.one(EventName.PRUNED, self._clock.now_ms(), count=self._pruned))
                self._pruned = 0
        except OSError as error:
            self._fail(error, 0)

    def _tidy(self) -> None:
        files.finish_leftovers(self._rules.folder)
        count, freed = files.prune(self._rules.folder, self._rules.disk_bytes_max)
        if count:
            self._pruned += count
            _log.info("journal_pruned", files=count, bytes=freed)
