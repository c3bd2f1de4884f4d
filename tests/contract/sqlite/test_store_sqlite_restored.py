"""A copy of the database that is put where another one was, beside what that one left."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cqs.errors import StoreUnavailable
from cqs.queue import Queue
from cqs.store.sqlite.store import SqliteStore
from cqs.testing.clock import ManualClock
from tests.contract.sqlite_home import SqliteHome
from tests.contract.store_home import Maker, addresses_of, held


@pytest.fixture
async def crashed(store: SqliteStore, queue: Queue, make: Maker, tmp_path: Path, clock: ManualClock) -> SqliteHome:
    """The files of a server whose machine lost its power, a backup of its database beside them as `backup`. After the
    backup, the store got more messages than it had."""
    await store.append(queue, make.messages(3))
    home = SqliteHome(tmp_path / "crashed", clock)
    with closing(sqlite3.connect(tmp_path / "data" / home.file.name)) as connection:
        connection.execute(f"VACUUM INTO '{tmp_path / 'backup'}'")
    await store.append(queue, make.messages(50))
    shutil.copytree(tmp_path / "data", home.folder)
    return home


def restored_over(home: SqliteHome) -> None:
    shutil.copy(home.folder.with_name("backup"), home.file)


def removed(home: SqliteHome) -> None:
    home.file.unlink()


@pytest.mark.parametrize(
    ("meddle", "words"),
    [
        (restored_over, r"messages\.db-wal belongs to the database .*: move messages\.db-wal away"),
        (removed, r"messages\.db is missing, but its latest commits are in .*: put it back"),
    ],
)
async def test_a_database_is_not_opened_with_the_wal_of_another(
    crashed: SqliteHome, meddle: Callable[[SqliteHome], None], words: str
) -> None:
    meddle(crashed)
    before = {path: path.read_bytes() for path in crashed.folder.glob("messages.db*")}

    with pytest.raises(StoreUnavailable, match=words):
        await crashed.open()

    assert {path: path.read_bytes() for path in crashed.folder.glob("messages.db*")} == before


async def test_a_copy_opens_where_another_database_was_once_its_wal_is_away(crashed: SqliteHome, queue: Queue) -> None:
    restored_over(crashed)
    crashed.file.with_name("messages.db-wal").unlink()

    store = await crashed.open()

    assert len(await held(store, queue)) == 3
    await crashed.close()


async def test_a_crashed_store_that_was_a_copy_opens_with_its_own_wal(
    crashed: SqliteHome, queue: Queue, make: Maker, tmp_path: Path, clock: ManualClock
) -> None:
    copy = SqliteHome(tmp_path / "copy", clock)
    copy.folder.mkdir()
    shutil.copy(crashed.folder.with_name("backup"), copy.file)
    store = await copy.open()
    messages = make.messages(2)
    await store.append(queue, messages)

    after = await copy.crash(store)

    assert set(addresses_of(messages)) < set(await held(after, queue))
    await copy.close()
