"""A writer process that hangs, because it is stopped or because its disk does not respond."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from cqs.errors import OutcomeUnknown
from cqs.queue import Queue
from cqs.store.sqlite import health, writer_process
from cqs.store.sqlite.store import SqliteStore
from cqs.testing.clock import ManualClock
from tests.contract.sqlite_home import SqliteHome, is_alive, pid_of
from tests.contract.store_home import Maker


@pytest.fixture
def home(tmp_path: Path, clock: ManualClock) -> SqliteHome:
    return SqliteHome(tmp_path / "data", clock, has_writer_process=True)


async def test_a_writer_that_hangs_in_a_commit_does_not_keep_the_store_from_closing(
    store: SqliteStore, queue: Queue, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_process, "STUCK_S_MAX", 0.0)
    await store.swept()
    hanging = pid_of(store)
    os.kill(hanging, signal.SIGSTOP)
    sending = asyncio.ensure_future(store.append(queue, [make.message()]))
    await asyncio.sleep(0)

    await store.close()

    with pytest.raises(OutcomeUnknown, match="writer ended"):
        await sending
    assert not is_alive(hanging)


async def test_an_idle_writer_that_hangs_does_not_keep_the_store_from_closing(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_process, "STOP_S_MAX", 0.1)
    await store.swept()
    hanging = pid_of(store)
    os.kill(hanging, signal.SIGSTOP)

    await store.close()

    assert not is_alive(hanging)


async def test_a_writer_that_hangs_is_told_as_long_as_it_does(
    store: SqliteStore, queue: Queue, make: Maker, home: SqliteHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "STUCK_S", 0.0)
    await store.swept()
    os.kill(pid_of(store), signal.SIGSTOP)
    sending = asyncio.ensure_future(store.append(queue, [make.message()]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    text, is_fatal = health.trouble(home.file, store.hands)
    os.kill(pid_of(store), signal.SIGCONT)
    await sending

    assert is_fatal and "its disk or its writer hangs" in text
    assert health.trouble(home.file, store.hands) == ("", False)
