"""The maintenance of the SQLite store: sweeps, checkpoints, freeing of disk space, and removal of old records."""

from __future__ import annotations

from functools import partial

import pytest

from cqs.message import Attribute
from cqs.queue import Queue
from cqs.store import claims
from cqs.store.interface import Move
from cqs.store.sqlite import claims as claim_rows
from cqs.store.sqlite import upkeep
from cqs.store.sqlite.store import SqliteStore
from cqs.store.windows import Expired
from cqs.testing.clock import ManualClock
from tests.contract.sqlite_home import BrokenConnection, SqliteHome, next_commit
from tests.contract.store_claims_suite import send
from tests.contract.store_home import WINDOW_MS, Maker, addresses_of, held, lease_of, purged, scanned, stored_of

MIB = 1 << 20


def rows(home: SqliteHome, table: str) -> object:
    return home.ask(f"SELECT count(*) FROM {table}")[0][0]


async def test_what_a_purge_left_is_swept_without_touching_others(
    home: SqliteHome, store: SqliteStore, queue: Queue, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "GARBAGE_BATCH", 7)
    other = await store.create(make.queue("other"))
    emptied = purged(queue)
    old, kept, new = make.messages(40), make.messages(3), make.messages(2)
    await store.append(queue, old)
    await store.append(other, kept)
    await store.lease(queue, [lease_of(message) for message in old])

    await store.save(emptied)
    await store.append(emptied, new)
    await store.swept()

    assert rows(home, "messages") == 5
    assert rows(home, "leases") == 0
    assert await held(store, other) == addresses_of(kept)
    assert await held(store, emptied) == addresses_of(new)


async def test_what_a_dropped_queue_left_is_swept_also_after_a_crash(
    home: SqliteHome, store: SqliteStore, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = await store.create(make.fifo())
    for number in range(20):
        await send(store, fifo, make, str(number))
    monkeypatch.setattr(store._upkeep, "sweep", lambda storage_ids: None)
    await store.drop(fifo, 1)

    crashed = await home.crash(store)
    await crashed.swept()

    assert [rows(home, table) for table in ("messages", "claims", "sequences")] == [0, 0, 0]


async def test_leases_without_a_message_are_swept_at_the_next_start(
    home: SqliteHome, store: SqliteStore, queue: Queue, make: Maker
) -> None:
    there = make.message()
    await store.append(queue, [there])
    await store.lease(queue, [lease_of(there), *map(lease_of, make.messages(10))])

    reopened = await home.reopen(store)
    await reopened.swept()

    assert rows(home, "leases") == 1


async def test_a_message_deleted_soon_after_its_receive_costs_no_write_for_the_lease(
    store: SqliteStore, queue: Queue, make: Maker
) -> None:
    messages = make.messages(3)
    target = await store.create(make.queue("target"))
    await store.append(queue, messages)
    watched = BrokenConnection(store, "nothing", 0)

    store.lease_soon(queue, [lease_of(message) for message in messages[:2]])
    await store.delete(queue, addresses_of(messages[:2]))
    store.lease_soon(queue, [lease_of(messages[2])])
    await store.move(queue, target, [Move(messages[2].address, make.message())])
    await store.close()

    assert not [sql for sql in watched.statements if sql.startswith("INSERT INTO leases")]


async def test_leases_of_a_moment_are_one_job(store: SqliteStore, queue: Queue, make: Maker) -> None:
    messages = make.messages(20)
    await store.append(queue, messages)
    await store.swept()
    committed = next_commit(store)

    for message in messages:
        store.lease_soon(queue, [lease_of(message)])
    jobs = await committed

    assert jobs == 1
    assert await scanned(store, queue) == [stored_of(message, lease_of(message)) for message in messages]


async def test_ended_windows_are_forgotten_and_the_last_sequence_is_not(
    home: SqliteHome, store: SqliteStore, make: Maker, clock: ManualClock
) -> None:
    fifo = await store.create(make.fifo())
    for number in range(10):
        last, message = await send(store, fifo, make, str(number))
        await store.delete(fifo, [message.address])
    clock.advance_ms(WINDOW_MS)
    await store.claim(fifo, [make.wanted("")], WINDOW_MS)
    clock.advance_ms(-24 * 3_600_000)

    reopened = await home.reopen(store)
    (claim,) = await reopened.claim(fifo, [make.wanted("")], WINDOW_MS)

    assert rows(home, "claims") == 0
    assert claim.sequence > last.sequence


async def test_windows_that_end_after_their_queue_was_deleted_leave_nothing(
    home: SqliteHome, store: SqliteStore, make: Maker, clock: ManualClock
) -> None:
    gone, there = await store.create(make.fifo()), await store.create(make.queue("there.fifo"))
    await send(store, gone, make, "a")
    await store.drop(gone, clock.now_ms())
    clock.advance_ms(WINDOW_MS)
    await store.claim(there, [make.wanted("")], WINDOW_MS)
    await store.swept()
    await store.create(make.queue("later"))
    left = rows(home, "claims"), rows(home, "sequences")

    assert left == (0, 0)


async def test_sequences_that_an_earlier_version_left_of_deleted_queues_are_deleted(
    home: SqliteHome, store: SqliteStore, make: Maker
) -> None:
    fifo = await store.create(make.fifo())
    for uid in (1, fifo.uid):
        await store.hands.write(partial(claim_rows.forget, Expired([], {uid: 7})))

    reopened = await home.reopen(store)
    await reopened.swept()

    assert home.ask("SELECT queue_uid FROM sequences") == [(fifo.uid,)]


async def test_an_id_that_is_used_anew_leaves_nothing_of_its_ended_window(
    home: SqliteHome, store: SqliteStore, make: Maker, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "EXPIRED_BATCH_MAX", 1)
    fifo = await store.create(make.fifo())
    for dedup_id in ("a", "b"):
        await send(store, fifo, make, dedup_id)
    clock.advance_ms(WINDOW_MS)
    await send(store, fifo, make, "b")
    clock.advance_ms(WINDOW_MS)

    for _ in range(3):
        await store.claim(fifo, [make.wanted("")], WINDOW_MS)
    await home.reopen(store)

    assert rows(home, "claims") == 0


async def test_the_log_stays_bounded_and_space_comes_back(
    home: SqliteHome, store: SqliteStore, queue: Queue, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "WAL_PAGES_MAX", 100)
    monkeypatch.setattr(upkeep, "FREE_PAGES_MIN", 32)
    wal = home.file.with_name(home.file.name + "-wal")
    largest_wal = largest_file = 0
    keeper = make.message("kept")
    await store.append(queue, [keeper])

    for _ in range(4):
        messages = [make.message("x" * 20_000) for _ in range(200)]
        for start in range(0, 200, 10):
            await store.append(queue, messages[start : start + 10])
        for start in range(0, 200, 10):
            await store.delete(queue, addresses_of(messages[start : start + 10]))
        largest_wal = max(largest_wal, wal.stat().st_size)
        largest_file = max(largest_file, home.file.stat().st_size)
        await store.swept()
    for _ in range(30):
        await store.append(queue, [keeper])
    await store.swept()
    there = await held(store, queue)
    await store.close()

    assert largest_wal < 12 * MIB
    assert largest_file < 16 * MIB
    assert home.file.stat().st_size < MIB
    assert there == [keeper.address]


@pytest.mark.parametrize("is_in_attributes", [False, True])
async def test_the_log_stays_bounded_whatever_the_messages_consist_of_and_when_they_move(
    home: SqliteHome,
    store: SqliteStore,
    queue: Queue,
    make: Maker,
    monkeypatch: pytest.MonkeyPatch,
    is_in_attributes: bool,
) -> None:
    monkeypatch.setattr(upkeep, "WAL_PAGES_MAX", 100)
    wal = home.file.with_name(home.file.name + "-wal")
    target = await store.create(make.queue("target"))
    text = "x" * 100_000
    content = (Attribute("a", "Binary", text.encode()),) if is_in_attributes else ()
    sizes: list[int] = []

    for _ in range(30):
        sent, moved = ([make.message("" if content else text, attributes=content) for _ in range(10)] for _ in "ab")
        await store.append(queue, sent)
        await store.swept()
        sizes.append(wal.stat().st_size)
        await store.move(queue, target, [Move(one.address, new) for one, new in zip(sent, moved, strict=True)])
        await store.swept()
        sizes.append(wal.stat().st_size)

    assert max(sizes) < 12 * MIB


async def test_what_upkeep_could_not_do_is_done_later(
    home: SqliteHome, store: SqliteStore, queue: Queue, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "RETRY_S", 0.01)
    await store.append(queue, make.messages(5))
    BrokenConnection(store, "DELETE FROM messages", 10, times=3)

    await store.save(purged(queue))
    await store.swept()

    assert rows(home, "messages") == 0
