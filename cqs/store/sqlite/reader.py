"""The reader. Runs in the thread of its own group commit: reads that arrive while one runs share the next.

A scan of a queue has no index to use. It walks the whole table in steps of STEP_ROWS, so that bodies that receives need
never wait for more than one step. A row with a damaged page or checksum is left out and logged; its neighbours are then
read one by one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import structlog

from cqs import ids
from cqs.errors import CqsError
from cqs.message import Message
from cqs.store import rows
from cqs.store.interface import Lease, Stored
from cqs.store.sqlite import sql
from cqs.store.sqlite.failures import is_damage, told

STEP_ROWS = 4_000

_log = structlog.get_logger("cqs.store")


@dataclass(slots=True, frozen=True)
class ReadBodies:
    storage_id: int
    addresses: Sequence[int]


@dataclass(slots=True, frozen=True)
class Query:
    """Any other read, taking a few milliseconds at most."""

    run: Callable[[sqlite3.Connection], object]


ReadJob = ReadBodies | Query


class Step(NamedTuple):
    """A piece of a scan; `after` is where the next one begins, None at the end of the table."""

    stored: list[Stored]
    after: int | None


class Reader:
    """Belongs to one thread."""

    def __init__(self, connection: sqlite3.Connection, file: Path) -> None:
        self._db = connection
        self._file = file

    def run(self, jobs: Sequence[ReadJob]) -> list[object]:
        """The body of the group commit."""
        results: list[object] = [self._query(job) if isinstance(job, Query) else None for job in jobs]
        reads = [(place, job) for place, job in enumerate(jobs) if isinstance(job, ReadBodies)]
        if reads:
            try:
                found = self._messages({ids.key_of(address) for _, job in reads for address in job.addresses})
                for place, job in reads:
                    results[place] = [
                        found[at] for at in ((job.storage_id, one) for one in job.addresses) if at in found
                    ]
            except sqlite3.Error as error:
                failure = told(error, self._file)
                failure.__cause__ = error
                for place, _ in reads:
                    results[place] = failure
        return results

    def _query(self, job: Query) -> object:
        try:
            return job.run(self._db)
        except CqsError as error:
            return error
        except sqlite3.Error as error:
            failure = told(error, self._file)
            failure.__cause__ = error
            return failure

    def _messages(self, keys: Iterable[int]) -> dict[tuple[int, int], Message]:
        wanted = list(keys)
        try:
            found = self._rows(wanted)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            found = self._rows_one_by_one(wanted)
        messages: dict[tuple[int, int], Message] = {}
        for row in found:
            message = rows.decode(row)
            if message is None:
                _log.warning("message_damaged", id=row[0], storage_id=row[1], reason="checksum", file=str(self._file))
            else:
                messages[row[1], message.address] = message
        return messages

    def _rows(self, keys: Sequence[int]) -> list[rows.Row]:
        found: list[rows.Row] = []
        for cursor in sql.over_ids(self._db, f"SELECT {rows.COLUMNS} FROM messages WHERE id IN", keys):
            found += cursor.fetchall()
        return found

    def _rows_one_by_one(self, keys: Sequence[int]) -> list[rows.Row]:
        found: list[rows.Row] = []
        for key in keys:
            try:
                found += self._rows([key])
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                _log.warning("message_damaged", id=key, reason=str(error), file=str(self._file))
        return found


def end_of_step(connection: sqlite3.Connection, after: int) -> int | None:
    """The id that ends a step of STEP_ROWS rows above `after`; None when there are no rows."""
    end: int | None = connection.execute(
        "SELECT max(id) FROM (SELECT id FROM messages WHERE id > ? ORDER BY id LIMIT ?)", (after, STEP_ROWS)
    ).fetchone()[0]
    return end


def scan_step(storage_id: int, after: int, connection: sqlite3.Connection) -> Step:
    """For a `Query`: the queue's messages in the next step."""
    end = end_of_step(connection, after)
    if end is None:
        return Step([], None)
    found = connection.execute(
        "SELECT m.id, tail, sequence, sent_ms, visible_ms, grp, hidden_until_ms, receive_count, first_receive_ms,"
        " receive_number FROM messages m LEFT JOIN leases l ON l.id = m.id"
        " WHERE m.id > ? AND m.id <= ? AND queue = ? ORDER BY m.id",
        (after, end, storage_id),
    )
    return Step([_stored(*row) for row in found], end)


def _stored(
    key: int,
    tail: int,
    sequence: int,
    sent_ms: int | None,
    visible_ms: int,
    group: str | None,
    *lease: int,
) -> Stored:
    address = ids.pack(key, tail)
    return Stored(
        address,
        ids.ms_of(address) if sent_ms is None else sent_ms,
        visible_ms,
        group,
        sequence,
        None if lease[0] is None else Lease(address, *lease),
    )


def head_step(storage_id: int, after: int, limit: int, connection: sqlite3.Connection) -> tuple[list[int], int | None]:
    """For a `Query`: up to `limit` oldest addresses of the queue in the next step, and where the step ends."""
    end = end_of_step(connection, after)
    if end is None:
        return [], None
    found = connection.execute(
        "SELECT id, tail FROM messages WHERE id > ? AND id <= ? AND queue = ? ORDER BY id LIMIT ?",
        (after, end, storage_id, limit),
    )
    return [ids.pack(key, tail) for key, tail in found], end


def leases_of(storage_id: int, addresses: Sequence[int], connection: sqlite3.Connection) -> list[Lease | None]:
    """For a `Query`: the last lease of each message that has one. A purge leaves leases behind for a while."""
    keys = [ids.key_of(address) for address in addresses]
    columns = "id, hidden_until_ms, receive_count, first_receive_ms, receive_number"
    select = f"SELECT {columns} FROM leases JOIN messages USING (id) WHERE queue = ? AND id IN"
    found: dict[int, tuple[int, int, int, int]] = {}
    for cursor in sql.over_ids(connection, select, keys, first=(storage_id,)):
        found.update((row[0], row[1:]) for row in cursor)
    return [Lease(address, *found[key]) if key in found else None for address, key in zip(addresses, keys, strict=True)]


def highest_address(connection: sqlite3.Connection) -> int:
    """For a `Query`: no message, claim or lease is above it."""
    (key,) = connection.execute(
        "SELECT max(coalesce(m, 0), coalesce(c, 0), coalesce(l, 0)) FROM"
        " (SELECT (SELECT max(id) FROM messages) m, (SELECT max(id) FROM claims) c, (SELECT max(id) FROM leases) l)"
    ).fetchone()
    return ids.pack(key, (1 << ids.ROW_BITS + ids.INCARNATION_BITS) - 1) if key else 0
