"""The circuit breaker of one Redis server, step by step on a manual clock."""

from __future__ import annotations

import random

import pytest

from cqs.cluster.breaker import FAILURES_MAX, PAUSE_MAX_MS, PAUSE_MIN_MS, Breaker


@pytest.fixture
def breaker() -> Breaker:
    return Breaker(random.Random(1))


@pytest.fixture
def opened(breaker: Breaker) -> Breaker:
    """Returns a breaker that opened at time 0."""
    for _ in range(FAILURES_MAX):
        breaker.failed(0)
    return breaker


def test_few_failures_leave_it_closed(breaker: Breaker) -> None:
    for _ in range(FAILURES_MAX - 1):
        breaker.failed(0)

    assert not breaker.is_open
    assert breaker.may_call(0)


def test_success_in_between_forgets_failures(breaker: Breaker) -> None:
    for _ in range(FAILURES_MAX * 2):
        breaker.failed(0)
        breaker.succeeded()

    assert breaker.may_call(0)


def test_failures_in_a_row_open_it(opened: Breaker) -> None:
    assert opened.is_open
    assert not opened.may_call(0)
    assert not opened.may_call(PAUSE_MIN_MS / 2 - 1)


def test_one_probe_after_the_pause(opened: Breaker) -> None:
    assert opened.may_call(PAUSE_MIN_MS)
    assert not opened.may_call(PAUSE_MIN_MS)
    assert not opened.may_call(PAUSE_MIN_MS * 100)


def test_good_probe_closes_it(opened: Breaker) -> None:
    opened.may_call(PAUSE_MIN_MS)

    opened.succeeded()

    assert not opened.is_open
    assert opened.may_call(PAUSE_MIN_MS)
    assert opened.may_call(PAUSE_MIN_MS)


def test_bad_probe_opens_it_for_longer(opened: Breaker) -> None:
    opened.may_call(PAUSE_MIN_MS)

    opened.failed(PAUSE_MIN_MS)

    assert not opened.may_call(PAUSE_MIN_MS + PAUSE_MIN_MS - 1)
    assert opened.may_call(PAUSE_MIN_MS + PAUSE_MIN_MS * 2)


def test_pause_has_an_upper_bound(opened: Breaker) -> None:
    now_ms = 0.0
    for _ in range(20):
        now_ms += PAUSE_MAX_MS
        assert opened.may_call(now_ms)
        opened.failed(now_ms)


def test_probe_that_told_nothing_lets_the_next_one_try(opened: Breaker) -> None:
    assert opened.may_call(PAUSE_MIN_MS)

    opened.abandoned()

    assert opened.is_open
    assert opened.may_call(PAUSE_MIN_MS)
    assert not opened.may_call(PAUSE_MIN_MS)


def test_breakers_of_many_nodes_do_not_probe_together() -> None:
    def first_probe_ms(seed: int) -> int:
        breaker = Breaker(random.Random(seed))
        for _ in range(FAILURES_MAX):
            breaker.failed(0)
        return next(now_ms for now_ms in range(PAUSE_MIN_MS + 1) if breaker.may_call(now_ms))

    assert len({first_probe_ms(seed) for seed in range(20)}) > 10
