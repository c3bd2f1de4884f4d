"""The recorder process: what happens to the journal when the recorder dies, its disk fails, or its server exits."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from cqs.clock import SystemClock
from cqs.events import EventName, Line
from cqs.journal import recorder_process
from cqs.journal.buffer import LINES_MAX
from cqs.journal.files import files_of
from cqs.journal.journal import Journal
from cqs.journal.rules import JournalRules
from cqs.message import Message
from tests.integration.test_journal_process import play
from tests.processes import children_of, command_of, runs
from tests.sdk.server_process import ServerProcess
from tests.unit.journal_bench import QUEUE, lines_of

_WITHIN_S = 240
"""The recorder runs in idle time, of which a busy machine has little."""


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_process, "STOP_S_MAX", _WITHIN_S)


@pytest.fixture
async def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Journal]:
    monkeypatch.setattr(recorder_process, "RESTART_S", 0.0)
    journal = Journal(JournalRules(tmp_path, "api-1"), SystemClock())
    await journal.open()
    yield journal
    await journal.close()


def pid_of(journal: Journal) -> int:
    pid = journal.recorder.pid
    assert pid is not None
    return pid


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(_WITHIN_S):
        while not is_true():  # noqa: ASYNC110 nobody is told
            await asyncio.sleep(0.01)


def delete(journal: Journal, count: int) -> None:
    journal.deleted(QUEUE, range(1, count + 1))


def lines_in(folder: Path) -> list[list[Line]]:
    """Returns the lines of each file, oldest file first."""
    return [lines_of(file.path) for file in files_of(folder)]


def events_of(lines: list[Line]) -> list[str]:
    return [line.event.value for line in lines]


def recorders_of(server: ServerProcess) -> list[int]:
    return [pid for pid in children_of(server.pid) if "cqs.journal.recording" in command_of(pid)]


async def test_all_that_was_told_is_written_and_the_process_ends(journal: Journal, tmp_path: Path) -> None:
    recorder = pid_of(journal)
    assert os.sched_getscheduler(recorder) == os.SCHED_IDLE
    for _ in range(100):
        delete(journal, 70)

    await journal.close()
    await journal.close()

    [lines] = lines_in(tmp_path)
    assert (lines[0].event, lines[-1].event, len(lines)) == (EventName.OPENED, EventName.CLOSED, 7_002)
    assert [line.number for line in lines] == list(range(1, 7_003))
    assert lines[-1].counts == {"opened": 1, "deleted": 7_000}
    assert (runs(recorder), journal.dropped, journal.recorder.unreported) == (False, 0, 0)


async def test_a_server_that_stops_does_not_leave_its_recorder_to_idle_time(journal: Journal) -> None:
    recorder = pid_of(journal)
    os.kill(recorder, signal.SIGSTOP)

    closing = asyncio.create_task(journal.close())
    await asyncio.sleep(0)
    scheduler = os.sched_getscheduler(recorder)
    os.kill(recorder, signal.SIGCONT)
    await closing

    assert scheduler == (os.SCHED_OTHER if os.geteuid() == 0 else os.SCHED_IDLE)


async def test_a_signal_to_the_group_does_not_end_a_recorder_that_is_about_to_begin(tmp_path: Path) -> None:
    journal = Journal(JournalRules(tmp_path, "api-1"), SystemClock())
    opening = asyncio.create_task(journal.open())
    await asyncio.sleep(0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(pid_of(journal), number)

    await opening
    await journal.close()

    assert [events_of(lines) for lines in lines_in(tmp_path)] == [["opened", "closed"]]


async def test_what_a_killed_recorder_had_is_counted_and_the_next_one_says_so(journal: Journal, tmp_path: Path) -> None:
    killed = pid_of(journal)
    delete(journal, LINES_MAX)
    await until(lambda: journal.recorder.unreported == 0)
    os.kill(killed, signal.SIGSTOP)
    delete(journal, LINES_MAX)
    assert journal.recorder.unreported == LINES_MAX

    os.kill(killed, signal.SIGKILL)
    await until(lambda: journal.recorder.pid not in (None, killed))
    delete(journal, 3)
    await journal.close()

    assert journal.dropped == LINES_MAX
    first, second = sorted(lines_in(tmp_path), key=len, reverse=True)
    assert events_of(first) == ["opened", *["deleted"] * LINES_MAX]
    assert second[0].incarnation != first[0].incarnation
    assert sorted(events_of(second)) == ["closed", "deleted", "deleted", "deleted", "dropped_events", "opened"]
    assert [line.count for line in second if line.event is EventName.DROPPED_EVENTS] == [LINES_MAX]


async def test_full_disk_loses_what_came_meanwhile_and_says_how_much(journal: Journal, tmp_path: Path) -> None:
    recorder = pid_of(journal)
    _, hard = resource.prlimit(recorder, resource.RLIMIT_FSIZE)
    resource.prlimit(recorder, resource.RLIMIT_FSIZE, (1, hard))
    delete(journal, LINES_MAX)
    await until(lambda: journal.dropped == LINES_MAX)
    resource.prlimit(recorder, resource.RLIMIT_FSIZE, (hard, hard))

    await journal.close()

    assert journal.recorder.pid is None
    told = [line for lines in lines_in(tmp_path) for line in lines]
    assert [line.count for line in told if line.event is EventName.DROPPED_EVENTS] == [LINES_MAX]
    assert told[-1].event is EventName.CLOSED
    assert [line.number for line in told] == list(range(1, len(told) + 1))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
async def test_signals_to_the_whole_group_do_not_end_the_recorder(
    journal: Journal, tmp_path: Path, number: signal.Signals
) -> None:
    os.kill(pid_of(journal), number)

    delete(journal, 1)
    await journal.close()

    assert [events_of(lines) for lines in lines_in(tmp_path)] == [["opened", "deleted", "closed"]]


async def test_a_stuck_recorder_holds_up_nobody_and_costs_no_more_than_the_buffer(
    tmp_path: Path,
) -> None:
    journal = Journal(JournalRules(tmp_path, "api-1", buffer_bytes_max=1_000_000), SystemClock())
    await journal.open()
    os.kill(pid_of(journal), signal.SIGSTOP)
    lines = 0
    message = Message(address=1, body="", sent_ms=1, sender_id="x" * 200)
    while not journal.dropped:
        journal.sent(QUEUE, [message] * LINES_MAX)
        lines += LINES_MAX

    os.kill(pid_of(journal), signal.SIGCONT)
    await journal.close()

    [told] = lines_in(tmp_path)
    assert told[-1].counts["sent"] + journal.dropped == lines
    assert sum(line.count for line in told if line.event is EventName.DROPPED_EVENTS) == journal.dropped


async def test_server_answers_on_when_its_recorder_is_killed(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    server = ServerProcess(tmp_path / "data", "--journal", "full")
    server.start()
    [killed] = recorders_of(server)
    play(server, 2)
    os.kill(killed, signal.SIGKILL)
    play(server, 3)
    await until(lambda: bool(recorders_of(server)) and recorders_of(server) != [killed])
    play(server, 4)
    assert server.stop() == 0

    assert "journal_recorder_died" in server.log
    first, second = lines_in(tmp_path / "data" / "journal")
    assert EventName.CLOSED not in {line.event for line in first}
    assert second[-1].event is EventName.CLOSED
    assert second[-1].counts["sent"] >= 4


async def test_killed_server_leaves_no_recorder_behind(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    server = ServerProcess(tmp_path / "data", "--journal", "full")
    server.start()
    [recorder] = recorders_of(server)

    server.kill()

    await until(lambda: not runs(recorder))
    assert events_of(lines_in(tmp_path / "data" / "journal")[0])[0] == "opened"


async def test_a_journal_that_can_not_be_written_says_so_until_it_can(tmp_path: Path, journal: Journal) -> None:
    assert journal.trouble == ""
    os.kill(pid_of(journal), signal.SIGSTOP)
    shutil.rmtree(tmp_path)
    os.mkfifo(tmp_path)
    os.kill(pid_of(journal), signal.SIGCONT)
    delete(journal, 1)
    await until(lambda: "File exists" in journal.trouble)
    assert journal.trouble.startswith(f"The event journal can't be written to {tmp_path}: ")

    os.unlink(tmp_path)

    await until(lambda: journal.trouble == "")
