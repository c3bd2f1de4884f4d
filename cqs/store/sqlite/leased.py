"""Which messages have a lease row, so that a delete looks for one only where there is one. Most messages are deleted
before their lease was ever written (`cqs.store.lease_buffer`), and looking costs as much as deleting.

A superset of the truth, always: an id enters before its row is written and leaves after its row is gone for good.
Beyond IDS_MAX nothing is known any more, and every delete looks, as long as the process lives.
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
        """Their rows are gone, and that is committed."""
        if self._ids is not None:
            self._ids.difference_update(ids)

    def _bound(self) -> None:
        if self._ids is not None and len(self._ids) > IDS_MAX:
            self._ids = None
