"""Password guesses are limited, whatever their source, and others can't lock a user out for long."""

from __future__ import annotations

from admin.throttle import BOOK_MAX, LOCK_MS_MAX, Throttle
from cqs.testing.clock import ManualClock


def test_locks_grow_up_to_a_quarter_of_an_hour() -> None:
    clock = ManualClock()
    throttle = Throttle(clock)
    waits = []
    for _ in range(6):
        while not (wait_ms := throttle.begin("alice", "192.0.2.1")):
            pass
        waits.append(wait_ms // 60_000)
        clock.advance_ms(wait_ms)

    assert waits == [1, 2, 4, 8, 15, 15]


def test_one_address_can_not_try_many_users() -> None:
    throttle = Throttle(ManualClock())

    tries = [throttle.begin(f"user{number}", "2001:db8::1:0") for number in range(20)]

    assert not any(tries)
    assert throttle.begin("another", "2001:db8::2:0") > 0, "an IPv6 neighbour is the same person"
    assert throttle.begin("another", "2001:db8:0:1::1") == 0


def test_many_addresses_can_not_try_one_user_for_long_nor_keep_it_out_for_long() -> None:
    clock = ManualClock()
    throttle = Throttle(clock)
    for number in range(50):
        assert throttle.begin("alice", f"192.0.2.{number}") == 0

    wait_ms = throttle.begin("alice", "198.51.100.1")

    assert 0 < wait_ms <= 60_000
    clock.advance_ms(wait_ms)
    assert throttle.begin("alice", "198.51.100.1") == 0


def test_who_comes_from_an_unknown_address_locks_nobody_else_out() -> None:
    throttle = Throttle(ManualClock())
    for _ in range(5):
        throttle.begin("alice", "")

    assert throttle.begin("alice", "") > 0
    assert throttle.begin("alice", "192.0.2.1") == 0


def test_nobody_gets_further_tries_by_making_names_up() -> None:
    throttle = Throttle(ManualClock())
    free = 0
    for number in range(BOOK_MAX):
        free += throttle.begin("alice", "192.0.2.1") == 0
        throttle.begin(f"nobody{number}", "192.0.2.1")

    assert free == 5


def test_who_is_locked_out_is_not_forgotten_when_many_others_try() -> None:
    throttle = Throttle(ManualClock())
    for _ in range(5):
        throttle.begin("alice", "192.0.2.1")
    for number in range(BOOK_MAX):
        throttle.begin(f"nobody{number}", f"2001:db8:{number:x}::1")

    assert throttle.begin("alice", "192.0.2.1") > 0
    assert throttle.begin("alice", "192.0.2.2") == 0


def test_a_right_password_starts_anew() -> None:
    throttle = Throttle(ManualClock())
    for _ in range(4):
        throttle.begin("alice", "192.0.2.1")

    throttle.forgive("alice", "192.0.2.1")

    assert not any(throttle.begin("alice", "192.0.2.1") for _ in range(5))
    assert LOCK_MS_MAX >= throttle.begin("alice", "192.0.2.1") > 0
