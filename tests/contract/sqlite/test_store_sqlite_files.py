"""The files of the SQLite store: ownership, concurrent use, and damage."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from cqs import folders
from cqs.errors import StoreUnavailable
from cqs.queue import Queue
from cqs.store.sqlite.folder import PATH_BYTES_MAX
from cqs.store.sqlite.jobs import Checkpoint
from cqs.store.sqlite.schema import PAGE_BYTES, connect
from cqs.store.sqlite.store import SqliteStore
from cqs.testing.clock import ManualClock
from tests.contract.sqlite_home import SqliteHome
from tests.contract.store_home import Maker, addresses_of, held

ROOT = Path(__file__).parents[3]
LEAF = 0x0D
"""The first byte of a B-tree leaf page of a table."""


def wreck_page_of(home: SqliteHome, body: str) -> None:
    """Overwrites the B-tree leaf that contains the body. A root page may still contain it from when it was a leaf, and
    is left alone."""
    raw = home.file.read_bytes()
    holders = {found.start() // PAGE_BYTES * PAGE_BYTES for found in re.finditer(body.encode(), raw)}
    with home.file.open("r+b") as file:
        for page in holders:
            if raw[page] == LEAF:
                file.seek(page)
                file.write(b"\xff" * 200)


async def test_names_of_all_that_was_made_are_durable(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(folders, "sync", synced.append)
    home = SqliteHome(tmp_path / "above" / "data", clock)

    await home.open()
    await home.close()

    assert set(synced) == {tmp_path, home.folder.parent, home.folder}


def of_length(folder: Path, length: int) -> Path:
    """A path of so many bytes below the folder."""
    while length - len(str(folder)) > 201:
        folder /= "x" * 199
    return folder / ("x" * (length - len(str(folder)) - 1))


async def test_the_path_of_a_folder_may_be_as_long_as_sqlite_allows(tmp_path: Path, clock: ManualClock) -> None:
    home = SqliteHome(of_length(tmp_path, PATH_BYTES_MAX), clock)

    await home.open()
    await home.close()

    assert home.file.exists()


async def test_a_folder_whose_path_is_too_long_is_refused_with_the_limit(tmp_path: Path, clock: ManualClock) -> None:
    home = SqliteHome(of_length(tmp_path, PATH_BYTES_MAX + 1), clock)

    with pytest.raises(StoreUnavailable, match="its path has 489 bytes, and SQLite allows 488"):
        await home.open()

    assert not home.folder.exists()


async def test_a_connection_writes_nothing(home: SqliteHome, store: SqliteStore) -> None:
    await store.swept()
    wal = home.file.with_name(f"{home.file.name}-wal")
    before = wal.read_bytes()

    with closing(connect(home.file)) as connection:
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)

    assert wal.read_bytes() == before


async def test_the_backup_of_the_docs_is_a_whole_store(
    store: SqliteStore, queue: Queue, make: Maker, home: SqliteHome, tmp_path: Path, clock: ManualClock
) -> None:
    messages = make.messages(3)
    await store.append(queue, messages)
    copy = SqliteHome(tmp_path / "copy", clock)
    copy.folder.mkdir()
    (command,) = re.findall(r"^sqlite3 \S+ \"(.+)\"$", (ROOT / "docs/operations.md").read_text(), re.MULTILINE)

    with closing(sqlite3.connect(home.file)) as connection:
        connection.execute(command.replace("/backup/messages.db", str(copy.file)))

    restored = await copy.open()
    assert await restored.queues() == [queue]
    assert await restored.read(queue, addresses_of(messages)) == messages
    await copy.close()


async def test_a_second_store_on_the_directory_is_refused_by_name(home: SqliteHome, store: SqliteStore) -> None:
    with pytest.raises(StoreUnavailable, match=rf"{home.folder} is in use by another process \(pid \d+\)"):
        await home.open()


async def test_the_directory_is_free_again_after_a_close_and_after_a_failed_open(
    home: SqliteHome, clock: ManualClock
) -> None:
    home.folder.mkdir()
    home.file.write_bytes(b"not a database, but long enough to have a header of a hundred bytes" * 4)
    with pytest.raises(StoreUnavailable):
        await home.open()
    home.file.unlink()

    await (await home.open()).close()

    await (await home.open()).close()


async def test_only_the_owner_may_read_what_is_stored(home: SqliteHome, store: SqliteStore) -> None:
    assert home.folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in home.folder.iterdir()} == {0o600}


async def test_every_commit_is_synced_to_the_disk_before_it_is_answered(store: SqliteStore) -> None:
    pragmas = ("synchronous", "journal_mode", "page_size", "secure_delete", "wal_autocheckpoint")

    found = await store.hands.write(lambda db: [db.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas])

    assert found == [2, "wal", 8_192, 0, 0]


async def test_a_file_that_is_no_database_is_named_with_what_to_do(home: SqliteHome) -> None:
    home.folder.mkdir()
    home.file.write_bytes(b"this is not a database at all, whatever its name says it is......" * 40)

    with pytest.raises(StoreUnavailable, match=rf"{home.file} is damaged.*\.recover"):
        await home.open()


async def test_a_file_of_another_version_is_refused(home: SqliteHome, store: SqliteStore) -> None:
    await store.close()
    home.ask("UPDATE meta SET value = 7 WHERE name = 'schema_version'")

    with pytest.raises(StoreUnavailable, match=r"schema version 7, this cqs-server reads version 1"):
        await home.open()


async def test_a_database_of_another_program_is_refused(home: SqliteHome) -> None:
    home.folder.mkdir()
    home.ask("CREATE TABLE bookmarks (url)")

    with pytest.raises(StoreUnavailable, match="another program"):
        await home.open()


async def test_a_directory_that_can_not_be_made_is_named(tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreUnavailable, match=str(tmp_path / "file" / "data")):
        await SqliteStore(tmp_path / "file" / "data", clock).open()


@pytest.mark.parametrize("column", ["body", "meta", "grp", "sequence", "visible_ms", "tail", "checksum", "queue"])
async def test_a_damaged_row_is_left_out_and_logged_and_its_neighbours_are_read(
    home: SqliteHome, store: SqliteStore, queue: Queue, make: Maker, column: str
) -> None:
    messages = [make.message(f"body {number}", sender_id="me", group="a") for number in range(3)]
    await store.append(queue, messages)
    value = b"hacked" if column in ("body", "meta", "grp") else queue.storage_id if column == "queue" else 99
    if column == "queue":
        home.ask("UPDATE messages SET body = 'other' WHERE id = ?", messages[1].address >> 60)
    else:
        home.ask(f"UPDATE messages SET {column} = ? WHERE id = ?", value, messages[1].address >> 60)

    with capture_logs() as logs:
        found = await store.read(queue, addresses_of(messages))

    assert found == [messages[0], messages[2]]
    assert [log["event"] for log in logs if log["log_level"] == "warning"] == ["message_damaged"]


async def test_a_damaged_page_costs_only_the_messages_on_it(
    home: SqliteHome, store: SqliteStore, queue: Queue, make: Maker
) -> None:
    messages = [make.message(f"{number:04}" * 700) for number in range(40)]
    await store.append(queue, messages)
    while not await store.hands.commits.submit(Checkpoint()):
        pass
    wreck_page_of(home, messages[20].body)

    with capture_logs() as logs:
        found = await store.read(queue, addresses_of(messages))

    lost = [message for message in messages if message not in found]
    assert messages[20] in lost
    assert len(lost) <= 3
    assert [log["event"] for log in logs] == ["message_damaged"] * len(lost)


async def test_a_store_with_a_damaged_page_does_not_open_and_says_what_to_do(
    home: SqliteHome, store: SqliteStore, queue: Queue, make: Maker
) -> None:
    messages = [make.message(f"{number:04}" * 700) for number in range(40)]
    await store.append(queue, messages)
    await store.close()
    wreck_page_of(home, messages[20].body)

    with pytest.raises(StoreUnavailable, match=rf"{home.file} is damaged .*restore a copy, or .*\.recover"):
        await home.open()


async def test_a_file_that_was_deleted_or_replaced_takes_nothing_until_it_is_back(
    home: SqliteHome, store: SqliteStore, queue: Queue, make: Maker
) -> None:
    before, refused, after = make.messages(3)
    await store.append(queue, [before])
    aside = home.file.rename(home.file.with_name("aside"))

    with pytest.raises(StoreUnavailable, match="was deleted or replaced"):
        await store.append(queue, [refused])
    home.file.write_bytes(aside.read_bytes())
    with pytest.raises(StoreUnavailable, match="was deleted or replaced"):
        await store.delete(queue, [before.address])
    aside.rename(home.file)
    await store.append(queue, [after])

    assert await held(store, queue) == addresses_of([before, after])


async def test_a_drop_forgets_old_drops_without_a_look_at_the_others_also_in_an_older_file(home: SqliteHome) -> None:
    """With a scan, 100,000 drops within a minute ended up taking 5 ms each."""
    await (await home.open()).close()
    with closing(sqlite3.connect(home.file)) as older:
        older.execute("DROP INDEX dropped_by_time")
    await (await home.open()).close()

    with closing(sqlite3.connect(home.file)) as connection:
        (plan,) = connection.execute("EXPLAIN QUERY PLAN DELETE FROM dropped WHERE dropped_ms <= 1").fetchall()
    assert "SEARCH dropped USING" in plan[-1]
