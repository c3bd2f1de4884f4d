"""The jobs of one commit, sorted by kind and encoded before anything touches the file. A job that can't be encoded
fails alone."""

from __future__ import annotations

from collections.abc import Sequence

from cqs import ids
from cqs.errors import StoreUnavailable
from cqs.store import rows
from cqs.store.interface import Lease
from cqs.store.sqlite import sql
from cqs.store.sqlite.jobs import Append, Delete, Job, Leases, Relocate, Work
from cqs.store.sqlite.schema import PAGE_BYTES
from cqs.store.tombstones import Tombstones

Result = object


def bytes_of(encoded: Sequence[rows.Row]) -> int:
    """How many bytes of bodies and attributes the rows hold."""
    size = 0
    for row in encoded:
        size += len(row[-1]) + len(row[-2] or b"")
    return size


class Plan:
    """The jobs of one commit, sorted by kind and encoded."""

    def __init__(self, jobs: Sequence[Job], tombstones: Tombstones) -> None:
        self.results: list[Result | Exception] = [None] * len(jobs)
        self.rows: list[rows.Row] = []
        self._starts: list[tuple[int, int]] = []
        self.claims: list[tuple[int, int, int, int, int, str, str]] = []
        self.deleted: list[int] = []
        self.leases: list[Lease] = []
        self.works: list[tuple[int, Work | Relocate]] = []
        self._bytes = 0
        for place, job in enumerate(jobs):
            if isinstance(job, Append):
                self._append(place, job, tombstones)
            elif isinstance(job, Delete):
                self.deleted += job.addresses
            elif isinstance(job, Leases):
                self.leases += job.leases
            elif isinstance(job, Work | Relocate):
                self.works.append((place, job))

    def _append(self, place: int, job: Append, tombstones: Tombstones) -> None:
        try:
            encoded = [rows.encode(job.storage_id, m) for m in job.messages if m.address not in tombstones]
        except (UnicodeEncodeError, OverflowError) as error:
            failure = StoreUnavailable(f"A message can't be stored: {error}.")
            failure.__cause__ = error
            self.results[place] = failure
            return
        self._starts.append((len(self.rows), place))
        self.rows += encoded
        self._bytes += bytes_of(encoded)
        for (storage_id, scope, dedup_id), held in job.claims:
            key, tail = ids.key_of(held.address), ids.tail_of(held.address)
            self.claims.append((key, storage_id, tail, held.sequence, held.expires_ms, scope, dedup_id))

    def place_of(self, row: rows.Row) -> int:
        """The index of the job that appends the row."""
        index = self.rows.index(row)
        return next(place for start, place in reversed(self._starts) if start <= index)

    @property
    def has_anything(self) -> bool:
        return bool(self.rows or self.claims or self.deleted or self.leases or self.works)

    @property
    def is_one_statement(self) -> bool:
        """A few rows and nothing else: the statement is its own transaction, which saves two hand-overs of the GIL."""
        is_only_rows = not (self.claims or self.deleted or self.leases or self.works)
        return is_only_rows and 0 < len(self.rows) <= sql.ROWS_MAX and len(self.rows).bit_count() == 1

    @property
    def wal_pages(self) -> int:
        """Roughly how many pages the commit writes to the WAL, erring on the high side."""
        rows_touched = len(self.deleted) + len(self.leases) // 4
        return 4 + self._bytes // PAGE_BYTES + rows_touched + sum(work.wal_pages for _, work in self.works)
