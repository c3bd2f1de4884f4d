"""The decisions of the consistency hint: the meaning of a tag, the value of K, and which messages it chooses."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from cqs.cluster.hint import AUTO, FALL_MS, K_MAX, SPREAD, Spread, collided, parse, pick, width

NOW_MS = 1_000_000


@pytest.mark.parametrize(("text", "k"), [("1", 1), ("64", 64), ("1000", 1_000), ("auto", AUTO)])
def test_hint_is_a_number_or_auto(text: str, k: int) -> None:
    assert parse(text) == k


@pytest.mark.parametrize("text", ["", "0", "-1", "1001", "1e2", "01", " 1", "Auto", "٣", "²", "9" * 5_000])
def test_anything_else_is_no_hint(text: str) -> None:
    assert parse(text) is None


def test_auto_is_one_until_something_collides_and_without_rivals() -> None:
    assert width(Spread(), 64, NOW_MS) == 1
    assert width(Spread(500, NOW_MS), 0, NOW_MS) == 1


def test_collision_widens_at_once_and_time_takes_one_after_the_other_away() -> None:
    spread = collided(Spread(), 4, NOW_MS)

    widths = [width(spread, 4, NOW_MS + step * FALL_MS) for step in (0, 1, 2, 4 * SPREAD - 1, 999)]

    assert widths == [4 * SPREAD, 4 * SPREAD - 1, 4 * SPREAD - 2, 1, 1]


def test_collisions_of_one_moment_widen_it_once() -> None:
    spread = Spread()

    for _ in range(10):
        spread = collided(spread, 4, NOW_MS)

    assert width(spread, 4, NOW_MS) == 4 * SPREAD


def test_collision_among_few_does_not_narrow_what_many_made_wide() -> None:
    later_ms = NOW_MS + 10 * FALL_MS

    assert width(collided(Spread(100, NOW_MS), 1, later_ms), 1, later_ms) == 90


def test_auto_is_never_above_the_maximum() -> None:
    assert width(collided(Spread(), 10_000, NOW_MS), 10_000, NOW_MS) == K_MAX


def test_clock_that_steps_back_widens_nothing() -> None:
    assert width(Spread(8, NOW_MS), 64, NOW_MS - 60_000) == 8


def test_one_picks_strictly_the_oldest() -> None:
    assert pick(1, 50, 10, random.Random(1)) == list(range(10))


def test_each_of_the_k_oldest_is_as_likely_and_no_other_comes() -> None:
    rng = random.Random(1)

    seen = Counter(pick(4, 50, 1, rng)[0] for _ in range(4_000))

    assert set(seen) == {0, 1, 2, 3}
    assert max(seen.values()) - min(seen.values()) < 200


@pytest.mark.parametrize(("k", "present", "count"), [(1_000, 3, 10), (4, 12, 10), (16, 0, 10), (3, 1, 1)])
def test_pick_is_in_order_without_repeats_and_within_what_is_there(k: int, present: int, count: int) -> None:
    picked = pick(k, present, count, random.Random(1))

    assert picked == sorted(set(picked))
    assert len(picked) == min(count, present)
    assert all(at < min(present, k + count - 1) for at in picked)
