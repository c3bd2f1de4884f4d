"""Accounts, users and access keys as rows of the same file: one table, a row per record, its definition as JSON.

The table is created when first needed, so that data directories from before there were accounts still work. Secrets are
encrypted before they get here. Functions for a `Work` (they write) or a `Query` (they read), and the `IdentityStore`
built from them.
"""

from __future__ import annotations

import asyncio
import sqlite3
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from cqs.errors import StoreUnavailable
from cqs.identity import AccessKey, Account, Identities, User
from cqs.store.definitions import Definitions
from cqs.store.group_commit import CLOSED
from cqs.store.identity import may_replace
from cqs.store.sqlite.failures import told
from cqs.store.sqlite.folder import Folder
from cqs.store.sqlite.hands import Hands
from cqs.store.sqlite.schema import create_or_check

_TABLES = (
    "CREATE TABLE IF NOT EXISTS identities"
    " (kind TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL, definition TEXT NOT NULL, PRIMARY KEY (kind, name))"
    " WITHOUT ROWID"
)
_VERSION = "identities_version"

_encode = msgspec.json.Encoder().encode
_accounts = Definitions(Account)
_users = Definitions(User)
_keys = Definitions(AccessKey)


class HasThreads(Protocol):
    """The owner of the file and its hands."""

    @property
    def hands(self) -> Hands: ...


class SqliteIdentities:
    """An `IdentityStore` that uses the file and hands of a `SqliteStore` or an `IdentityFile`, which is opened before
    it and closed after it."""

    def __init__(self, store: HasThreads) -> None:
        self._store = store

    async def open(self) -> None:
        """Creates the table if missing; must be awaited before anything else."""
        await self._store.hands.write(_make_tables)

    async def identities_version(self) -> int:
        return await self._store.hands.read(_version)

    async def identities(self) -> Identities:
        return await self._store.hands.read(_identities)

    async def save_account(self, account: Account) -> bool:
        return await self._store.hands.write(partial(_save, kind="account", name=account.account_id, record=account))

    async def save_user(self, user: User) -> bool:
        return await self._store.hands.write(partial(_save, kind="user", name=user.name, record=user))

    async def save_key(self, key: AccessKey) -> bool:
        return await self._store.hands.write(partial(_save, kind="key", name=key.key_id, record=key))

    async def drop_user(self, name: str) -> bool:
        return await self._store.hands.write(partial(_drop, kind="user", name=name))

    async def drop_key(self, key_id: str) -> bool:
        return await self._store.hands.write(partial(_drop, kind="key", name=key_id))


class IdentityFile:
    """The file of a `SqliteStore` that is not in use, opened only for its users and keys: without reading messages,
    however many there are. Locked like a store."""

    def __init__(self, path: Path) -> None:
        self._folder = Folder(path)
        self._hands: Hands | None = None

    @property
    def hands(self) -> Hands:
        """Raises StoreUnavailable when it is not open."""
        if self._hands is None:
            raise StoreUnavailable(CLOSED)
        return self._hands

    async def open(self) -> None:
        """Creates the folder and the tables if missing. Raises DataInUse, StoreUnavailable."""
        self._folder.take()
        file = self._folder.file
        try:
            self._hands = await asyncio.to_thread(Hands, file, lambda db: create_or_check(db, file))
        except BaseException as error:
            self._folder.give_up()
            if isinstance(error, sqlite3.Error):
                raise told(error, file) from error
            raise
        await self._hands.open()

    async def close(self) -> None:
        """Idempotent."""
        if self._hands is not None:
            await self._hands.close()
            self._hands = None
        self._folder.give_up()


def copied(file: Path) -> Identities:
    """The records of a database file that a server may be using; none if the file can't be read as one."""
    try:
        connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
        try:
            return _identities(connection)
        finally:
            connection.close()
    except sqlite3.Error:
        return Identities(version=0)


def _version(db: sqlite3.Connection) -> int:
    row = db.execute("SELECT value FROM meta WHERE name = ?", (_VERSION,)).fetchone()
    return 0 if row is None else int(row[0])


def _identities(db: sqlite3.Connection) -> Identities:
    db.execute("BEGIN")
    try:
        rows = db.execute("SELECT kind, name, definition FROM identities ORDER BY kind, name").fetchall()
        version = _version(db)
    finally:
        db.execute("ROLLBACK")
    return Identities(
        version=version,
        accounts=tuple(_accounts.all([(name, text) for kind, name, text in rows if kind == "account"])),
        users=tuple(_users.all([(name, text) for kind, name, text in rows if kind == "user"])),
        keys=tuple(_keys.all([(name, text) for kind, name, text in rows if kind == "key"])),
    )


def _find(db: sqlite3.Connection, kind: str, name: str) -> Account | User | AccessKey | None:
    row = db.execute("SELECT definition FROM identities WHERE kind = ? AND name = ?", (kind, name)).fetchone()
    if row is None:
        return None
    if kind == "account":
        return _accounts.one(row[0], name)
    return (_users if kind == "user" else _keys).one(row[0], name)


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.execute(_TABLES).close()


def _save(db: sqlite3.Connection, *, kind: str, name: str, record: Account | User | AccessKey) -> bool:
    owner = ""
    if isinstance(record, User):
        owner = record.account
        if _find(db, "account", owner) is None:
            return False
    elif isinstance(record, AccessKey):
        owner = record.user
        if _find(db, "user", owner) is None:
            return False
    if not may_replace(record, _find(db, kind, name)):
        return False
    db.execute("INSERT OR REPLACE INTO identities VALUES (?, ?, ?, ?)", (kind, name, owner, _encode(record).decode()))
    _count(db)
    return True


def _drop(db: sqlite3.Connection, *, kind: str, name: str) -> bool:
    if db.execute("DELETE FROM identities WHERE kind = ? AND name = ?", (kind, name)).rowcount == 0:
        return False
    if kind == "user":
        db.execute("DELETE FROM identities WHERE kind = 'key' AND owner = ?", (name,))
    _count(db)
    return True


def _count(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO meta VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1", (_VERSION,))
