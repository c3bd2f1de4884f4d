"""Whether a journal is complete, judged by summaries of its files."""

from __future__ import annotations

import random
from dataclasses import asdict, replace

from spark_jobs.gaps import GapKind
from spark_jobs.integrity import FileSummary, Integrity, condensed, judge


def summary(
    first: int, last: int, *, closed: bool = True, ends: bool = True, path: str = "", incarnation: str = "i"
) -> FileSummary:
    return FileSummary(
        path=path or f"{incarnation}-{first}",
        node="n",
        incarnation=incarnation,
        lines=last - first + 1,
        first=first,
        last=last,
        number_sum=sum(range(first, last + 1)),
        checksum=99,
        closed_lines=last - first if closed else None,
        closed_checksum=99 if closed else None,
        is_last=closed and ends,
        first_ms=first * 10,
        last_ms=last * 10,
        begun_ms=first * 10,
        told_ms=last * 10,
    )


def kinds(integrity: Integrity) -> list[tuple[GapKind, int | None]]:
    return [(gap.kind, gap.lines) for gap in integrity.gaps]


def test_files_that_follow_each_other_are_whole() -> None:
    integrity = judge([summary(11, 20), summary(1, 10), summary(1, 5, incarnation="other")])

    assert integrity.is_whole
    assert integrity.lines == 25
    assert judge([]).is_whole


def test_missing_file_is_a_gap_with_its_time() -> None:
    [gap] = judge([summary(1, 10), summary(16, 20)]).gaps

    assert (gap.kind, gap.lines, gap.from_ms, gap.until_ms) == (GapKind.MISSING, 5, 100, 160)


def test_journal_that_begins_later_was_pruned_or_lost() -> None:
    assert kinds(judge([summary(101, 110)])) == [(GapKind.MISSING, 100)]


def test_last_file_without_a_closing_line_is_an_open_gap() -> None:
    [gap] = judge([summary(1, 10), summary(11, 20, closed=False)]).gaps

    assert (gap.kind, gap.lines, gap.from_ms, gap.until_ms) == (GapKind.NO_END, None, 200, None)


def test_last_file_that_is_gone_is_missed_though_no_number_tells_of_it() -> None:
    rotated = [summary(1, 10, ends=False), summary(11, 20, ends=False)]
    [gap] = judge(rotated).gaps

    assert (gap.kind, gap.lines, gap.from_ms, gap.until_ms) == (GapKind.NO_LAST, None, 200, None)
    assert judge(rotated, is_running=True).is_whole
    assert judge([*rotated, summary(21, 22)]).is_whole


def test_last_file_is_missed_of_a_running_journal_once_another_incarnation_has_followed() -> None:
    rotated = [summary(1, 10, ends=False), summary(11, 20, ends=False)]
    after = replace(summary(1, 30, incarnation="next", ends=False), predecessor="i", begun_ms=250)
    [gap] = judge([*rotated, after], is_running=True).gaps

    assert (gap.kind, gap.incarnation, gap.lines) == (GapKind.NO_LAST, "i", None)
    assert (gap.from_ms, gap.until_ms) == (200, 250)
    assert judge([*rotated, summary(21, 22), after], is_running=True).is_whole


def test_file_that_was_given_up_is_no_gap_when_the_next_goes_on() -> None:
    assert judge([summary(1, 10, closed=False), summary(11, 20)]).is_whole


def test_lines_missing_within_a_file_are_a_gap() -> None:
    assert kinds(judge([replace(summary(1, 10), lines=8, number_sum=40, bad=2)])) == [(GapKind.MISSING, 2)]


def test_changed_line_is_seen_by_the_checksum() -> None:
    assert kinds(judge([replace(summary(1, 10), checksum=98)])) == [(GapKind.DAMAGED, None)]


def test_numbers_that_only_add_up_in_count_are_seen() -> None:
    assert kinds(judge([replace(summary(1, 10), number_sum=54)])) == [(GapKind.DAMAGED, None)]


def test_copies_are_passed_over_and_the_better_one_is_kept() -> None:
    whole, cut = summary(1, 10, path="whole"), summary(1, 8, closed=False, path="cut")

    integrity = judge([cut, whole, replace(whole, path="x-copy")])

    assert integrity.is_whole
    assert (integrity.kept, sorted(integrity.duplicates)) == (["whole"], ["cut", "x-copy"])


def test_file_of_two_incarnations_is_no_copy_of_one_of_them() -> None:
    joined = [summary(1, 10, path="all"), summary(1, 20, path="all", incarnation="other")]

    integrity = judge([*joined, summary(1, 10, path="a"), summary(1, 10, path="z")])

    assert integrity.is_whole
    assert integrity.is_overlapping
    assert "all" not in integrity.duplicates


def test_files_that_share_some_lines_are_told() -> None:
    integrity = judge([summary(1, 10, closed=False), summary(8, 20)])

    assert integrity.is_overlapping
    assert integrity.is_whole


def test_dropped_events_and_unreadable_files_are_gaps() -> None:
    integrity = judge([replace(summary(1, 10), dropped=7), FileSummary("torn", bad=3)])

    assert kinds(integrity) == [(GapKind.UNREADABLE, None), (GapKind.DROPPED, 7)]
    assert (integrity.bad, integrity.missing_text) == (3, "at least 7")
    assert judge([FileSummary("torn", bad=3)]).missing_text == "an unknown number of"


def test_what_was_dropped_when_a_recorder_died_is_no_lower_bound() -> None:
    integrity = judge([summary(1, 10, closed=False), replace(summary(1, 10, incarnation="next"), dropped=7)])

    assert kinds(integrity) == [(GapKind.NO_END, None), (GapKind.DROPPED, 7)]
    assert integrity.missing_text == "about 7"


def test_incarnation_that_another_one_names_and_is_not_there_is_missed() -> None:
    second = replace(summary(1, 9, incarnation="second"), predecessor="first")

    [gap] = judge([second, replace(summary(1, 9, incarnation="third"), predecessor="second")]).gaps

    assert (gap.kind, gap.node, gap.incarnation) == (GapKind.NO_PREDECESSOR, "n", "first")
    assert (gap.lines, gap.from_ms, gap.until_ms) == (None, None, 10)
    assert judge([second, summary(1, 9, incarnation="first")]).is_whole
    assert not judge([second, replace(summary(1, 9, incarnation="first"), node="other")]).is_whole


def test_torn_file_is_told_as_one_and_a_whole_copy_makes_up_for_it() -> None:
    torn = replace(summary(11, 15, closed=False), is_torn=True, path="torn")

    assert kinds(judge([summary(1, 10), torn])) == [(GapKind.TORN, None)]
    assert kinds(judge([torn, summary(1, 10), summary(18, 20)])) == [(GapKind.TORN, None), (GapKind.MISSING, 2)]
    assert judge([torn, summary(1, 10), summary(11, 20)]).is_whole


def test_sampling_is_no_gap_but_not_whole() -> None:
    integrity = judge([replace(summary(1, 10), sampled=100), summary(1, 9, incarnation="all")])

    assert (integrity.sampled, integrity.gaps, integrity.is_whole) == (100, [], False)


def test_files_that_follow_each_other_are_kept_as_one() -> None:
    files = [summary(first, first + 9, ends=False) for first in range(1, 10_001, 10)]

    [one] = condensed(files)

    assert (one.path, one.first, one.last, one.last_ms) == ("i-1", 1, 10_000, 100_000)
    assert judge([one], is_running=True).is_whole


def test_fewer_summaries_are_judged_as_all_are() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        files = [summary(1 + place * 10, 10 + place * 10, ends=False) for place in range(12)]
        for _ in range(rng.randint(0, 4)):
            place = rng.randrange(len(files))
            wrong: list[dict[str, object]] = [
                {"checksum": 98},
                {"dropped": 3},
                {"is_torn": True, "closed_lines": None},
                {"closed_lines": None, "closed_checksum": None},
                {"sampled": 7, "bad": 2, "pruned": 1},
                {"lines": 8, "number_sum": 1},
                {"path": "copy"},
            ]
            files.insert(place, replace(files[place], **rng.choice(wrong)))  # type: ignore[arg-type]
            del files[rng.randrange(len(files))]
        known: list[FileSummary] = []
        for start in range(0, len(files), 3):
            known = condensed([*known, *files[start : start + 3]])

        told, expected = (asdict(judge(some, is_running=True)) for some in (known, files))

        names = ("is_overlapping", "gaps", "sampled", "lines", "bad", "pruned")
        assert {name: told[name] for name in names} == {name: expected[name] for name in names}, seed
