"""The rule of noisy tenants: shares, floors, windows, and what ends the noise."""

from __future__ import annotations

import pytest

from cqs.cache.tenants import NOISY_BUSY_MS_MIN, NOISY_IN_FLIGHT_MIN, WINDOW_MS, BusyMeter, is_noisy

START_MS = 1_000 * WINDOW_MS


def verdict(
    own: BusyMeter, total: BusyMeter, now_ms: int, *, backlog: int = 1, last_send_ms: int | None = None
) -> bool:
    sent_ms = now_ms if last_send_ms is None else last_send_ms
    return is_noisy(own, total, backlog=backlog, last_send_ms=sent_ms, now_ms=now_ms)


def meters(own: int, total: int) -> tuple[BusyMeter, BusyMeter]:
    return BusyMeter(own, START_MS), BusyMeter(total, START_MS)


@pytest.mark.parametrize(
    ("own", "total", "expected"),
    [
        (NOISY_IN_FLIGHT_MIN, NOISY_IN_FLIGHT_MIN, True),
        (NOISY_IN_FLIGHT_MIN - 1, NOISY_IN_FLIGHT_MIN - 1, False),
        (31, 309, True),
        (31, 310, False),
        (1_000, 10_000, False),
        (1_001, 10_000, True),
    ],
)
def test_share_in_flight_above_a_tenth_and_at_least_thirty_is_noisy(own: int, total: int, expected: bool) -> None:
    assert verdict(*meters(own, total), START_MS) is expected


def test_no_backlog_is_never_noisy() -> None:
    assert not verdict(*meters(1_000, 1_000), START_MS, backlog=0)


def test_five_minutes_without_sends_end_the_noise() -> None:
    own, total = meters(1_000, 1_000)
    now_ms = START_MS + WINDOW_MS

    assert verdict(own, total, now_ms, last_send_ms=now_ms - WINDOW_MS + 1)
    assert not verdict(own, total, now_ms, last_send_ms=now_ms - WINDOW_MS)


def test_share_of_processing_time_above_a_tenth_is_noisy() -> None:
    own, total = meters(2, 19)
    now_ms = START_MS + NOISY_BUSY_MS_MIN

    assert verdict(own, total, now_ms)


def test_tenth_of_processing_time_is_not_more_than_a_tenth() -> None:
    own, total = meters(2, 20)

    assert not verdict(own, total, START_MS + NOISY_BUSY_MS_MIN)


def test_trivial_processing_time_is_not_noisy() -> None:
    own, total = meters(1, 1)

    assert not verdict(own, total, START_MS + NOISY_BUSY_MS_MIN)
    assert verdict(own, total, START_MS + NOISY_BUSY_MS_MIN + 1)


def test_processing_time_is_the_number_in_flight_over_time() -> None:
    meter = BusyMeter(0, START_MS)
    meter.change(2, START_MS + 1_000)
    meter.change(3, START_MS + 3_000)
    meter.change(-5, START_MS + 4_000)

    assert meter.busy_ms(START_MS + 60_000) == 2 * 2_000 + 5 * 1_000
    assert meter.in_flight == 0


def test_processing_time_fades_through_the_next_window() -> None:
    meter = BusyMeter(10, START_MS)
    meter.change(-10, START_MS + 60_000)

    assert meter.busy_ms(START_MS + WINDOW_MS) == 600_000
    assert meter.busy_ms(START_MS + WINDOW_MS + WINDOW_MS // 2) == 300_000
    assert meter.busy_ms(START_MS + 2 * WINDOW_MS) == 0


@pytest.mark.parametrize("windows", [1, 2, 3, 50])
def test_steady_load_measures_one_window_of_work(windows: int) -> None:
    meter = BusyMeter(4, START_MS)

    assert meter.busy_ms(START_MS + windows * WINDOW_MS) == 4 * WINDOW_MS


def test_clock_that_steps_back_adds_and_loses_nothing() -> None:
    meter = BusyMeter(1, START_MS)
    meter.change(1, START_MS + 10_000)
    meter.change(-1, START_MS + 2_000)

    assert meter.busy_ms(START_MS + 10_000) == 10_000
    assert meter.in_flight == 1
