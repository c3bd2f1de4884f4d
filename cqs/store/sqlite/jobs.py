"""What the writer can be asked to do. Jobs of one commit are done kind by kind, not one by one:

appends ──► leases ──► deletes ──► everything else          a delete in the same commit as the append or lease of
                                                            its message wins, whichever was asked for first
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cqs.message import Message
from cqs.store.interface import Lease, Move
from cqs.store.windows import Held, Key

WORK_PAGES = 4


@dataclass(slots=True, frozen=True)
class Append:
    storage_id: int
    messages: Sequence[Message]
    claims: Sequence[tuple[Key, Held]] = ()


@dataclass(slots=True, frozen=True)
class Delete:
    addresses: Sequence[int]


@dataclass(slots=True, frozen=True)
class Leases:
    leases: Sequence[Lease]


@dataclass(slots=True, frozen=True)
class Work:
    """Anything else: `run` inside the commit, taken back alone when it raises a CqsError. A function of a module, or a
    `partial` of one: it may run in another process."""

    run: Callable[[sqlite3.Connection], object]
    wal_pages: int = WORK_PAGES
    """About how many pages it writes."""


@dataclass(slots=True, frozen=True)
class Relocate:
    """Moves the messages that are still in the one queue to the other. Result: those that are in the target. Fails with
    OutcomeUnknown when a new address is in use by another message."""

    source_id: int
    target_id: int
    moves: Sequence[Move]

    @property
    def wal_pages(self) -> int:
        return WORK_PAGES


@dataclass(slots=True, frozen=True)
class Checkpoint:
    """Copies what is left in the WAL into the file, after the commit, so that the WAL starts over. Result: whether
    nothing is left."""


@dataclass(slots=True, frozen=True)
class Trim:
    """Gives up to `pages` free pages back to the disk, after the commit and in a transaction of its own."""

    pages: int


Job = Append | Delete | Leases | Work | Relocate | Checkpoint | Trim
