"""Claims as rows: loaded at start, deleted when their windows end. (writer.py writes them with their messages.)"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from cqs import ids
from cqs.queue import GENERATION_BITS
from cqs.store.claims import Claims
from cqs.store.sqlite import sql
from cqs.store.windows import Expired, Held

_IS_LIVING = "queue_uid IN (SELECT uid FROM queues)"


def load(connection: sqlite3.Connection, living: Collection[int], claims: Claims) -> list[int]:
    """For a read before the store serves: fills `claims`; returns ids of rows whose queue is gone."""
    gone: list[int] = []
    uids = {storage_id >> GENERATION_BITS for storage_id in living}
    for queue_uid, last in connection.execute(f"SELECT queue_uid, last FROM sequences WHERE {_IS_LIVING}"):
        claims.raise_sequence(queue_uid, last)
    for key, storage_id, tail, sequence, expires_ms, scope, dedup_id in connection.execute(
        "SELECT id, queue, tail, sequence, expires_ms, scope, dedup_id FROM claims ORDER BY id"
    ):
        if storage_id >> GENERATION_BITS in uids:
            claims.raise_sequence(storage_id >> GENERATION_BITS, sequence)
        if storage_id in living:
            claims.load((storage_id, scope, dedup_id), Held(ids.pack(key, tail), sequence, expires_ms))
        else:
            gone.append(key)
    return gone


def forget(expired: Expired, connection: sqlite3.Connection) -> None:
    """For a `Work`: removes expired windows, and saves the sequences they kept."""
    delete_claims([ids.key_of(address) for address in expired.addresses], connection)
    connection.executemany(
        "INSERT INTO sequences VALUES (?, ?) ON CONFLICT (queue_uid) DO UPDATE SET last = max(last, excluded.last)",
        list(expired.sequences.items()),
    )


def delete_claims(keys: Sequence[int], connection: sqlite3.Connection) -> None:
    """For a `Work`."""
    for _ in sql.over_ids(connection, "DELETE FROM claims WHERE id IN", keys):
        pass


def delete_gone_sequences(connection: sqlite3.Connection) -> None:
    """For a `Work`: those of deleted queues."""
    connection.execute(f"DELETE FROM sequences WHERE NOT {_IS_LIVING}")
