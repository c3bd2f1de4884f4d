"""Statements over many rows at once.

A statement costs about as much as a row: Python binds, SQLite starts and ends, the GIL is released and reacquired, and
a busy event loop may hold it meanwhile. So n rows go in as multi-row INSERTs of 64, 32, … 1 rows (at most seven for
fewer than 128), and ids as IN lists, padded to the next power of two by repeating the last one. As only powers of two
occur as texts, the connection's prepared statement cache holds all of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TypeVar

from cqs import ids

ROWS_MAX = 64
IDS_MAX = 256

Value = int | str | bytes | None
RowType = TypeVar("RowType", bound=tuple[Value, ...])


@lru_cache(maxsize=128)
def _placeholders(before: str, item: str, count: int, after: str) -> str:
    return f"{before}{','.join([item] * count)}{after}"


def insert(
    connection: sqlite3.Connection, before: str, rows: Sequence[RowType], after: str = ""
) -> Iterator[tuple[Sequence[RowType], int]]:
    """Runs `before VALUES rows after` in as few statements as possible; yields each statement's rows and how many
    changed."""
    item = f"({','.join('?' * len(rows[0]))})" if rows else ""
    start = 0
    while start < len(rows):
        count = min(ROWS_MAX, 1 << (len(rows) - start).bit_length() - 1)
        chunk = rows[start : start + count]
        sql = _placeholders(f"{before} VALUES ", item, count, after)
        yield chunk, connection.execute(sql, tuple(chain.from_iterable(chunk))).rowcount
        start += count


def over_ids(
    connection: sqlite3.Connection, before: str, keys: Sequence[int], after: str = "", first: Iterable[Value] = ()
) -> Iterator[sqlite3.Cursor]:
    """Runs `before (keys) after` for all keys; `first` are values for placeholders in `before`."""
    for start in range(0, len(keys), IDS_MAX):
        chunk = list(keys[start : start + IDS_MAX])
        count = 1 << (len(chunk) - 1).bit_length()
        chunk += chunk[-1:] * (count - len(chunk))
        yield connection.execute(_placeholders(f"{before} (", "?", count, f") {after}"), (*first, *chunk))


def present(connection: sqlite3.Connection, table: str, storage_id: int, addresses: Sequence[int]) -> set[int]:
    """Those of the addresses that the queue has in `table`, `messages` or `claims`."""
    found: set[int] = set()
    select = f"SELECT id, tail FROM {table} WHERE queue = ? AND id IN"
    for cursor in over_ids(connection, select, [ids.key_of(address) for address in addresses], first=(storage_id,)):
        found.update(ids.pack(key, tail) for key, tail in cursor)
    return found.intersection(addresses)
