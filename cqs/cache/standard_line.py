"""Order of a standard shard: one deque and, once messages have tenants, parked lines for the noisy ones.

A message removed from the middle stays in the deque as an object whose state is not READY; such objects are skipped
when met and swept when they outnumber the rest. An object is in at most one place, so its state alone decides.

With tenants, messages come from these sources, in this order: parked lines of tenants that are quiet again (oldest head
first); the main line, where messages of noisy tenants are parked as they are met; the parked line of the noisy tenant
with the fewest messages in flight. No message is ever left out, only passed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain

from cqs.cache.entry import Entry, State
from cqs.cache.line import first_waiting
from cqs.cache.parked import Tenants

PARKED_PER_TAKE_MAX = 1_000
_SLACK = 64
_READY = State.READY


class StandardLine:
    """See `cqs.cache.line.Line`."""

    __slots__ = ("_filled", "_in_flight", "_left", "_main", "_parkings_left", "_ready", "_tenants", "groups_in_flight")

    def __init__(self) -> None:
        self.groups_in_flight = 0
        self._main: deque[Entry] = deque()
        self._filled: list[Entry] = []
        self._tenants: Tenants | None = None
        self._ready = self._in_flight = self._left = self._parkings_left = 0

    def join(self, entry: Entry, now_ms: int) -> None:
        self._arrived(entry, now_ms)
        self._main.append(entry)

    def rejoin(self, entries: Sequence[Entry]) -> None:
        self._ready += len(entries)
        tenants = self._tenants
        for entry in reversed(entries):
            if tenants is None or not tenants.returned(entry):
                self._main.appendleft(entry)

    def undo(self, entry: Entry, now_ms: int) -> None:
        self.finish(entry, now_ms)
        self.rejoin((entry,))

    def leave(self, entry: Entry, now_ms: int) -> None:
        self._ready -= 1
        self._left += 1
        if self._tenants is not None:
            self._tenants.left(entry, now_ms)
        if self._left > _SLACK and self._left > self._ready:
            self._sweep()

    def open_turn(self) -> None:
        self._parkings_left = PARKED_PER_TAKE_MAX

    def next(self, now_ms: int) -> Entry | None:
        tenants = self._tenants
        if tenants is None:
            entry = self._pop_main()
        else:
            entry = self._pick(tenants, now_ms)
            if entry is not None:
                tenants.departed(entry)
        if entry is not None:
            self._ready -= 1
        return entry

    def close_turn(self) -> None:
        pass

    def start(self, entry: Entry, now_ms: int) -> None:
        if self._tenants is None and entry.group is not None:
            self._begin_fairness(now_ms)
        if self._tenants is not None:
            self._tenants.started(entry, now_ms)
        self._in_flight += 1

    def finish(self, entry: Entry, now_ms: int) -> None:
        self._in_flight -= 1
        if self._tenants is not None:
            self._tenants.finished(entry, now_ms)

    def fill(self, entry: Entry, now_ms: int) -> None:
        self._arrived(entry, now_ms)
        self._filled.append(entry)

    def end_fill(self) -> None:
        self._main.extendleft(reversed(self._filled))
        self._filled = []

    def head(self) -> Entry | None:
        main = self._main
        while main and main[0].state is not _READY:
            main.popleft()
        head = main[0] if main else None
        if self._tenants is not None:
            parked = self._tenants.oldest_parked()
            if parked is not None and (head is None or parked.sent_ms < head.sent_ms):
                return parked
        return head

    def oldest(self) -> Entry | None:
        first = self.head()
        return None if first is None else first_waiting(chain((first,), self._main))

    def noisy_groups(self, now_ms: int) -> int:
        return 0 if self._tenants is None else self._tenants.noisy_count(now_ms)

    def _arrived(self, entry: Entry, now_ms: int) -> None:
        if self._tenants is None and entry.group is not None:
            self._begin_fairness(now_ms)
        if self._tenants is not None:
            self._tenants.arrived(entry)
        self._ready += 1

    def _begin_fairness(self, now_ms: int) -> None:
        self._tenants = Tenants(self._ready, self._in_flight, now_ms)

    def _pop_main(self) -> Entry | None:
        main = self._main
        while main:
            entry = main.popleft()
            if entry.state is _READY:
                return entry
        return None

    def _pick(self, tenants: Tenants, now_ms: int) -> Entry | None:
        entry = tenants.pop_quiet(now_ms)
        if entry is not None:
            return entry
        while self._parkings_left > 0:
            entry = self._pop_main()
            if entry is None:
                break
            if not tenants.park_if_noisy(entry, now_ms):
                return entry
            self._parkings_left -= 1
        return tenants.pop_noisy()

    def _sweep(self) -> None:
        self._left = 0
        self._main = deque(_still_ready(self._main))
        self._filled = list(_still_ready(self._filled))
        if self._tenants is not None:
            self._tenants.sweep()


def _still_ready(entries: Iterable[Entry]) -> Iterable[Entry]:
    return (entry for entry in entries if entry.state is _READY)
