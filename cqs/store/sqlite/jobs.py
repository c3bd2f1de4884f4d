"""The jobs that the writer accepts. Within a commit they are done by kind, not one by one:

appends ──► leases ──► deletes ──► everything else          a delete in the same commit as the append or lease of
                                                            its message wins, whichever was submitted first
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
    """Anything else: `run` inside the commit, rolled back alone when it raises a CqsError. Must be a module-level
    function or a `partial` of one: it may run in another process."""

    run: Callable[[sqlite3.Connection], object]
    wal_pages: int = WORK_PAGES
    """Roughly how many pages it writes."""


@dataclass(slots=True, frozen=True)
class Relocate:
    """Moves the messages that are still in one queue to the other. Result: those that are now in the target. Fails with
    OutcomeUnknown when a new address is used by another message."""

    source_id: int
    target_id: int
    moves: Sequence[Move]

    @property
    def wal_pages(self) -> int:
        """Without the pages of the messages, which the writer counts when it has encoded them."""
        return WORK_PAGES + len(self.moves)


@dataclass(slots=True, frozen=True)
class Checkpoint:
    """After the commit, copies the rest of the WAL into the file, so that the WAL starts over. Result: whether nothing
    is left."""


@dataclass(slots=True, frozen=True)
class Trim:
    """After the commit and in its own transaction, returns up to `pages` free pages to the disk."""

    pages: int


Job = Append | Delete | Leases | Work | Relocate | Checkpoint | Trim
