"""Charts of fixed size: sums add up, peaks are kept, gaps are gaps."""

from __future__ import annotations

import random

import pytest

from cqs.metrics.rings import RANGES, RESOLUTIONS, SAMPLE_S, Ring

FIELDS = (("sent",), ("visible",))
NOW_S = 1_700_000_400
"""A multiple of all periods but the longest."""


def ring() -> Ring:
    return Ring(*FIELDS)


def test_sums_add_up_and_peaks_are_kept_within_a_period() -> None:
    one = ring()

    one.add(NOW_S, [3, 10])
    one.add(NOW_S + 4, [2, 7])

    assert one.chart(5, NOW_S).rows == [[5, 10]]


def test_period_without_a_sample_is_empty() -> None:
    one = ring()

    one.add(NOW_S, [3, 1])
    one.add(NOW_S + 10, [4, 1])

    chart = one.chart(15, NOW_S + 10)
    assert chart.rows == [[3, 1], [None, None], [4, 1]]
    assert (chart.start_s, chart.period_s) == (NOW_S, 5)


def test_old_samples_make_room_and_do_not_come_back() -> None:
    one = ring()

    one.add(NOW_S, [1, 1])
    one.add(NOW_S + 600, [2, 2])

    rows = one.chart(600, NOW_S + 600).rows
    assert len(rows) == 120
    assert rows[-1] == [2, 2]
    assert all(row == [None, None] for row in rows[:-1])


def test_long_silence_leaves_nothing_in_the_fine_ring_and_the_past_in_the_coarse_one() -> None:
    one = ring()

    one.add(NOW_S, [7, 1])
    one.add(NOW_S + 86_400, [1, 1])

    assert [row for row in one.chart(600, NOW_S + 86_400).rows if row[0] is not None] == [[1, 1]]
    assert [row for row in one.chart(RANGES["7d"], NOW_S + 86_400).rows if row[0] is not None] == [[7, 1], [1, 1]]


def test_chart_of_an_hour_is_by_minutes_and_of_a_week_by_half_hours() -> None:
    one = ring()

    for sample in range(720):
        one.add(NOW_S + sample * 5, [1, sample])

    end_s = NOW_S + 3_595
    hour, week = one.chart(RANGES["1h"], end_s), one.chart(RANGES["7d"], end_s)
    assert (hour.period_s, len(hour.rows), sum(row[0] or 0 for row in hour.rows)) == (60, 60, 720)
    assert (week.period_s, len(week.rows), sum(row[0] or 0 for row in week.rows)) == (1_800, 336, 720)
    assert week.rows[-1][1] == 719


def test_every_range_is_covered_by_a_resolution() -> None:
    assert max(RANGES.values()) == max(period_s * size for period_s, size in RESOLUTIONS)


@pytest.mark.parametrize("back_s", [300, 3_600, 400 * 86_400])
def test_a_clock_that_steps_back_goes_on_from_there(back_s: int) -> None:
    one, now_s = ring(), NOW_S - back_s
    one.add(now_s, [1, 5])

    one.add(NOW_S, [10, 50])
    one.add(now_s, [2, 6])
    one.add(now_s + 5, [4, 7])

    kept = 1 if back_s == 300 else 0
    assert one.chart(10, now_s + 5).rows == [[2 + kept, 6], [4, 7]]
    assert one.recent(now_s + 5) == {"sent": 6 + kept, "visible": 7}
    assert all(row == [None, None] for row in one.chart(600, NOW_S).rows[-30:])


def test_size_does_not_grow() -> None:
    one = ring()
    size = one.size_bytes

    for sample in range(5_000):
        one.add(NOW_S + sample * 60, [1, 1])

    assert one.size_bytes == size == 816 * 2 * 4


def test_last_ten_minutes_are_summed() -> None:
    one = ring()

    one.add(NOW_S - 601, [100, 100])
    one.add(NOW_S - 590, [3, 8])
    one.add(NOW_S, [4, 2])

    assert one.recent(NOW_S) == {"sent": 7, "visible": 8}


def test_empty_ring_is_empty() -> None:
    assert ring().recent(NOW_S) == {"sent": 0, "visible": 0}
    assert ring().chart(10, NOW_S).rows == [[None, None], [None, None]]


@pytest.mark.parametrize("range_s", [60, 600, 1_860, 604_800])
def test_a_series_is_a_column_of_the_chart(range_s: int) -> None:
    rng, made, now_s = random.Random(range_s), Ring(("sent", "deleted"), ("visible",)), 1_000_000
    assert made.series((0, 2), range_s, now_s) == columns(made, range_s, now_s)
    for _ in range(400):
        now_s += rng.choice((SAMPLE_S, SAMPLE_S, SAMPLE_S, 4 * SAMPLE_S, 700))
        made.add(now_s, [rng.randrange(9), 1, 2])
        for later_s in (now_s - SAMPLE_S, now_s, now_s + 30, now_s + 1_000_000):
            assert made.series((0, 2), range_s, later_s) == columns(made, range_s, later_s)


def columns(made: Ring, range_s: int, now_s: int) -> list[list[float | None]]:
    """The first and the third field, as the chart has them."""
    rows = made.chart(range_s, now_s).rows
    return [[row[0] for row in rows], [row[2] for row in rows]]
