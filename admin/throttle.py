"""Limits password guessing: each attempt is counted before the password is checked, and refunded if it was right.

    who                       free attempts             then locked for
    one user, one address     5 a minute                1, 2, 4, 8, at most 15 minutes, as long as it continues
    one address               20 a minute               the same
    one user, everywhere      50 in ten minutes         1 minute, so that nobody can lock a user out for long

An IPv6 address counts as its /64, which usually belongs to one person. Everything is bounded: when the table is full,
the least recently used entry is evicted, unlocked entries first. A locked-out client adds no entries; otherwise it
could invent names until the table has forgotten it. Workers of one node report each attempt to each other.
"""

from __future__ import annotations

from collections import OrderedDict
from ipaddress import IPv6Address, IPv6Network
from itertools import islice

from cqs.clock import Clock
from cqs.proxies import address_of

BOOK_MAX, LOOKED_AT_MAX = 20_000, 100
MINUTE_MS = 60_000
LOCK_MS_MAX = 15 * MINUTE_MS


_Key = tuple[str | None, str | None]
"""A user and a network; None = any. Both may be "": no name was given, or the address is unknown."""


class _Rule:
    """A number of attempts per window, then a lock, each time twice as long."""

    def __init__(self, tries: int, window_ms: int, lock_ms_max: int) -> None:
        self.tries = tries
        self.window_ms = window_ms
        self.lock_ms_max = lock_ms_max


_PAIR = _Rule(5, MINUTE_MS, LOCK_MS_MAX)
_ADDRESS = _Rule(20, MINUTE_MS, LOCK_MS_MAX)
_USER = _Rule(50, 10 * MINUTE_MS, MINUTE_MS)


class _Entry:
    __slots__ = ("locked_until_ms", "locks", "since_ms", "tries")

    def __init__(self, now_ms: int) -> None:
        self.tries = 0
        self.since_ms = now_ms
        self.locks = 0
        self.locked_until_ms = 0


class Throttle:
    """Counts login attempts. Belongs to one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._book: OrderedDict[_Key, _Entry] = OrderedDict()

    def begin(self, user: str, address: str) -> int:
        """0: continue, the attempt is counted. Otherwise the remaining lock time in milliseconds, and nothing was
        counted."""
        now_ms = self._clock.now_ms()
        keys = _keys(user, address)
        known = [self._book[key] for key, _ in keys if key in self._book]
        wait_ms = max((entry.locked_until_ms - now_ms for entry in known), default=0)
        if wait_ms > 0:
            return wait_ms
        for key, rule in keys:
            _count(self._entry(key, now_ms), rule, now_ms)
        return 0

    def forgive(self, user: str, address: str) -> None:
        """The password was right: resets the count for this user here, and refunds the attempt in the other counts."""
        for place, (key, _) in enumerate(_keys(user, address)):
            entry = self._book.get(key)
            if entry is None:
                continue
            if place == 0:
                del self._book[key]
            else:
                entry.tries = max(0, entry.tries - 1)

    def _entry(self, key: _Key, now_ms: int) -> _Entry:
        entry = self._book.get(key)
        if entry is None:
            if len(self._book) >= BOOK_MAX:
                self._make_room(now_ms)
            entry = self._book[key] = _Entry(now_ms)
        self._book.move_to_end(key)
        return entry

    def _make_room(self, now_ms: int) -> None:
        oldest = islice(self._book.items(), LOOKED_AT_MAX)
        key = next((key for key, entry in oldest if entry.locked_until_ms <= now_ms), next(iter(self._book)))
        del self._book[key]


def _count(entry: _Entry, rule: _Rule, now_ms: int) -> None:
    if now_ms - entry.since_ms >= rule.window_ms:
        is_quiet = now_ms - max(entry.locked_until_ms, entry.since_ms) >= LOCK_MS_MAX
        entry.locks = 0 if is_quiet else entry.locks
        entry.tries, entry.since_ms = 0, now_ms
    entry.tries += 1
    if entry.tries >= rule.tries:
        entry.locked_until_ms = now_ms + min(MINUTE_MS << min(entry.locks, 10), rule.lock_ms_max)
        entry.locks += 1
        entry.tries, entry.since_ms = 0, entry.locked_until_ms


def _keys(user: str, address: str) -> tuple[tuple[_Key, _Rule], ...]:
    network = _network(address)
    name = user[:100].casefold()
    return (((name, network), _PAIR), ((None, network), _ADDRESS), ((name, None), _USER))


def _network(address: str) -> str:
    found = address_of(address)
    if isinstance(found, IPv6Address):
        return str(IPv6Network((int(found), 64), strict=False))
    return str(found or address)
