"""Which messages have a lease row, so that deletes look for one only where there may be one. Most messages are deleted
before their lease is ever written (`cqs.store.lease_buffer`), and looking costs as much as deleting.

It is always a superset: an id is added before its row is written and removed after the row's deletion is committed.
Beyond IDS_MAX nothing is tracked any more, and every delete looks, for the rest of the process's life.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

IDS_MAX = 1_000_000


class LeasedIds:
    """Belongs to the writer's thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute("SELECT id FROM leases LIMIT ?", (IDS_MAX + 1,))
        self._ids: set[int] | None = {row[0] for row in rows}
        self._bound()

    def add(self, ids: Iterable[int]) -> None:
        if self._ids is not None:
            self._ids.update(ids)
            self._bound()

    def among(self, ids: list[int]) -> list[int]:
        """Those that may have a row."""
        known = self._ids
        return ids if known is None else [one for one in ids if one in known]

    def discard(self, ids: Iterable[int]) -> None:
        """The deletion of their rows is committed."""
        if self._ids is not None:
            self._ids.difference_update(ids)

    def _bound(self) -> None:
        if self._ids is not None and len(self._ids) > IDS_MAX:
            self._ids = None
