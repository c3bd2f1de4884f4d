"""The writer: in its own process or thread, with its own connection.

    jobs ──► plan (encode rows; a job that can't be encoded fails alone) ──► BEGIN ─ rows ─ COMMIT ──► results
                                                                              │
                    disk full: checkpoint (frees the WAL), then deletes and the rest (if necessary in the space of
                    `ballast`), then, unless the ballast had to go, appends in a commit of their own

Nothing is reported as done that was not committed. After a failed statement everything was rolled back and nothing was
written (StoreUnavailable); a failed COMMIT may have reached the disk (OutcomeUnknown). After any failure the next
commit starts afresh, so the store works again as soon as the disk does. A deleted or replaced file would accept commits
until it is closed, and then they would be lost: so nothing is written while the file at the path is not the opened one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cqs import ids
from cqs.errors import CqsError, OutcomeUnknown, StoreUnavailable
from cqs.message import Message
from cqs.store import rows
from cqs.store.interface import Lease
from cqs.store.sqlite import sql
from cqs.store.sqlite.ballast import Ballast
from cqs.store.sqlite.failures import DiskFull, full_text, gone_text, told
from cqs.store.sqlite.folder import identity_of
from cqs.store.sqlite.jobs import Append, Checkpoint, Job, Relocate, Trim
from cqs.store.sqlite.leased import LeasedIds
from cqs.store.sqlite.plan import Plan, Result, bytes_of
from cqs.store.sqlite.schema import PAGE_BYTES
from cqs.store.tombstones import Tombstones

_INSERT_MESSAGES = f"INSERT OR IGNORE INTO messages ({rows.COLUMNS})"
_INSERT_LEASES = "INSERT INTO leases (id, hidden_until_ms, receive_count, first_receive_ms, receive_number)"
_NEWER_LEASE_WINS = (
    " ON CONFLICT (id) DO UPDATE SET hidden_until_ms = excluded.hidden_until_ms,"
    " receive_count = excluded.receive_count, first_receive_ms = excluded.first_receive_ms,"
    " receive_number = excluded.receive_number"
    " WHERE excluded.receive_number >= leases.receive_number"
)
_INSERT_CLAIMS = "INSERT OR REPLACE INTO claims (id, queue, tail, sequence, expires_ms, scope, dedup_id)"


class Writer:
    """Belongs to one thread, except `wal_pages`, `is_ballast_spent` and `failing`, which any thread may read."""

    def __init__(self, connection: sqlite3.Connection, file: Path) -> None:
        self._db = connection
        self._file = file
        self._tombstones = Tombstones()
        self._leased = LeasedIds(connection)
        self._gone: list[int] = []
        self._is_at_commit = False
        self._opened = identity_of(file)
        self.ballast = Ballast(file.parent)
        self.ballast.make()
        self.wal_pages = 0
        """Roughly how many pages were written to the WAL since it last started over."""
        self.failing = ""
        """Why the last write failed; "" = it did not. Deletes that work do not end the failing of sends."""
        self._is_append_failing = False

    def run(self, jobs: Sequence[Job]) -> list[Result | Exception]:
        """The group commit's work."""
        if self.is_gone():
            return [StoreUnavailable(gone_text(self._file))] * len(jobs)
        if self.ballast.is_spent:
            self.ballast.make()
        results: list[Result | Exception] = []
        if not self.ballast.is_spent:
            results = self._attempt(jobs)
        if not results or any(isinstance(result, DiskFull) for result in results):
            results = self._attempt_apart(jobs)
        for place, job in enumerate(jobs):
            if isinstance(job, Checkpoint):
                results[place] = self._checkpoint()
            elif isinstance(job, Trim):
                results[place] = self._trim(job.pages)
        return results

    @property
    def is_ballast_spent(self) -> bool:
        """The disk was full, and is not known to have space again."""
        return self.ballast.is_spent

    def is_gone(self) -> bool:
        """Whether the opened file is no longer at its path (deleted or replaced). Any thread may ask."""
        return identity_of(self._file) != self._opened

    def _attempt(self, jobs: Sequence[Job]) -> list[Result | Exception]:
        plan = Plan(jobs, self._tombstones)
        try:
            self._write(plan)
        except sqlite3.Error as error:
            failure = told(error, self._file, is_commit=self._is_at_commit)
            failure.__cause__ = error
            self.failing, self._is_append_failing = str(failure), bool(plan.rows)
            return [failure] * len(jobs)
        finally:
            self._roll_back()
        if plan.rows or (plan.has_anything and not self._is_append_failing):
            self.failing = ""
        return plan.results

    def _attempt_apart(self, jobs: Sequence[Job]) -> list[Result | Exception]:
        self._checkpoint()
        results: list[Result | Exception] = [DiskFull(full_text(self._file))] * len(jobs)
        for is_append in (False, True):
            places = [place for place, job in enumerate(jobs) if isinstance(job, Append) is is_append]
            if not places or (is_append and self.ballast.is_spent):
                continue
            wanted = [jobs[place] for place in places]
            done = self._attempt(wanted)
            if not is_append and isinstance(done[0], DiskFull) and self.ballast.give_up():
                self._checkpoint()
                done = self._attempt(wanted)
            for place, result in zip(places, done, strict=True):
                results[place] = result
        return results

    def _write(self, plan: Plan) -> None:
        self._gone.clear()
        self._is_at_commit = plan.is_one_statement
        if plan.is_one_statement:
            self._insert_messages(plan)
        elif plan.has_anything:
            self._db.execute("BEGIN IMMEDIATE")
            self._insert_messages(plan)
            self._insert_claims(plan)
            self._lease(plan.leases)
            self._delete(plan.deleted)
            self._work(plan)
            self._is_at_commit = True
            self._db.execute("COMMIT")
        self._tombstones.add(self._gone)
        self._leased.discard(map(ids.key_of, self._gone))
        self.wal_pages += plan.wal_pages

    def _insert_messages(self, plan: Plan) -> None:
        for chunk, inserted in sql.insert(self._db, _INSERT_MESSAGES, plan.rows):
            if inserted < len(chunk):
                self._check_known(plan, chunk)

    def _check_known(self, plan: Plan, chunk: Sequence[rows.Row]) -> None:
        """Some ids existed already: fine if the address is the same, which makes it a retry."""
        for row in chunk:
            found = self._db.execute("SELECT tail FROM messages WHERE id = ?", (row[0],)).fetchone()
            if found != (row[2],):
                plan.results[plan.place_of(row)] = OutcomeUnknown(_taken(ids.pack(row[0], row[2])))

    def _insert_claims(self, plan: Plan) -> None:
        for _ in sql.insert(self._db, _INSERT_CLAIMS, plan.claims):
            pass

    def _delete(self, addresses: Sequence[int]) -> None:
        """Deletes by id and tail: an address of an earlier process whose clock was ahead must not hit a younger
        message."""
        self._gone += addresses
        by_tail: dict[int, list[int]] = {}
        for address in addresses:
            by_tail.setdefault(ids.tail_of(address), []).append(ids.key_of(address))
        for tail, keys in by_tail.items():
            for _ in sql.over_ids(self._db, "DELETE FROM messages WHERE tail = ? AND id IN", keys, first=(tail,)):
                pass
            leased = self._leased.among(keys)
            if leased:
                for _ in sql.over_ids(self._db, "DELETE FROM leases WHERE id IN", leased):
                    pass

    def _lease(self, leases: Sequence[Lease]) -> None:
        living = [
            (ids.key_of(one.address), one.hidden_until_ms, one.receive_count, one.first_receive_ms, one.receive_number)
            for one in leases
            if one.address not in self._tombstones
        ]
        self._leased.add(row[0] for row in living)
        for _ in sql.insert(self._db, _INSERT_LEASES, living, _NEWER_LEASE_WINS):
            pass

    def _work(self, plan: Plan) -> None:
        for place, work in plan.works:
            self._db.execute("SAVEPOINT work")
            gone = len(self._gone)
            try:
                plan.results[place] = self._move(work) if isinstance(work, Relocate) else work.run(self._db)
            except CqsError as error:
                plan.results[place] = error
                self._db.execute("ROLLBACK TO work")
                del self._gone[gone:]
            self._db.execute("RELEASE work")

    def _move(self, job: Relocate) -> list[Message]:
        there = self._existing(job.source_id, [move.old_address for move in job.moves])
        leaving = [move for move in job.moves if move.old_address in there]
        self._delete([move.old_address for move in leaving])
        new_rows = [rows.encode(job.target_id, move.message) for move in leaving]
        for _ in sql.insert(self._db, _INSERT_MESSAGES, new_rows):
            pass
        self.wal_pages += bytes_of(new_rows) // PAGE_BYTES
        arrived = self._existing(job.target_id, [move.message.address for move in job.moves])
        for move in leaving:
            if move.message.address not in arrived:
                raise OutcomeUnknown(_taken(move.message.address))
        return [move.message for move in job.moves if move.message.address in arrived]

    def _existing(self, storage_id: int, addresses: Sequence[int]) -> set[int]:
        return sql.present(self._db, "messages", storage_id, addresses)

    def _checkpoint(self) -> bool:
        try:
            busy, log, copied = self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error:
            return False
        if busy or copied < log:
            return False
        self.wal_pages = 0
        return True

    def _trim(self, pages: int) -> Exception | None:
        """Uses executescript, since execute would stop after the first page: the pragma returns one row without columns
        per page."""
        try:
            self._db.executescript(f"PRAGMA incremental_vacuum({pages})")
        except sqlite3.Error as error:
            failure = told(error, self._file)
            failure.__cause__ = error
            return failure
        self.wal_pages += 2 * pages
        return None

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")


def _taken(address: int) -> str:
    return f"Address {ids.text_of(address)} is in use by another message."
