"""A data file with queue definitions that this version can't read: the store serves all other queues."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cqs.store.interface import Unreadable
from cqs.testing.clock import ManualClock
from tests.contract.sqlite_home import SqliteHome
from tests.contract.store_home import Maker


async def test_queues_and_move_tasks_that_can_not_be_read_hide_no_other(tmp_path: Path) -> None:
    clock = ManualClock()
    home, make = SqliteHome(tmp_path / "data", clock), Maker(clock, random.getrandbits(62))
    store = await home.open()
    queue, garbled = make.queue(), make.queue("garbled")
    for one in (queue, garbled):
        await store.create(one)
    home.ask("UPDATE queues SET definition = '{\"name\":' WHERE name = 'garbled'")
    home.ask("INSERT INTO move_tasks VALUES ('h', ?, ?, 1, '[]')", queue.account, queue.name)

    store = await home.reopen(store)

    assert await store.queues() == [queue]
    assert await store.move_tasks() == []
    for refused in (store.find(garbled.key), store.create(garbled)):
        with pytest.raises(Unreadable, match=f"{garbled.account}/garbled"):
            await refused
    assert await store.find(queue.key) == queue
    await store.append(queue, [make.message()])
    await home.close()
