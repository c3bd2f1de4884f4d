"""Walks along a row in order, past any tombstones.

A read that meets too many tombstones fails, and so may one that takes too long. That means neither "empty" nor
"broken":

    from ├──────────────────────── everything ────────────────────────────┤   fails
         ├──── an eighth ────┤                                                works: continue from its end
                             ├─────────── twice as much ──────────┤           …
"""

from __future__ import annotations

from cqs.clock import Clock
from cqs.store.cassandra.addresses import END_AT, INCARNATION_MASK, Place, at_of_ms
from cqs.store.cassandra.failures import TooMuchToRead
from cqs.store.cassandra.session import Row, Session
from cqs.store.cassandra.statements import Statement

NARROW_BY = 8
NARROWINGS_MAX = 24
TIMEOUTS_MAX = 1
"""Consecutive timeouts after which the range is not to blame."""
_AHEAD_MS = 3_600_000
"""How far messages may be ahead of our clock; beyond it there is one last step to the end of the row."""


class Walk:
    """One walk along one row. The statement's values are queue_id, row, the place after which to start, the `at` to
    stop before, and a limit; its first two columns are the place."""

    def __init__(
        self, session: Session, clock: Clock, statement: Statement, queue_id: int, row: int, *, start_at: int
    ) -> None:
        self.narrowings = 0
        self._session = session
        self._top = at_of_ms(clock.now_ms() + _AHEAD_MS)
        self._statement = statement
        self._key = (queue_id, row)
        self._after: Place = (start_at - 1, INCARNATION_MASK)
        self._span = 0
        """How much to ask for at a time; 0 = everything."""
        self.is_over = False

    async def next(self, limit: int) -> list[Row]:
        """Up to `limit` rows, in order; fewer does not mean that there are no more: see `is_over`. Raises
        StoreUnavailable when not even the narrowest range can be read."""
        start_at = self._after[0]
        timeouts = 0
        for _ in range(NARROWINGS_MAX):
            before_at = END_AT
            if self._span and start_at + self._span < self._top:
                before_at = start_at + self._span
            try:
                rows = await self._session.read(self._statement, (*self._key, *self._after, before_at, limit))
            except TooMuchToRead as error:
                self.narrowings += 1
                timeouts = timeouts + 1 if error.is_timeout else 0
                asked = min(before_at, max(self._top, start_at + 2)) - start_at
                if asked < NARROW_BY or timeouts > TIMEOUTS_MAX:
                    raise
                self._span = asked // NARROW_BY
                continue
            self._advance(rows, limit, before_at)
            return rows
        raise TooMuchToRead(f"Row {self._key} holds too many tombstones to be read.")

    def _advance(self, rows: list[Row], limit: int, before_at: int) -> None:
        if len(rows) == limit:
            self._after = (rows[-1][0], rows[-1][1])
        elif before_at == END_AT:
            self.is_over = True
        else:
            self._after = (before_at - 1, INCARNATION_MASK)
            self._span *= 2
