"""A rate and a burst, separately for each key, whatever the clock does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cqs.cluster.token_buckets import TokenBuckets


def test_burst_goes_through_at_once_and_the_next_waits_for_a_token() -> None:
    buckets = TokenBuckets(rate=10, burst=3)

    assert [buckets.take("a", 1_000) for _ in range(5)] == [0, 0, 0, 100, 100]


def test_refused_take_costs_nothing() -> None:
    buckets = TokenBuckets(rate=10, burst=1)
    buckets.take("a", 0)

    assert [buckets.take("a", 99) for _ in range(50)] == [1] * 50
    assert buckets.take("a", 100) == 0


def test_steady_rate_is_never_refused() -> None:
    buckets = TokenBuckets(rate=100, burst=1)

    assert {buckets.take("a", now_ms) for now_ms in range(0, 100_000, 10)} == {0}


def test_bucket_fills_up_to_its_burst_and_no_further() -> None:
    buckets = TokenBuckets(rate=2, burst=4)
    buckets.take("a", 0)

    assert [buckets.take("a", 3_600_000) for _ in range(5)] == [0, 0, 0, 0, 500]


def test_keys_do_not_share() -> None:
    buckets = TokenBuckets(rate=1, burst=1)

    assert [buckets.take(key, 0) for key in "abab"] == [0, 0, 1_000, 1_000]


def test_clock_that_is_set_back_makes_nobody_wait_longer_than_an_empty_bucket() -> None:
    buckets = TokenBuckets(rate=1, burst=2)
    for _ in range(2):
        buckets.take("a", 3_600_000)

    assert buckets.take("a", 0) == 1_000
    assert buckets.take("a", 1_000) == 0


def test_so_many_keys_are_kept_and_the_one_unused_for_longest_is_forgotten() -> None:
    buckets = TokenBuckets(rate=1, burst=1, keys_max=2)
    for key in "aba":
        buckets.take(key, 0)
    buckets.take("c", 0)

    assert len(buckets) == 2
    assert [buckets.take(key, 0) for key in "acb"] == [1_000, 1_000, 0]


@given(
    rate=st.integers(1, 2_000),
    burst=st.integers(1, 50),
    steps_ms=st.lists(st.integers(0, 300), min_size=1, max_size=200),
)
def test_in_any_stretch_no_more_than_burst_and_rate_allow(rate: int, burst: int, steps_ms: list[int]) -> None:
    buckets = TokenBuckets(rate=rate, burst=burst)
    now_ms, taken_at = 1_000_000, []
    for step_ms in steps_ms:
        now_ms += step_ms
        wait_ms = buckets.take("a", now_ms)
        if wait_ms == 0:
            taken_at.append(now_ms)
        else:
            assert buckets.take("a", now_ms + wait_ms - 1) > 0

    for place, start_ms in enumerate(taken_at):
        for count, end_ms in enumerate(taken_at[place:], start=1):
            assert count <= burst + (end_ms - start_ms) * rate / 1_000 + 1e-6


@pytest.mark.parametrize("rate", [3, 7, 999, 1_000, 1_001, 33_333])
def test_told_wait_is_long_enough_at_any_rate(rate: int) -> None:
    buckets = TokenBuckets(rate=rate, burst=5)
    now_ms = 123_456_789
    for _ in range(500):
        wait_ms = buckets.take("a", now_ms)
        if wait_ms:
            now_ms += wait_ms
            assert buckets.take("a", now_ms) == 0
