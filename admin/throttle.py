"""Guesses of passwords are few: each try is counted before the password is looked at, and given back when it was right.

    who                       tries free of charge      then locked for
    one user, one address     5 a minute                1, 2, 4, 8, at most 15 minutes, as long as it goes on
    one address               20 a minute               the same
    one user, everywhere      50 in ten minutes         1 minute, so that nobody can keep a user out for long

An IPv6 address stands for its /64, which one person has. Everything is bounded: when the book is full the entry goes
that was not used for longest, one that is not locked before one that is. Whoever is locked out writes nothing into it,
or a guesser would make new names up until the book has forgotten him. Workers of one node tell each other of each try.
"""

from __future__ import annotations

from collections import OrderedDict
from ipaddress import IPv6Address, IPv6Network
from itertools import islice

from admin.origins import parsed
from cqs.clock import Clock

BOOK_MAX, LOOKED_AT_MAX = 20_000, 100
MINUTE_MS = 60_000
LOCK_MS_MAX = 15 * MINUTE_MS


class _Rule:
    """So many tries in a window, then locked, each time for twice as long."""

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
    """Counts tries to log in. Belongs to one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._book: OrderedDict[tuple[str, str], _Entry] = OrderedDict()

    def begin(self, user: str, address: str) -> int:
        """0: go on, the try is counted. Else: locked for so many milliseconds more, and nothing was counted."""
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
        """The password was right: the user starts anew here, and the try does not weigh on the others."""
        for place, (key, _) in enumerate(_keys(user, address)):
            entry = self._book.get(key)
            if entry is None:
                continue
            if place == 0:
                del self._book[key]
            else:
                entry.tries = max(0, entry.tries - 1)

    def _entry(self, key: tuple[str, str], now_ms: int) -> _Entry:
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


def _keys(user: str, address: str) -> tuple[tuple[tuple[str, str], _Rule], ...]:
    network = _network(address)
    name = user[:100].casefold()
    return (((name, network), _PAIR), (("", network), _ADDRESS), ((name, ""), _USER))


def _network(address: str) -> str:
    found = parsed(address)
    if isinstance(found, IPv6Address):
        return str(IPv6Network((int(found), 64), strict=False))
    return str(found or address)
