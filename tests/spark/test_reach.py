"""Which files of a journal a window's audit needs, by their names and times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spark_jobs.integrity import FileSummary
from spark_jobs.reach import RETENTION_MS, Reach, unread_in

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
START_MS = 1_790_000_000_000
START = "20260921T141320000"


def named(*numbers: int, incarnation: int = 0, start: str = START, node: str = "a") -> list[str]:
    return [f"file:/j/{node}.{start}.{incarnation:013x}.{number:06}.jsonl.gz" for number in numbers]


def unread(modified: Mapping[str, int], **reach: Any) -> list[str]:
    return sorted(unread_in(modified, Reach(**reach)).paths)


def test_files_before_the_last_one_that_was_finished_too_early_are_not_read() -> None:
    files = named(*range(1, 7))
    hours = {path: START_MS + hour * HOUR_MS for hour, path in enumerate(files)}

    found = unread_in(hours, Reach(from_ms=START_MS + 4 * HOUR_MS))

    assert sorted(found.paths) == files[:2]
    assert found.spans == [(files[0], files[1])]
    assert [*found.firsts, *found.lasts] == [files[2]]
    assert unread(hours) == []


def test_file_is_read_that_was_modified_late_and_what_follows_it() -> None:
    files = named(*range(1, 7))
    times = dict.fromkeys(files, START_MS) | {files[2]: START_MS + DAY_MS}

    assert unread(times, from_ms=START_MS + DAY_MS) == files[:1]


def test_clock_difference_keeps_more_files() -> None:
    files = named(1, 2, 3)
    times = {path: START_MS + hour * HOUR_MS for hour, path in enumerate(files)}

    assert unread(times, from_ms=START_MS + 2 * HOUR_MS) == []
    assert unread(times, from_ms=START_MS + 2 * HOUR_MS + 1) == files[:1]
    assert unread(times, from_ms=START_MS + 2 * HOUR_MS + 1, skew_ms=HOUR_MS) == []


def test_last_file_of_an_incarnation_is_read_unless_the_node_started_again() -> None:
    """Nothing else would show that more files followed it, in the window."""
    first, again = named(1, 2), named(1, incarnation=1, start="20260922T000000000")
    other = named(1, node="b", incarnation=2, start="20260922T000000000")
    times = dict.fromkeys((*first, *again, *other), START_MS)
    late = START_MS + 10 * DAY_MS

    assert unread(times, from_ms=late) == first
    assert unread(dict.fromkeys((*first, *other), START_MS), from_ms=late) == first[:1]
    assert unread(times, from_ms=START_MS + 2 * HOUR_MS) == first[:1]


def test_files_begun_too_late_are_not_read_without_a_store() -> None:
    files, next_ones = named(*range(1, 6)), named(1, 2, incarnation=1, start="20260925T000000000")
    times = {path: START_MS + day * DAY_MS for day, path in enumerate((*files, *next_ones))}

    found = unread_in(times, Reach(until_ms=START_MS + DAY_MS + HOUR_MS))

    assert sorted(found.paths) == [*files[3:], *next_ones]
    assert (len(found.firsts), [*found.lasts]) == (0, [files[2]])
    assert unread(dict.fromkeys(next_ones, START_MS), until_ms=START_MS) == []


def test_renamed_files_and_impossible_dates_are_read() -> None:
    odd = ["file:/j/0.jsonl.gz", *named(1, 2, start="20269999T000000000"), *named(1_000_000, 1_000_001)]

    assert unread(dict.fromkeys(odd, 0), from_ms=START_MS, until_ms=START_MS) == []


def test_lines_confirm_what_the_times_of_files_say() -> None:
    files = named(*range(1, 6))
    hours = {path: START_MS + 5 * hour * HOUR_MS for hour, path in enumerate(files)}
    reach = Reach(START_MS + 12 * HOUR_MS, START_MS + 13 * HOUR_MS)
    found = unread_in(hours, reach)
    first, last = FileSummary(files[2], begun_ms=reach.from_ms - 1), FileSummary(files[3], told_ms=START_MS + DAY_MS)

    assert sorted(found.paths) == [files[0], files[1], files[4]]
    assert found.is_confirmed(reach, [first, last])
    assert not found.is_confirmed(reach, [replace(first, begun_ms=reach.from_ms), last])
    assert not found.is_confirmed(reach, [first, replace(last, told_ms=START_MS + 13 * HOUR_MS)])


def test_reach_is_a_message_lifetime_and_with_a_store_everything_later() -> None:
    since_ms, until_ms, life_ms = START_MS, START_MS + DAY_MS, RETENTION_MS + DAY_MS // 2 + 5

    assert Reach.of(since_ms, until_ms, RETENTION_MS, 5, has_store=True) == Reach(since_ms - life_ms, None, 5)
    assert Reach.of(since_ms, until_ms, RETENTION_MS, 5, has_store=False).until_ms == until_ms + life_ms
    assert Reach.of(0, until_ms, RETENTION_MS, 5, has_store=True).from_ms == 0
