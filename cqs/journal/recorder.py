"""Writes reported events to the journal's files: the work of the recorder's process (`cqs.journal.recording`).

It survives a full disk and a lost folder: it counts lost events, retries every RETRY_MS, and when a write succeeds,
writes how many are missing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from cqs.clock import Clock
from cqs.events import EventName
from cqs.journal import files
from cqs.journal.calls import Note, Pack, Report, events_of, unpack
from cqs.journal.lines import Numberer
from cqs.journal.rules import JournalRules
from cqs.journal.writer import Writer

RETRY_MS = 1_000


def leave_unended(rules: JournalRules, clock: Clock, rng: random.Random) -> None:
    """If a journal was kept before, leaves a file without a closing line, for an incarnation that keeps none: its
    reader sees that events may have happened since. Does nothing in a folder without a journal. Raises OSError."""
    if files.files_of(rules.folder):
        recorder = Recorder(rules, clock, rng)
        recorder.open()
        recorder.abandon()


class Recorder:
    """One incarnation. Frames in, files out."""

    def __init__(self, rules: JournalRules, clock: Clock, rng: random.Random) -> None:
        self._rules = rules
        self._clock = clock
        self._numberer = Numberer(files.node_name(rules.node), f"{rng.getrandbits(50):013x}", rules.sample_every)
        self._writer = Writer(
            rules.folder, self._numberer, clock, file_bytes_max=rules.file_bytes_max, file_age_ms=rules.file_age_ms
        )
        self._untold = self._pruned = 0
        self._failed_ms: int | None = None
        self._reason = ""
        self._lines = self._lost = 0
        self._notes: list[Note] = []

    def open(self) -> None:
        """Creates the folder, finishes files left by dead processes, and begins the first file. Raises OSError; it is
        usable afterwards, as after any failure."""
        self._rules.folder.mkdir(parents=True, exist_ok=True)
        self._tidy()
        self._writer.open()

    def record(self, frame: bytes) -> None:
        """Writes the calls of a frame. Never raises OSError."""
        missing, packs = unpack(frame)
        self._untold += missing
        self._write(packs)
        self.tick()

    def tick(self) -> None:
        """Writes how many events are missing, if possible, and starts a new file when the current one is due or was
        deleted."""
        deleted = self._writer.deleted
        if deleted is not None:
            self._fail("its file was deleted", deleted)
            self._failed_ms = None
        if self._untold:
            self._write([])
        if self._writer.is_due:
            self._rotate()

    def close(self) -> None:
        """Writes the closing line. Idempotent; never raises OSError."""
        self._failed_ms = None
        self.tick()
        try:
            self._writer.close(is_last=True)
            self._tidy()
        except OSError as error:
            self._fail(_reason_of(error), 0)

    def abandon(self) -> None:
        """Leaves the file without a closing line, so that its reader sees that the end is missing."""
        self._writer.abandon()

    def report(self) -> Report:
        """What happened since the last report, and why nothing can be written now."""
        report = Report(self._lines, self._lost, self._notes, self._reason)
        self._lines = self._lost = 0
        self._notes = []
        return report

    def _write(self, packs: Sequence[Pack]) -> None:
        """Writes how many events are missing before these calls, and the calls; if the disk fails, counts them as
        missing."""
        lines = events_of(packs)
        self._lines += lines
        if self._failed_ms is not None and 0 <= self._clock.now_ms() - self._failed_ms < RETRY_MS:
            self._miss(lines)
            return
        mark = self._numberer.number
        try:
            self._writer.open()
            mark = self._numberer.number
            if self._untold:
                self._tell_missing()
                mark = self._numberer.number
            if packs:
                self._writer.write(self._numberer.encode(packs))
            self._failed_ms, self._reason = None, ""
        except OSError as error:
            self._numberer.number = mark
            self._fail(_reason_of(error), lines)

    def _tell_missing(self) -> None:
        self._writer.write(self._numberer.one(EventName.DROPPED_EVENTS, self._clock.now_ms(), count=self._untold))
        self._note("warning", "journal_events_dropped", count=self._untold)
        self._untold = 0

    def _fail(self, reason: str, lines: int) -> None:
        """Logged once per reason until a write succeeds again."""
        self._failed_ms = self._clock.now_ms()
        self._miss(lines)
        self._writer.abandon()
        if reason != self._reason:
            self._reason = reason
            folder = str(self._rules.folder)
            self._note("error", "journal_write_failed", folder=folder, reason=reason, missing=self._untold)

    def _miss(self, lines: int) -> None:
        self._untold += lines
        self._lost += lines

    def _rotate(self) -> None:
        try:
            self._writer.close()
            self._writer.open()
            self._tidy()
            if self._pruned:
                self._writer.write(self._numberer.one(EventName.PRUNED, self._clock.now_ms(), count=self._pruned))
                self._pruned = 0
        except OSError as error:
            self._fail(_reason_of(error), 0)

    def _tidy(self) -> None:
        files.finish_leftovers(self._rules.folder)
        count, freed = files.prune(self._rules.folder, self._rules.disk_bytes_max)
        if count:
            self._pruned += count
            self._note("info", "journal_pruned", files=count, bytes=freed)

    def _note(self, level: str, event: str, **fields: object) -> None:
        self._notes.append((level, event, fields))


def _reason_of(error: OSError) -> str:
    return error.strerror or str(error)
