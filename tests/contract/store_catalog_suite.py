"""The contract of every store for queues, dropped names, move tasks and the secret. A backend's test class inherits
this and defines `home`."""

from __future__ import annotations

import msgspec
import pytest

from cqs.queue import Queue, QueueName, Redrive, RedriveAllow, RedrivePermission, Settings
from cqs.store.interface import MOVE_TASKS_KEPT, MoveStatus, MoveTask
from cqs.testing.clock import ManualClock
from tests.contract.store_home import Home, Maker, Store

HOUR_MS = 3_600_000


def task(number: int, source: QueueName, started_ms: int) -> MoveTask:
    return MoveTask(handle=f"task-{number}", source=source, source_arn="arn:source", started_ms=started_ms)


class CatalogContract:
    """Queues, move tasks and the secret."""

    async def test_a_queue_is_found_as_it_was_created(self, home: Home, store: Store, make: Maker) -> None:
        settings = Settings(
            is_fifo=True,
            policy='{"é": 1}',
            redrive=Redrive("arn:x", 3),
            redrive_allow=RedriveAllow(RedrivePermission.BY_QUEUE, ("arn:a", "arn:b")),
        )
        queue = msgspec.structs.replace(make.queue("a.fifo", settings), tags={"team": "ü", "empty": ""})

        await store.create(queue)
        reopened = await home.reopen(store)

        assert await reopened.find(queue.key) == queue
        assert await reopened.queues() == [queue]

    async def test_creating_a_name_that_exists_gives_the_existing_queue(self, store: Store, make: Maker) -> None:
        first = make.queue()
        second = make.queue()

        assert await store.create(first) == first
        assert await store.create(second) == first
        assert await store.queues() == [first]

    async def test_accounts_do_not_share_names(self, store: Store, make: Maker) -> None:
        ours = await store.create(make.queue())
        theirs = await store.create(msgspec.structs.replace(make.queue(), account="111111111111"))

        assert await store.find(ours.key) == ours
        assert await store.find(theirs.key) == theirs

    async def test_an_unknown_queue_is_not_found(self, store: Store) -> None:
        assert await store.find(QueueName("000000000000", "nobody")) is None

    async def test_a_queue_is_saved_over_the_version_below(self, home: Home, store: Store, queue: Queue) -> None:
        changed = msgspec.structs.replace(queue, version=1, settings=Settings(delay_ms=5))

        assert await store.save(changed)
        reopened = await home.crash(store)

        assert await reopened.find(queue.key) == changed

    @pytest.mark.parametrize("version", [0, 2, 9])
    async def test_a_queue_is_not_saved_over_another_version(self, store: Store, queue: Queue, version: int) -> None:
        assert not await store.save(msgspec.structs.replace(queue, version=version, modified_ms=1))
        assert await store.find(queue.key) == queue

    async def test_a_queue_is_not_saved_over_its_successor(self, store: Store, queue: Queue, make: Maker) -> None:
        await store.drop(queue, 1)
        successor = await store.create(make.queue())

        assert not await store.save(msgspec.structs.replace(queue, version=1))
        assert await store.find(queue.key) == successor

    async def test_a_dropped_queue_is_gone_and_dropping_again_says_so(self, store: Store, queue: Queue) -> None:
        assert await store.drop(queue, 1)
        assert not await store.drop(queue, 2)
        assert await store.find(queue.key) is None
        assert not await store.save(msgspec.structs.replace(queue, version=1))

    async def test_a_successor_is_not_dropped_in_its_predecessors_name(
        self, store: Store, queue: Queue, make: Maker
    ) -> None:
        await store.drop(queue, 1)
        successor = await store.create(make.queue())

        assert not await store.drop(queue, 2)
        assert await store.find(queue.key) == successor

    async def test_when_a_name_was_dropped_is_remembered_for_an_hour(
        self, home: Home, store: Store, queue: Queue, clock: ManualClock
    ) -> None:
        dropped_ms = clock.now_ms()
        never = await store.dropped_ms(queue.key)
        await store.drop(queue, dropped_ms)
        reopened = await home.reopen(store)

        clock.advance_ms(HOUR_MS - 1)
        within = await reopened.dropped_ms(queue.key)
        clock.advance_ms(1)

        assert (never, within, await reopened.dropped_ms(queue.key)) == (0, dropped_ms, 0)

    async def test_the_last_drop_of_a_name_counts(
        self, store: Store, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        await store.drop(queue, clock.now_ms())
        clock.advance_ms(1_000)
        await store.drop(await store.create(make.queue()), clock.now_ms())

        assert await store.dropped_ms(queue.key) == clock.now_ms()

    async def test_the_secret_is_made_once(self, home: Home, store: Store) -> None:
        secret = await store.secret()

        reopened = await home.reopen(store)

        assert len(secret) == 32
        assert await reopened.secret() == secret

    async def test_move_tasks_are_kept_newest_first(self, home: Home, store: Store, queue: Queue) -> None:
        tasks = [task(number, queue.key, 1_000 + number) for number in (1, 3, 2)]
        for one in tasks:
            await store.save_move_task(one)

        reopened = await home.reopen(store)

        assert [one.handle for one in await reopened.move_tasks()] == ["task-3", "task-2", "task-1"]

    async def test_a_move_task_is_replaced_by_its_handle(self, store: Store, queue: Queue) -> None:
        first = task(1, queue.key, 1_000)
        done = msgspec.structs.replace(first, status=MoveStatus.COMPLETED, moved=7, failure="é")

        await store.save_move_task(first)
        await store.save_move_task(done)

        assert await store.move_tasks() == [done]

    async def test_the_oldest_move_tasks_of_a_source_are_forgotten(self, store: Store, queue: Queue) -> None:
        other = task(99, QueueName("000000000000", "other"), 1)
        await store.save_move_task(other)
        for number in range(MOVE_TASKS_KEPT + 3):
            await store.save_move_task(task(number, queue.key, 1_000 + number))

        kept = [one.handle for one in await store.move_tasks()]

        assert kept == [f"task-{number}" for number in range(MOVE_TASKS_KEPT + 2, 2, -1)] + ["task-99"]
