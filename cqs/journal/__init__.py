"""The event journal: what happened to every message, as JSON lines in files that Spark reads (`cqs.events.Line`).

    event loop                          writer thread
    ──────────                          ─────────────
    Journal (a Witness) ──► buffer ──► lines (number, checksum) ──► NODE.START.INCARNATION.FILE.jsonl.open
                            bounded                                        │ full or old enough: closing line, fsync
                            what does not fit is counted,                  ▼
                            and the count becomes a line            ….jsonl.gz     (renamed when complete)

A request never waits for it and never fails for it. What was in the buffer at `kill -9` is lost, and seen to be: that
file has no closing line. Numbers are given when a line is written, so that they have no gap but a real one.
"""

from cqs.journal.files import JournalFile, files_of, finish_leftovers, prune
from cqs.journal.journal import Journal
from cqs.journal.recorder import JournalRules

__all__ = ["Journal", "JournalFile", "JournalRules", "files_of", "finish_leftovers", "prune"]
