"""Addresses only increase, sort as texts, and contain time and row."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from cqs import ids
from cqs.testing.clock import ManualClock

_ADDRESSES = st.integers(0, (1 << 122) - 1)


@given(_ADDRESSES, _ADDRESSES)
def test_texts_sort_as_addresses_do_and_say_the_same(first: int, second: int) -> None:
    assert ids.parse(ids.text_of(first)) == first
    assert (ids.text_of(first) < ids.text_of(second)) == (first < second)


@given(_ADDRESSES)
def test_parts_make_the_whole_again(address: int) -> None:
    assert ids.pack(ids.key_of(address), ids.tail_of(address)) == address
    assert ids.ms_of(address) == ids.key_of(address) >> ids.COUNTER_BITS


def test_texts_of_others_are_not_addresses() -> None:
    good = ids.text_of(1 << 100)
    for text in ("", good.upper() if good.upper() != good else "X", good[:-1], good + "0", good.replace("-8", "-4", 1)):
        assert ids.parse(text) is None


def test_addresses_grow_though_the_clock_steps_back_or_stands_still() -> None:
    clock = ManualClock()
    addresses = ids.Addresses(clock, random.Random(1))
    given_out = []
    for step_ms in (0, 0, 5, -1_000, 0, 2_000):
        clock.set_ms(clock.now_ms() + step_ms)
        given_out.append(addresses.next(100))

    assert given_out == sorted(set(given_out))
    assert ids.ms_of(given_out[-1]) == clock.now_ms()


def test_addresses_start_above_what_is_stored() -> None:
    clock = ManualClock()
    stored = ids.Addresses(clock, random.Random(1)).next()
    clock.set_ms(clock.now_ms() - 60_000)
    addresses = ids.Addresses(clock, random.Random(2))

    addresses.raise_above(stored)

    assert addresses.next() > stored


def test_two_processes_never_meet_in_the_same_millisecond() -> None:
    clock = ManualClock()
    one, two = (ids.Addresses(clock, random.Random(seed)) for seed in (1, 2))

    assert not {one.next(4) for _ in range(100)} & {two.next(4) for _ in range(100)}


def test_sends_of_one_moment_share_a_row_and_others_spread() -> None:
    clock = ManualClock()
    addresses = ids.Addresses(clock, random.Random(1))

    together = {ids.row_of(addresses.next(100)) for _ in range(50)}
    spread = set()
    for _ in range(200):
        clock.advance_ms(ids.ROW_MS)
        spread.add(ids.row_of(addresses.next(100)))

    assert len(together) == 1
    assert len(spread) > 50
    assert max(spread) < 100
