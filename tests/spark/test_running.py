"""A real server is audited under load, as by `python -m spark_jobs`."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cqs import ids
from spark_jobs import running
from spark_jobs.__main__ import _arguments
from spark_jobs.client import Client
from spark_jobs.verdict import State
from tests.integration.process import until
from tests.sdk.server_process import ServerProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.audit import Audit

MARGIN_MS = 3_000
WAITING = 30
ROUND_S = 0.1
"""The pause between rounds of load. Without it, a slow audit would have so much more to read."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    (tmp_path / "data").mkdir()
    process = ServerProcess(tmp_path / "data", "--journal", "full", "--journal-node", "api-1")
    process.start()
    yield process
    process.kill()


@contextmanager
def load(server: ServerProcess) -> Iterator[list[int]]:
    """Sends, receives and deletes until the block ends. Yields a list whose only item counts the deletes so far."""
    done, is_over = [0], threading.Event()

    def run() -> None:
        client = Client(server.url, "busy", random.Random(1))
        url = client.create_queue("busy", 30)
        while not is_over.wait(ROUND_S):
            _send(client, url, 10)
            for message in client.receive(url, 10, 0):
                client.delete(url, message["ReceiptHandle"])
                done[0] += 1
        client.close()

    busy = threading.Thread(target=run)
    busy.start()
    try:
        yield done
    finally:
        is_over.set()
        busy.join()


def _send(client: Client, url: str, count: int) -> list[str]:
    """Sends a batch and returns the message ids."""
    entries = [{"Id": f"{number}", "MessageBody": f"body {number}"} for number in range(count)]
    answer = client._call("SendMessageBatch", {"QueueUrl": url, "Entries": entries})
    return [one["MessageId"] for one in answer["Successful"]]


def audited(spark: SparkSession, folder: Path, *options: str) -> Audit:
    from spark_jobs.__main__ import audited

    data = folder / "data"
    given = [str(data / "journal"), "--data-dir", str(data), "--output", str(folder / "audit")]
    return audited(spark, _arguments([*given, "--margin-ms", str(MARGIN_MS), *options]))


def test_server_is_audited_while_it_serves(spark: SparkSession, tmp_path: Path, server: ServerProcess) -> None:
    client = Client(server.url, "c", random.Random(2))
    url = client.create_queue("waiting", 30)
    waiting = [name for _ in range(WAITING // 10) for name in _send(client, url, 10)]
    with load(server) as done:
        begun_ms, before = running.now_ms(), done[0]
        until(lambda: done[0] > before and running.now_ms() - begun_ms > 2 * MARGIN_MS)

        sound = audited(spark, tmp_path, "--since", "1h")

        address = ids.parse(waiting[7])
        assert address is not None
        with closing(sqlite3.connect(tmp_path / "data" / "messages.db", timeout=30)) as file, file:
            file.execute("DELETE FROM messages WHERE id = ?", (ids.key_of(address),))
        lossy = audited(spark, tmp_path, "--since", "1h")

    assert (sound.verdict.state, sound.verdict.lost) == (State.PROVEN, 0)
    assert sound.totals.acknowledged > WAITING
    assert sound.totals.deleted > 0
    assert (lossy.verdict.state, lossy.verdict.lost) == (State.VIOLATED, 1)
    assert lossy.verdict.reasons[0] == "1 acknowledged message is lost"
    assert [row["address"] for row in lossy.tables["findings"] if row["kind"] == "lost"] == [waiting[7]]
