"""The journal of a real server: complete after a graceful stop, and marked as incomplete after a kill."""

from __future__ import annotations

import random
import time
from pathlib import Path

from cqs.events import EventName
from cqs.journal.files import files_of
from spark_jobs.client import Client, Content
from tests.sdk.server_process import ServerProcess
from tests.unit.journal_bench import lines_of

_WRITTEN_S_MAX = 240
"""The recorder runs in idle time, of which a busy machine has little."""


def play(server: ServerProcess, count: int) -> None:
    client = Client(server.url, "c", random.Random(1))
    url = client.create_queue("orders", 30)
    for index in range(count):
        client.send(url, f"body {index}", Content("run", "s", index, True))
    for message in client.receive(url, 10, 0):
        client.delete(url, message["ReceiptHandle"])
    client.close()


def test_killed_server_leaves_a_file_without_an_end_and_the_next_one_finishes_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    server = ServerProcess(tmp_path / "data", "--journal", "full", "--journal-node", "api-1")
    folder = tmp_path / "data" / "journal"
    server.start()
    play(server, 3)
    until_s = time.monotonic() + _WRITTEN_S_MAX
    while len(lines_of(files_of(folder)[0].path)) < 10 and time.monotonic() < until_s:
        time.sleep(0.02)
    server.kill()
    server.start()
    play(server, 2)
    assert server.stop() == 0

    killed, ended = files_of(folder)
    assert (killed.is_finished, ended.is_finished) == (True, True)
    assert killed.incarnation != ended.incarnation
    first, second = lines_of(killed.path), lines_of(ended.path)
    events = [line.event for line in first]
    assert events == [EventName.OPENED, *[EventName.SENT] * 3, *[EventName.RECEIVED] * 3, *[EventName.DELETED] * 3]
    assert [line.number for line in first] == list(range(1, 11))
    assert [(line.run, line.sender, line.index) for line in first[1:4]] == [("run", "s", place) for place in range(3)]
    assert len({line.call for line in first[4:7]}) == 1
    assert second[-1].event is EventName.CLOSED
    assert second[-1].counts["sent"] == 2
    assert {line.node for line in first + second} == {"api-1"}
