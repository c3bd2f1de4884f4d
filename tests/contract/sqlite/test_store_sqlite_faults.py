"""What the SQLite store does when writes fail."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.store.interface import Wanted
from cqs.store.sqlite.jobs import Checkpoint
from cqs.store.sqlite.store import SqliteStore
from cqs.testing.clock import ManualClock
from tests.contract.sqlite_home import BrokenConnection, SqliteHome, fill, next_commit, small_disk
from tests.contract.store_home import WINDOW_MS, Maker, addresses_of, held, lease_of, scanned


async def test_a_full_disk_refuses_sends_with_the_reason_and_works_again_when_space_returns(
    home: SqliteHome, store: SqliteStore, queue: Queue, make: Maker
) -> None:
    (pages,) = await store.hands.write(lambda db: db.execute("PRAGMA page_count").fetchone())
    await store.hands.write(lambda db: db.execute(f"PRAGMA max_page_count={pages + 20}").fetchone())
    messages = [make.message("x" * 8_000) for _ in range(60)]

    acknowledged = []
    for message in messages:
        try:
            await store.append(queue, [message])
            acknowledged.append(message)
        except StoreUnavailable as error:
            refusal = str(error)
    await store.hands.write(lambda db: db.execute("PRAGMA max_page_count=100000").fetchone())
    await store.append(queue, messages[-1:])

    assert 0 < len(acknowledged) < 60
    assert "is full, or a quota used up: free space there. Nothing was written." in refusal
    assert await held(store, queue) == addresses_of([*acknowledged, messages[-1]])


async def test_on_a_full_disk_deletes_go_on_beside_failing_sends(
    home: SqliteHome, store: SqliteStore, queue: Queue, make: Maker
) -> None:
    there = make.messages(5)
    await store.append(queue, there)
    (pages,) = await store.hands.write(lambda db: db.execute("PRAGMA page_count").fetchone())
    await store.hands.write(lambda db: db.execute(f"PRAGMA max_page_count={pages}").fetchone())

    results = await asyncio.gather(
        store.append(queue, [make.message("x" * 100_000)]),
        store.delete(queue, addresses_of(there[:3])),
        return_exceptions=True,
    )

    assert isinstance(results[0], StoreUnavailable)
    assert results[1] is None
    assert await held(store, queue) == addresses_of(there[3:])


@pytest.fixture
def disk() -> Iterator[Path]:
    with small_disk() as place:
        yield place


async def test_a_really_full_disk_loses_nothing_and_deletes_go_on_and_space_heals_it(
    clock: ManualClock, make: Maker, disk: Path
) -> None:
    home = SqliteHome(disk / "data", clock)
    store = await home.open()
    queue = await store.create(make.queue())
    acknowledged = make.messages(1_000)
    await store.append(queue, acknowledged)
    await store.hands.commits.submit(Checkpoint())
    filler = disk / "filler"
    fill(filler)

    refusals = []
    for message in (make.message("x" * 60_000) for _ in range(100)):
        try:
            await store.append(queue, [message])
            acknowledged.append(message)
        except StoreUnavailable as error:
            refusals.append(str(error))
    there = await held(store, queue)
    await store.delete(queue, addresses_of(acknowledged[:20]))
    filler.unlink()
    late = make.message("x" * 60_000)
    await store.append(queue, [late])
    reopened = await home.reopen(store)

    assert refusals and all("is full" in refusal for refusal in refusals)
    assert there == addresses_of(acknowledged)
    assert await held(reopened, queue) == addresses_of([*acknowledged[20:], late])
    await home.close()


async def test_a_failing_statement_writes_nothing_and_the_next_commit_works(
    store: SqliteStore, queue: Queue, make: Maker
) -> None:
    first, second, third = make.messages(3)
    await store.append(queue, [first])
    BrokenConnection(store, "DELETE FROM messages", sqlite3.SQLITE_IOERR)

    results = await asyncio.gather(
        store.append(queue, [second]), store.delete(queue, [first.address]), return_exceptions=True
    )
    await store.append(queue, [third])

    assert {type(result) for result in results} <= {StoreUnavailable, type(None)}
    assert isinstance(results[1], StoreUnavailable)
    assert await held(store, queue) == addresses_of([first, *[second][: results[0] is None], third])


async def test_a_failing_commit_may_have_happened_and_repeating_it_is_safe(
    store: SqliteStore, queue: Queue, make: Maker
) -> None:
    messages = make.messages(3)
    BrokenConnection(store, "COMMIT", sqlite3.SQLITE_IOERR, is_done_first=True)

    with pytest.raises(OutcomeUnknown):
        await store.append(queue, messages)
    await store.append(queue, messages)

    assert await held(store, queue) == addresses_of(messages)


async def test_a_lone_message_whose_write_fails_may_have_happened(
    store: SqliteStore, queue: Queue, make: Maker
) -> None:
    BrokenConnection(store, "INSERT OR IGNORE INTO messages", sqlite3.SQLITE_IOERR)

    with pytest.raises(OutcomeUnknown):
        await store.append(queue, [make.message()])


@pytest.mark.parametrize("is_done", [False, True], ids=["not written", "written"])
async def test_retry_of_a_send_of_unknown_outcome_gets_its_real_outcome(
    store: SqliteStore, make: Maker, is_done: bool
) -> None:
    fifo = await store.create(make.fifo())
    message = make.message(group="g", dedup_id="d")
    await store.claim(fifo, [Wanted("", "d", message.address)], WINDOW_MS)
    BrokenConnection(store, "COMMIT", sqlite3.SQLITE_IOERR, is_done_first=is_done)
    with pytest.raises(OutcomeUnknown):
        await store.append(fifo, [message])

    (repeat,) = await asyncio.wait_for(store.claim(fifo, [make.wanted("d")], WINDOW_MS), 60)

    assert repeat.is_new is not is_done
    assert (repeat.address == message.address) is is_done


async def test_a_message_of_unknown_outcome_that_was_received_and_deleted_is_no_new_one_when_it_is_sent_again(
    store: SqliteStore, make: Maker
) -> None:
    fifo = await store.create(make.fifo())
    message = make.message(group="g", dedup_id="d")
    await store.claim(fifo, [Wanted("", "d", message.address)], WINDOW_MS)
    BrokenConnection(store, "COMMIT", sqlite3.SQLITE_IOERR, is_done_first=True)
    with pytest.raises(OutcomeUnknown):
        await store.append(fifo, [message])
    await store.delete(fifo, [message.address])

    (repeat,) = await store.claim(fifo, [make.wanted("d")], WINDOW_MS)

    assert (repeat.address, repeat.is_new) == (message.address, False)


async def test_an_address_in_use_by_another_message_is_never_silently_dropped(
    store: SqliteStore, queue: Queue, make: Maker
) -> None:
    first, good = make.messages(2)
    twin = make.message("twin", address=first.address ^ 1)
    await store.append(queue, [first])

    with pytest.raises(OutcomeUnknown, match="in use by another message"):
        await store.append(queue, [twin])
    await store.append(queue, [good])

    assert await store.read(queue, addresses_of([first, good])) == [first, good]


async def test_a_delete_of_a_twin_of_another_process_does_not_hit_the_message(
    store: SqliteStore, queue: Queue, make: Maker
) -> None:
    message = make.message()
    await store.append(queue, [message])

    await store.delete(queue, [message.address ^ 1])

    assert await held(store, queue) == [message.address]


async def test_a_message_that_is_no_text_fails_alone(store: SqliteStore, queue: Queue, make: Maker) -> None:
    good = make.messages(3)

    results = await asyncio.gather(
        store.append(queue, good[:1]),
        store.append(queue, [make.message("\ud800")]),
        store.append(queue, good[1:]),
        return_exceptions=True,
    )

    assert [type(result) for result in results] == [type(None), StoreUnavailable, type(None)]
    assert await held(store, queue) == addresses_of(good)


async def test_leases_that_could_not_be_written_are_counted_and_logged(
    store: SqliteStore, queue: Queue, make: Maker
) -> None:
    message = make.message()
    await store.append(queue, [message])
    BrokenConnection(store, "INSERT INTO leases", sqlite3.SQLITE_IOERR)

    await store.swept()
    committed = next_commit(store)

    with capture_logs() as logs:
        store.lease_soon(queue, [lease_of(message)])
        await committed

    assert store.commits.failures == 1

    assert [log["event"] for log in logs] == ["background_write_failed"]
    assert (await scanned(store, queue))[0].lease is None
