"""A window's audit reads the files that can matter to it, and no others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cqs.ids import text_of
from cqs.journal.files import files_of
from spark_jobs.gaps import GapKind
from spark_jobs.reach import Reach
from spark_jobs.window import Window
from tests.spark.at_random import QUEUES, AtRandom
from tests.spark.golden import Golden
from tests.spark.test_night import there_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.audit import Audit

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
START_MS = 1_790_000_000_000
BURSTS, PAUSE_MS, STEPS = 24, 6 * HOUR_MS, 20


class Days:
    """Six days of two servers that go on, in random bursts, each a file. What is not received for a day expires."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        golden = self.golden = Golden(folder, seed=12)
        self.queues = [AtRandom(golden, golden.queue(name)) for name in QUEUES]
        self.finished: dict[Path, int] = {}
        for _ in range(BURSTS):
            for _ in range(STEPS):
                golden.tick(golden.rng.choice((0, 5, 1_500)))
                golden.rng.choice(self.queues).step()
            golden.tick(PAUSE_MS)
            self._expire()
            self._flush()
        began_ms, now_ms = START_MS + 16 * PAUSE_MS, golden.clock.now_ms()
        reach = Reach.of(began_ms, began_ms + DAY_MS, DAY_MS, 0, has_store=True)
        self.window = Window(began_ms, began_ms + DAY_MS, now_ms - 1, reach=reach)
        self.stored = [(queue.queue, one) for queue in self.queues for one in queue.there.values()]

    def _expire(self) -> None:
        for queue in self.queues:
            old = [one for one in queue.there.values() if one.sent_ms < self.golden.clock.now_ms() - 3 * PAUSE_MS]
            for message in old:
                self.golden.node.expired(queue.queue, [message.address])
                del queue.there[message.address]
                queue.last.pop(message.address, None)

    def _flush(self) -> None:
        for journal in self.golden.journals:
            journal.beat()
            journal.flush()
        for file in files_of(self.folder):
            if file.is_finished:
                self.finished.setdefault(file.path, self.golden.clock.now_ms())

    def date(self, times_ms: Mapping[Path, int]) -> None:
        """Sets when these files were last modified."""
        for path, at_ms in times_ms.items():
            os.utime(path, ns=(at_ms * 1_000_000, at_ms * 1_000_000))

    def audited(self, spark: SparkSession, output: Path) -> Audit:
        from spark_jobs.audit import Rules, audit

        there = there_of(spark, self.stored)
        return audit(spark, [str(self.folder)], str(output), Rules(has_all_nodes=True, window=self.window), there)


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Days:
    return Days(tmp_path_factory.mktemp("days") / "journal")


def test_window_has_the_verdict_and_the_figures_that_it_has_when_everything_is_read(
    spark: SparkSession, tmp_path: Path, days: Days
) -> None:
    """The second time, the files that lie too far from the window contain nothing that can be read."""
    days.date(dict.fromkeys(days.finished, days.golden.clock.now_ms()))
    whole = days.audited(spark, tmp_path / "whole")
    days.date(days.finished)
    far = sorted(path for path, at_ms in days.finished.items() if at_ms < days.window.reach.files_from_ms)
    unread = [path for path, after in pairwise(far) if path.name[:6] == after.name[:6]]
    kept = {path: path.read_bytes() for path in unread}
    for path in unread:
        path.write_bytes(b"no journal")
    days.date(days.finished)

    near = days.audited(spark, tmp_path / "near")
    for path, text in kept.items():
        path.write_bytes(text)

    assert (whole.unread, near.unread) == (0, len(unread))
    assert len(unread) == 16
    assert near.totals == whole.totals
    assert near.tables == whole.tables
    assert whole.totals.acknowledged > 40
    assert whole.totals.found
    assert (near.verdict.state, near.verdict.lost) == (whole.verdict.state, whole.verdict.lost)
    assert (near.integrity.gaps, near.integrity.before, near.integrity.after) == ([], [], [])
    *reasons, told, last = near.verdict.reasons
    assert (*reasons, last) == whole.verdict.reasons
    assert told == "16 files were not read: what happened before 2026-09-24T02:13:20Z can't matter"


def test_gap_in_what_is_read_is_one_and_a_gap_before_is_none(spark: SparkSession, tmp_path: Path, days: Days) -> None:
    from spark_jobs.events import read_journal

    days.date(days.finished)
    files = sorted(days.finished)
    gone = files[0], files[-6]
    for number, path in enumerate(gone):
        path.rename(tmp_path / str(number))

    journal = read_journal(spark, [days.folder.as_uri()], str(tmp_path / "stage"), days.window.reach)
    for number, path in enumerate(gone):
        (tmp_path / str(number)).rename(path)

    judged = days.window.judged(journal.integrity)
    assert journal.unread == 15
    assert [(gap.kind, gap.node) for gap in judged.gaps] == [(GapKind.MISSING, "node-b")]
    assert (judged.before, judged.after) == ([], [])


def test_times_of_files_that_contradict_their_lines_are_not_believed(
    spark: SparkSession, tmp_path: Path, days: Days, capsys: pytest.CaptureFixture[str]
) -> None:
    from spark_jobs.events import read_journal

    days.date(dict.fromkeys(days.finished, 0))
    journal = read_journal(spark, [str(days.folder)], str(tmp_path / "stage"), days.window.reach)

    assert journal.unread == 0
    assert days.window.judged(journal.integrity).is_whole
    assert "everything is read, since the times of some files differ" in capsys.readouterr().err


def test_message_that_is_too_old_for_what_was_read_is_a_doubt(spark: SparkSession, tmp_path: Path) -> None:
    from spark_jobs.within import too_old_for

    golden = Golden(tmp_path, seed=3)
    old = golden.message(golden.queue("q"))
    golden.tick(2 * DAY_MS)
    now_ms = golden.clock.now_ms()
    young = golden.message(golden.queue("q"))
    window = Window(now_ms, now_ms + HOUR_MS, now_ms + HOUR_MS, reach=Reach(from_ms=now_ms - DAY_MS))
    rows = [
        (event, text_of(one.address), at_ms)
        for one in (old, young)
        for event, at_ms in (("received", now_ms), ("deleted", now_ms), ("received", now_ms - 1))
    ]
    events = spark.createDataFrame(rows, "event string, address string, at_ms long")

    assert too_old_for(window, events, None) == 1
    assert too_old_for(window, events.where("event = 'deleted'"), None) == 0
    assert too_old_for(window, events.limit(0), events.select("address")) == 1
