"""Real processes are killed with SIGKILL under load: the audit reports what is missing and how many messages it
concerns, and never claims "lost 0"."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cqs.events import EventName, Line
from cqs.journal.buffer import LINES_MAX
from cqs.journal.files import files_of
from spark_jobs.client import Client
from spark_jobs.gaps import GapKind
from spark_jobs.verdict import State, last_line
from tests.integration.process import until
from tests.integration.test_journal_recorder import recorders_of
from tests.processes import hurry, is_stopped, runs
from tests.sdk.server_process import ServerProcess
from tests.unit.journal_bench import lines_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.audit import Audit

BEFORE, UNHEARD = 20, LINES_MAX + 1
WRITTEN_S_MAX = 240
"""The recorder runs in idle time, of which a busy machine has little, unless root runs the tests."""
BEATS_MAX = 20
"""A server writes a sign of life every ten seconds."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    (tmp_path / "data").mkdir()
    process = ServerProcess(tmp_path / "data", "--journal", "full", "--journal-node", "api-1")
    process.start()
    yield process
    if process.is_running:
        process.kill()


def journal_of(server: ServerProcess) -> list[Line]:
    return [line for file in files_of(server._data_dir / "journal") for line in lines_of(file.path)]


def addresses(lines: list[Line], event: EventName) -> set[str]:
    return {line.address for line in lines if line.event is event}


def send(server: ServerProcess, count: int) -> None:
    client = Client(server.url, "c", random.Random(1))
    url = client.create_queue("orders", 30)
    for first in range(0, count, 10):
        entries = [{"Id": f"{index}", "MessageBody": f"body {index}"} for index in range(first, min(count, first + 10))]
        assert len(client._call("SendMessageBatch", {"QueueUrl": url, "Entries": entries})["Successful"]) == len(
            entries
        )
    client.close()


def drain(server: ServerProcess) -> int:
    """Receives and deletes all messages. Returns how many there were."""
    client = Client(server.url, "c", random.Random(1))
    url = client.create_queue("orders", 30)
    count = 0
    while received := client.receive(url, 10, 0):
        entries = [{"Id": one["MessageId"], "ReceiptHandle": one["ReceiptHandle"]} for one in received]
        client._call("DeleteMessageBatch", {"QueueUrl": url, "Entries": entries})
        count += len(received)
    client.close()
    return count


def recorder_that_hears_no_more(server: ServerProcess) -> int:
    """Pauses the recorder with SIGSTOP and returns its pid. Earlier sends are in its file, but at least one message
    acknowledged meanwhile is not: a frame of the buffer is passed on only when it is full."""
    [recorder] = recorders_of(server)
    send(server, BEFORE)
    until(lambda: len(addresses(journal_of(server), EventName.SENT)) == BEFORE, WRITTEN_S_MAX)
    os.kill(recorder, signal.SIGSTOP)
    until(lambda: is_stopped(recorder))
    send(server, UNHEARD)
    return recorder


def audited(spark: SparkSession, folder: Path) -> Audit:
    from spark_jobs.audit import Rules, audit
    from spark_jobs.stored import in_sqlite

    data = folder / "data"
    return audit(
        spark,
        [str(data / "journal")],
        str(folder / "audit"),
        Rules(is_drained=True),
        in_sqlite(spark, str(data)),
    )


def check(found: Audit, lines: list[Line], kinds: set[GapKind]) -> None:
    """Checks that the messages concerned are those of `lines` that were received and deleted, but whose send is in no
    file."""
    unsent = addresses(lines, EventName.DELETED) - addresses(lines, EventName.SENT)
    line = last_line(found.totals, found.verdict, "r")
    assert unsent
    assert {gap.kind for gap in found.integrity.gaps} == kinds
    assert found.verdict.state is State.UNPROVEN
    assert found.verdict.reasons[0].startswith(f"{len(unsent)} messages touched by gaps: ")
    assert " lost unproven " in line
    assert "lost 0" not in line
    assert found.totals.acknowledged == len(addresses(lines, EventName.SENT))


def test_killed_recorder_proves_nothing(spark: SparkSession, tmp_path: Path, server: ServerProcess) -> None:
    killed = recorder_that_hears_no_more(server)
    os.kill(killed, signal.SIGKILL)
    until(lambda: any(hurry(pid) for pid in recorders_of(server) if pid != killed))
    assert drain(server) == BEFORE + UNHEARD
    assert server.stop() == 0

    found, lines = audited(spark, tmp_path), journal_of(server)

    check(found, lines, {GapKind.NO_END, GapKind.DROPPED})
    [dropped] = [gap.lines for gap in found.integrity.gaps if gap.kind is GapKind.DROPPED]
    assert dropped is not None
    missing = BEFORE + UNHEARD - found.totals.acknowledged
    assert missing <= dropped <= missing + BEFORE + BEATS_MAX, "only what it wrote and had not reported yet is too much"
    assert f"about {dropped} events" in found.verdict.reasons[0]


def test_killed_server_proves_nothing(spark: SparkSession, tmp_path: Path, server: ServerProcess) -> None:
    recorder = recorder_that_hears_no_more(server)
    server.kill()
    os.kill(recorder, signal.SIGKILL)
    until(lambda: not runs(recorder))
    server.start()
    assert drain(server) == BEFORE + UNHEARD
    assert server.stop() == 0

    found, lines = audited(spark, tmp_path), journal_of(server)

    check(found, lines, {GapKind.NO_END})
    assert len({line.incarnation for line in lines}) == 2
    assert "an unknown number of events" in found.verdict.reasons[0]
