"""A used-up quota, which SQLite reports as an I/O error and the disk's own figures do not show, is a full disk. Any
write that fails is told until one succeeds."""

from __future__ import annotations

import errno
import os
import sqlite3

import pytest

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.store.sqlite import health
from cqs.store.sqlite.store import SqliteStore
from tests.contract.sqlite_home import BrokenConnection, SqliteHome
from tests.contract.store_home import Maker, addresses_of, held


def over_quota(*_: int) -> None:
    raise OSError(errno.EDQUOT, "Disk quota exceeded")


def trouble_of(home: SqliteHome, store: SqliteStore) -> str:
    text, is_fatal = health.trouble(home.file, store.hands)
    assert not is_fatal
    return text


async def test_deletes_go_on_beyond_the_quota_and_sends_come_back_with_it(
    home: SqliteHome, store: SqliteStore, queue: Queue, make: Maker
) -> None:
    there = make.messages(3)
    await store.append(queue, there)
    refused, late = make.message(), make.message()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "posix_fallocate", over_quota)
        BrokenConnection(store, "INSERT OR IGNORE INTO messages", sqlite3.SQLITE_IOERR_WRITE, times=2)
        with pytest.raises(StoreUnavailable, match="a quota used up: free space there"):
            await store.append(queue, [refused])
        told_of_sends = trouble_of(home, store)
        BrokenConnection(store, "COMMIT", sqlite3.SQLITE_IOERR_WRITE, times=2)
        await store.delete(queue, addresses_of(there[:2]))
        told_of_deletes = trouble_of(home, store)
    await store.append(queue, [late])

    assert told_of_sends.startswith("The last write failed. The disk of ")
    assert told_of_deletes.endswith("free space there. Sends are refused, deletes still work.")
    assert await held(store, queue) == addresses_of([there[2], late])
    assert trouble_of(home, store) == ""


async def test_sends_that_fail_are_told_until_one_succeeds(
    home: SqliteHome, store: SqliteStore, queue: Queue, make: Maker
) -> None:
    there = make.message()
    await store.append(queue, [there])
    BrokenConnection(store, "INSERT OR IGNORE INTO messages", sqlite3.SQLITE_IOERR_WRITE)

    with pytest.raises(OutcomeUnknown):
        await store.append(queue, [make.message()])
    await store.delete(queue, [there.address])
    told = trouble_of(home, store)
    await store.append(queue, [make.message()])

    assert told.startswith("The last write failed. Writing ")
    assert trouble_of(home, store) == ""


async def test_deletes_that_fail_are_told_until_a_write_succeeds(
    home: SqliteHome, store: SqliteStore, queue: Queue, make: Maker
) -> None:
    there = make.message()
    await store.append(queue, [there])
    BrokenConnection(store, "COMMIT", sqlite3.SQLITE_IOERR_FSYNC)

    with pytest.raises(OutcomeUnknown):
        await store.delete(queue, [there.address])
    told = trouble_of(home, store)
    await store.delete(queue, [there.address])

    assert told.startswith("The last write failed. Writing ")
    assert trouble_of(home, store) == ""
