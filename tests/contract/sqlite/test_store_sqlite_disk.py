"""The SQLite store on a completely full disk, and with a data file that is not a SQLite file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cqs.errors import StoreUnavailable
from cqs.store.sqlite import ballast, health
from cqs.store.sqlite.store import SqliteStore
from cqs.testing.clock import ManualClock
from tests.contract.sqlite_home import SqliteHome, fill, kill, small_disk
from tests.contract.store_home import Maker, addresses_of, held

LARGE = "x" * 60_000


@pytest.fixture
def disk() -> Iterator[Path]:
    with small_disk() as place:
        yield place


def trouble_of(store: SqliteStore, folder: Path) -> tuple[str, bool]:
    return health.trouble(folder / "messages.db", store.hands)


async def test_every_message_can_be_deleted_on_a_full_disk_and_sends_come_back_by_themselves(
    clock: ManualClock, make: Maker, disk: Path
) -> None:
    home = SqliteHome(disk / "data", clock)
    store = await home.open()
    queue = await store.create(make.queue())
    messages = make.messages(2_000)
    await store.append(queue, messages)
    filler = disk / "filler"
    fill(filler)
    with pytest.raises(StoreUnavailable, match="is full"):
        for _ in range(100):
            await store.append(queue, [make.message(LARGE)])
            messages.append(make.message(""))
    fill(disk / "rest")

    for address in await held(store, queue):
        await store.delete(queue, [address])
    refused = trouble_of(store, disk / "data")
    is_refused = False
    try:
        await store.append(queue, [make.message(LARGE)])
    except StoreUnavailable:
        is_refused = True
    filler.unlink()
    (disk / "rest").unlink()
    late = make.message(LARGE)
    await store.append(queue, [late])

    assert refused[0].endswith("is full, or a quota used up: free space there. Sends are refused, deletes still work.")
    assert refused[1] is False
    assert is_refused
    assert await held(store, queue) == [late.address]
    assert trouble_of(store, disk / "data") == ("", False)
    assert (disk / "data" / ballast.FILE_NAME).exists()
    await home.close()


async def test_a_store_opens_on_a_full_disk(clock: ManualClock, make: Maker, disk: Path) -> None:
    home = SqliteHome(disk / "data", clock)
    store = await home.open()
    queue = await store.create(make.queue())
    messages = make.messages(100)
    await store.append(queue, messages)
    await home.close()
    fill(disk / "filler")

    again = SqliteHome(disk / "data", clock)
    store = await again.open()
    await store.delete(queue, addresses_of(messages[:99]))

    assert await held(store, queue) == addresses_of(messages[99:])
    await again.close()


async def test_an_empty_data_file_is_refused(tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "messages.db").write_bytes(b"")

    with pytest.raises(StoreUnavailable, match=r"messages\.db is empty, which a data file never is: restore a copy"):
        await SqliteHome(tmp_path, clock).open()


async def test_a_start_that_was_cut_off_leaves_nothing_in_the_way(tmp_path: Path, clock: ManualClock) -> None:
    for name in ("messages.db.new", "messages.db.new-wal", "messages.db.new-shm"):
        (tmp_path / name).write_bytes(b"half")
    home = SqliteHome(tmp_path, clock)
    await home.open()
    await home.close()

    assert sorted(os.listdir(tmp_path)) == ["ballast", "lock", "messages.db"]


async def test_a_vanished_data_file_is_told(tmp_path: Path, clock: ManualClock) -> None:
    home = SqliteHome(tmp_path, clock)
    store = await home.open()
    (tmp_path / "messages.db").rename(tmp_path / "elsewhere")
    told = trouble_of(store, tmp_path)
    (tmp_path / "elsewhere").rename(tmp_path / "messages.db")

    assert told[0].startswith(f"{tmp_path / 'messages.db'} was deleted or replaced")
    assert told[1] is True
    assert trouble_of(store, tmp_path) == ("", False)
    await home.close()


async def test_a_writer_that_dies_on_a_full_disk_is_replaced_and_deletes_go_on(
    clock: ManualClock, make: Maker, disk: Path
) -> None:
    home = SqliteHome(disk / "data", clock, has_writer_process=True)
    store = await home.open()
    queue = await store.create(make.queue())
    await store.swept()
    messages = [make.message(LARGE) for _ in range(8)]
    await store.append(queue, messages)
    fill(disk / "filler")
    await kill(store)

    await store.delete(queue, addresses_of(messages[:2]))

    assert await held(store, queue) == addresses_of(messages[2:])
    await home.close()


async def test_a_start_for_which_there_is_no_space_at_all_says_so(clock: ManualClock, disk: Path) -> None:
    home = SqliteHome(disk / "data", clock)
    await home.open()
    await home.close()
    (home.folder / ballast.FILE_NAME).unlink()
    fill(disk / "filler")

    with pytest.raises(StoreUnavailable, match="is full, or a quota used up: free space there"):
        await home.open()
