"""The tables, and how a connection is opened.

    messages   id = key_of(address): 42 bits of ms, 20 of counter. One B-tree in order of time. No index on the queue:
               it would add half to the cost of an insert, only for the one pass at start and the rare scan after the
               cache is lost. The body comes last, so that passes over ids, times and groups skip overflow pages.
    leases     same id: what was received, until when it is hidden, how often
    claims     same id: deduplication ids of FIFO sends, for their window
    sequences  the last FIFO sequence of a queue whose claims have expired
    queues, dropped, move_tasks, meta     the catalogue

Pages are 8 KiB (seven 1 KiB messages a page). auto_vacuum is INCREMENTAL: it costs about 5 % of an insert and lets a
file grown by a backlog shrink in small steps (upkeep.py), where VACUUM would stop everything. Setting it is a commit
even if it is set already, so it is set only once. secure_delete is on in some builds and would overwrite every deleted
message with zeros: off. wal_autocheckpoint is 0: upkeep.py checkpoints the WAL, not some unlucky caller's commit.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from cqs import folders
from cqs.errors import StoreUnavailable

SCHEMA_VERSION = 1
FILE_NAME = "messages.db"
PAGE_BYTES = 8_192
CACHE_KIB = 4_096
WAL_KEPT_BYTES = 64 << 20
BUSY_MS = 10_000

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,        -- storage id: uid << 15 | generation
    tail INTEGER NOT NULL,         -- tail_of(address)
    sequence INTEGER NOT NULL,
    sent_ms INTEGER,               -- NULL = the address's own ms
    visible_ms INTEGER NOT NULL,
    grp TEXT,
    checksum INTEGER NOT NULL,     -- rows.py
    meta BLOB,                     -- msgpack of the rare fields
    body BLOB NOT NULL             -- UTF-8
);
CREATE TABLE leases (
    id INTEGER PRIMARY KEY,
    hidden_until_ms INTEGER NOT NULL,
    receive_count INTEGER NOT NULL,
    first_receive_ms INTEGER NOT NULL,
    receive_number INTEGER NOT NULL
);
CREATE TABLE claims (
    id INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    tail INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    scope TEXT NOT NULL,
    dedup_id TEXT NOT NULL
);
CREATE TABLE sequences (queue_uid INTEGER PRIMARY KEY, last INTEGER NOT NULL);
CREATE TABLE queues (
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    uid INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    version INTEGER NOT NULL,
    definition TEXT NOT NULL,      -- JSON of cqs.queue.Queue
    PRIMARY KEY (account, name)
) WITHOUT ROWID;
CREATE TABLE dropped (
    account TEXT NOT NULL, name TEXT NOT NULL, dropped_ms INTEGER NOT NULL, PRIMARY KEY (account, name)
) WITHOUT ROWID;
CREATE TABLE move_tasks (
    handle TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    definition TEXT NOT NULL       -- JSON of cqs.store.interface.MoveTask
);
"""

INDEXES = """
CREATE INDEX IF NOT EXISTS dropped_by_time ON dropped (dropped_ms);
"""
"""Also created at each start: a file may be older than one of them."""


def connect(path: Path, *, is_new: bool = False) -> sqlite3.Connection:
    """A connection for use by one thread at a time, in explicit transactions. Writes nothing unless the file `is_new`,
    so that it works on a full disk. Raises sqlite3.Error."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    try:
        for pragma in (
            f"busy_timeout={BUSY_MS}",
            f"page_size={PAGE_BYTES}",
            *(["auto_vacuum=INCREMENTAL"] if is_new else []),
            "journal_mode=WAL",
            "synchronous=FULL",
            "wal_autocheckpoint=0",
            f"journal_size_limit={WAL_KEPT_BYTES}",
            f"cache_size=-{CACHE_KIB}",
            "temp_store=MEMORY",
            "secure_delete=OFF",
        ):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def make_file(path: Path, mode: int) -> None:
    """Creates a database without tables at `path`, all at once or not at all. Raises OSError, sqlite3.Error."""
    new = path.with_name(f"{path.name}.new")
    for name in (new.name, f"{new.name}-wal", f"{new.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
    connect(new, is_new=True).close()
    new.rename(path)
    folders.sync(path.parent)


def create_or_check(connection: sqlite3.Connection, path: Path) -> None:
    """Creates the tables in an empty file, or the indexes that an older one lacks, all at once or not at all. Raises
    StoreUnavailable when the file has another schema version or belongs to another program; sqlite3.Error."""
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not names:
        connection.executescript(f"BEGIN IMMEDIATE; {TABLES} {INDEXES}")
        connection.execute("INSERT INTO meta VALUES ('schema_version', ?)", (SCHEMA_VERSION,))
        connection.execute("INSERT INTO meta VALUES ('secret', ?)", (os.urandom(32),))
        connection.execute("COMMIT")
        return
    row = (
        connection.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
        if {"meta", "messages"} <= names
        else None
    )
    if row is None:
        raise StoreUnavailable(f"{path} is an SQLite file of another program: choose another data directory.")
    if row[0] != SCHEMA_VERSION:
        raise StoreUnavailable(
            f"{path} has schema version {row[0]}, this cqs-server reads version {SCHEMA_VERSION}: "
            "use the version of cqs-server that wrote it, or another data directory."
        )
    connection.executescript(INDEXES)


def secret_of(connection: sqlite3.Connection) -> bytes:
    secret: bytes = connection.execute("SELECT value FROM meta WHERE name = 'secret'").fetchone()[0]
    return secret
