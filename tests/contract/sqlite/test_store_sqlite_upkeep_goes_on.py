"""Upkeep outlives what the machine refuses it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from cqs.store.sqlite import upkeep
from tests.contract.sqlite_home import SqliteHome
from tests.contract.store_home import Maker


async def test_without_a_thread_for_a_while_the_log_is_written_back_later(
    home: SqliteHome, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended at the first refusal: the log grew until the disk was full, and the store could not be closed."""
    monkeypatch.setattr(upkeep, "RETRY_S", 0.01)
    monkeypatch.setattr(upkeep, "WAL_PAGES_MAX", 100)
    monkeypatch.setattr(upkeep, "ThreadPoolExecutor", _threads_after(3))
    store = await home.open()
    queue = await store.create(make.queue())

    await store.append(queue, [make.message("x" * 1_000_000)])
    await store.swept()

    assert store.hands.writer.wal_pages < 100
    await home.close()


def _threads_after(refusals: int) -> Callable[..., ThreadPoolExecutor]:
    class Pool(ThreadPoolExecutor):
        left = refusals

        def _adjust_thread_count(self) -> None:
            if self.left:
                self.left -= 1
                raise RuntimeError("can't start new thread")
            super()._adjust_thread_count()

    return Pool
