"""Which parts of a journal belong to a window, and what a running server's journal proves about it."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from spark_jobs.findings import Kind
from spark_jobs.gaps import GapKind
from spark_jobs.integrity import FileSummary, Integrity, judge
from spark_jobs.open_files import behind, copied
from spark_jobs.reach import Reach
from spark_jobs.running import Asked, BadWindow, NotFetched, length_ms, moment, now_ms, read_in_order, refuse_ahead
from spark_jobs.totals import Totals
from spark_jobs.window import Window
from tests.spark.golden import Golden
from tests.spark.test_integrity import summary

WINDOW = Window(since_ms=1_000, until_ms=2_000, needed_ms=2_500)
DAY_MS = 86_400_000
NOW_MS = 1_800_000_000_000


def written(until_ms: int, *, begun_ms: int = 10, incarnation: str = "i", predecessor: str = "") -> FileSummary:
    """A file without a closing line, whose server recorded its latest event at that time."""
    file = summary(1, 9, closed=False, incarnation=incarnation)
    return replace(
        file, first_ms=begun_ms, begun_ms=begun_ms, last_ms=until_ms, told_ms=until_ms, predecessor=predecessor
    )


def judged(*files: FileSummary, window: Window = WINDOW) -> Integrity:
    return window.judged(judge(files))


def test_server_whose_lines_go_on_until_what_is_needed_has_no_gap() -> None:
    whole = judged(written(2_501))

    assert whole.is_whole
    assert (whole.before, whole.after) == ([], [])


def test_server_whose_lines_end_before_what_is_needed_explains_what_looks_wrong() -> None:
    for told_ms in (2_001, 2_500):
        whole = judged(written(told_ms))
        assert whole.is_whole
        assert [gap.kind for gap in whole.after] == [GapKind.NO_END]


def test_server_whose_lines_end_in_the_window_or_before_it_proves_nothing() -> None:
    for told_ms in (500, 1_500, 2_000):
        assert [gap.kind for gap in judged(written(told_ms)).gaps] == [GapKind.NO_END]


def test_killed_server_proves_nothing_until_it_starts_again() -> None:
    def killed(at_ms: int, again_ms: int) -> Integrity:
        return judged(written(at_ms), written(3_000, begun_ms=again_ms, incarnation="again", predecessor="i"))

    assert [gap.until_ms for gap in killed(1_200, 1_300).gaps] == [1_300]
    assert killed(900, 1_000).gaps
    before, after = killed(800, 999), killed(2_100, 2_200)
    assert (before.gaps, [gap.from_ms for gap in before.before]) == ([], [800])
    assert (after.gaps, [gap.from_ms for gap in after.after]) == ([], [2_100])
    assert killed(2_600, 2_700) == replace(killed(2_600, 2_700), gaps=[], before=[], after=[])


def test_file_that_was_just_begun_proves_nothing_that_the_one_before_does_not() -> None:
    """The recorder may lag: earlier events may not be written yet."""
    full = replace(summary(1, 9, ends=False), last_ms=1_900, told_ms=1_500)
    begun = replace(summary(10, 10, closed=False), first_ms=9_000, last_ms=9_000, begun_ms=9_000, told_ms=0)

    [gap] = judged(full, begun).gaps

    assert (gap.kind, gap.from_ms) == (GapKind.NO_END, 1_500)
    assert [gap.kind for gap in judged(full).gaps] == [GapKind.NO_LAST]
    assert [gap.kind for gap in judged(replace(full, told_ms=3_000)).gaps] == []


def test_clock_skew_widens_what_a_gap_touches() -> None:
    skewed = replace(WINDOW, skew_ms=100)

    assert judged(written(2_100), window=skewed).gaps
    assert judged(written(2_600), window=skewed).after
    assert not judged(written(2_601), window=skewed).after


def test_pruned_beginning_is_no_gap_of_a_later_window() -> None:
    def kept_from(begun_ms: int) -> Integrity:
        first = replace(summary(501, 600, ends=False), begun_ms=begun_ms)
        return judged(first, replace(summary(601, 700, closed=False), begun_ms=1_200, told_ms=5_000))

    assert [gap.kind for gap in kept_from(900).before] == [GapKind.MISSING]
    assert not kept_from(900).gaps
    assert [gap.kind for gap in kept_from(1_100).gaps] == [GapKind.MISSING]


def test_events_that_are_missing_where_a_clock_was_set_back_lie_between_both_times() -> None:
    """The events 10 to 19 happened in the window, whatever the clock said before and after them."""
    before = replace(summary(1, 9, ends=False), last_ms=2_900, told_ms=2_900)
    after = replace(summary(20, 29, closed=False), first_ms=500, begun_ms=500, last_ms=5_000, told_ms=5_000)

    [gap] = judged(before, after).gaps

    assert (gap.kind, gap.lines, gap.from_ms, gap.until_ms) == (GapKind.MISSING, 10, 500, 2_900)


def test_events_that_were_dropped_are_missing_since_the_last_one_before() -> None:
    """The disk was full for a while; the file that says so was begun afterwards."""
    before = replace(summary(1, 9, closed=False), told_ms=1_500)
    after = replace(summary(10, 20, closed=False), dropped=7, first_ms=3_000, last_ms=3_500, told_ms=3_500)

    [gap] = judged(before, after).gaps

    assert (gap.kind, gap.from_ms, gap.until_ms) == (GapKind.DROPPED, 1_500, 3_500)


def test_unreadable_file_may_be_of_any_time() -> None:
    assert [gap.kind for gap in judged(written(3_000), FileSummary("torn", bad=3)).gaps] == [GapKind.UNREADABLE]


def asked(**options: object) -> Asked:
    told = {
        "since": None,
        "until": None,
        "margin_ms": 30_000,
        "clock_skew_ms": 5_000,
        "retention": 86_400_000,
        "fetch": "",
    }
    found = Asked.of(argparse.Namespace(**told | options))
    assert found is not None
    return found


def test_times_are_dates_with_a_zone_or_so_long_ago() -> None:
    assert moment("8h")(NOW_MS) == NOW_MS - 8 * 3_600_000
    assert moment("2026-11-29T06:00:00Z")(0) == moment("2026-11-29T07:00:00+01:00")(1) == 1_795_932_000_000
    with pytest.raises(argparse.ArgumentTypeError, match="names no time zone"):
        moment("2026-11-29T06:00:00")
    for text in ("", "yesterday", "0h", "8 h", "1e3h", "٣h"):
        with pytest.raises(argparse.ArgumentTypeError, match="is not a time such as"):
            moment(text)


def test_span_is_a_number_and_a_unit() -> None:
    assert (length_ms("14d"), length_ms("90m")) == (14 * DAY_MS, 5_400_000)
    with pytest.raises(argparse.ArgumentTypeError, match="is not a span such as"):
        length_ms("2026-11-29")


def test_gap_too_early_to_matter_explains_nothing() -> None:
    reached = replace(WINDOW, reach=Reach(from_ms=900))
    first = replace(summary(501, 600, closed=False), told_ms=5_000)

    assert [gap.kind for gap in judged(replace(first, begun_ms=900), window=reached).before] == [GapKind.MISSING]
    assert judged(replace(first, begun_ms=899), window=reached).before == []


def test_window_ends_a_margin_before_the_store_is_read_and_needs_a_margin_after() -> None:
    since_ms, until_ms, life_ms = NOW_MS - 8 * 3_600_000, NOW_MS - 3_600_000, DAY_MS + DAY_MS // 2 + 5_000
    whole = asked(since=moment("8h")).window(NOW_MS, NOW_MS + 60_000)

    reach = Reach(since_ms - life_ms, None, 5_000)
    assert whole == Window(since_ms, NOW_MS - 35_000, NOW_MS + 90_000, 5_000, reach)
    reach = Reach(0, until_ms + life_ms, 5_000)
    assert asked(until=moment("1h")).window(NOW_MS, None) == Window(0, until_ms, until_ms + 30_000, 5_000, reach)


def test_window_that_ends_too_late_is_refused() -> None:
    with pytest.raises(BadWindow, match=r"--until .* is too late"):
        asked(until=moment("34s")).window(NOW_MS, None)
    with pytest.raises(BadWindow, match=r"--since .* is too late"):
        asked(since=moment("34s")).window(NOW_MS, None)
    with pytest.raises(BadWindow, match=r"--until -\d+ ms"):
        asked(until=moment("999999d")).window(NOW_MS, None)
    with pytest.raises(BadWindow, match="is after --until"):
        asked(since=moment("1h"), until=moment("2h")).window(NOW_MS, None)
    assert asked(until=moment("35s")).window(NOW_MS, None).until_ms == NOW_MS - 35_000


def test_files_that_are_written_are_copied_in_whole_lines(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
    (folders[0] / "a.jsonl.open").write_text('{"v":2}\n{"v"')
    (folders[0] / "b.jsonl.gz").write_text("finished")
    (folders[1] / "a.jsonl.open").write_text("{}\n")

    found = copied([*map(str, folders), "hdfs://journals"], tmp_path / "stage")

    assert found == [str(tmp_path / "stage" / name) for name in ("0", "1")]
    assert {path.name: path.read_text() for path in Path(found[0]).iterdir()} == {"a.jsonl.open": '{"v":2}\n'}


def test_what_a_process_has_not_written_yet_is_waited_for(tmp_path: Path) -> None:
    golden = Golden(tmp_path, seed=4)
    served, dead = golden.journals
    queue = golden.queue("orders")
    for journal in golden.journals:
        journal.sent(queue, [golden.message(queue)])
        journal.flush()
    golden.tick(10)
    now = golden.clock.now_ms()
    dead.writing.abandon()

    late = behind([str(tmp_path), "s3://journals"], now)
    served.revealed(queue, 1)
    served.flush()

    assert [name.partition(".")[0] for name in late] == ["node-a"]
    assert behind([str(tmp_path)], now) == []
    assert len(behind([str(tmp_path)], now + 1)) == 1


def test_journals_that_do_not_come_are_told(tmp_path: Path) -> None:
    options = asked(until=moment("1h"), margin_ms=0, clock_skew_ms=0)

    with pytest.raises(NotFetched, match="ended with 3"):
        read_in_order(lambda: None, options, [str(tmp_path)], str(tmp_path / "stage"), "exit 3")
    assert read_in_order(lambda: None, options, [str(tmp_path)], str(tmp_path / "stage"), "true")[0] is None


def test_journals_are_fetched_of_servers_that_run_only() -> None:
    with pytest.raises(BadWindow, match="--fetch requires --since or --until"):
        Asked.of(argparse.Namespace(since=None, until=None, fetch="true"))


def test_window_begins_when_there_is_a_journal() -> None:
    assert str(WINDOW.begun_with(1_500)) == "from 1970-01-01T00:00:01Z until 1970-01-01T00:00:02Z"
    assert [WINDOW.begun_with(began_ms).since_ms for began_ms in (500, 1_500, 9_000)] == [1_000, 1_500, 2_000]


def test_clock_of_a_node_that_is_ahead_is_told() -> None:
    refuse_ahead(now_ms() + 50_000, 60_000)
    with pytest.raises(BadWindow, match="ahead of this one"):
        refuse_ahead(now_ms() + 60_000, 10_000)


def test_what_waits_is_told_beside_what_was_lost_of_earlier_sends() -> None:
    lost = Totals(acknowledged=10, deleted=7, found={Kind.LOST.value: 3}, lost_older=2)

    assert Window(0, 1_000, 2_000).told(lost).endswith(": 10 messages sent, 7 ended, 2 not settled yet")
