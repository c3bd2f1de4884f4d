"""Order of a FIFO shard: a rotation of the groups that have messages to hand out.

    rotation   B  C  A          a take serves as many messages of B as it can, then C, then A; a group that still has
                                messages to hand out, or has some again once unlocked, goes to the end

A group whose messages are given back, as if never handed out, returns to the front. The first message in flight is
looked up once per turn, so the messages of one take do not lock each other out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import chain
from operator import attrgetter

from cqs.cache.entry import Entry, State
from cqs.cache.fifo_group import Group
from cqs.cache.line import first_waiting

_SLACK = 64
_READY = State.READY


class FifoLine:
    """See `cqs.cache.line.Line`. `entries` is the shard's own dict."""

    __slots__ = (
        "_ages",
        "_entries",
        "_group",
        "_groups",
        "_is_filling",
        "_lock",
        "_rotation",
        "_served",
        "groups_in_flight",
    )

    def __init__(self, entries: dict[int, Entry]) -> None:
        self.groups_in_flight = 0
        self._entries = entries
        self._groups: dict[str | None, Group] = {}
        self._rotation: deque[Group] = deque()
        self._ages: deque[Entry] = deque()
        self._is_filling = True
        self._group: Group | None = None
        self._lock: Entry | None = None
        self._served: list[Group] = []

    def join(self, entry: Entry, now_ms: int) -> None:
        self._ages.append(entry)
        self._add(entry)

    def rejoin(self, entries: Sequence[Entry]) -> None:
        self._ages.extendleft(reversed(entries))
        for entry in entries:
            self._add(entry)

    def undo(self, entry: Entry, now_ms: int) -> None:
        self._unlock(entry)
        self._ages.appendleft(entry)
        self._add(entry, is_first=True)

    def leave(self, entry: Entry, now_ms: int) -> None:
        if self._is_filling:
            return
        group = self._groups[entry.group]
        group.discard(entry)
        self._offer(group)

    def open_turn(self) -> None:
        self._group = None

    def next(self, now_ms: int) -> Entry | None:
        while True:
            if self._group is not None:
                entry = self._group.first(self._lock)
                if entry is not None:
                    self._group.pop()
                    return entry
            if not self._rotation:
                return None
            self._group = self._rotation.popleft()
            self._group.is_waiting = False
            self._lock = self._group.lock()
            self._served.append(self._group)

    def close_turn(self) -> None:
        served, self._served, self._group, self._lock = self._served, [], None, None
        for group in served:
            self._offer(group)

    def start(self, entry: Entry, now_ms: int) -> None:
        group = self._group_of(entry)
        self.groups_in_flight += not group.is_locked
        group.start(entry)

    def finish(self, entry: Entry, now_ms: int) -> None:
        self._offer(self._unlock(entry))

    def fill(self, entry: Entry, now_ms: int) -> None:
        self.join(entry, now_ms)

    def end_fill(self) -> None:
        self._is_filling = False
        self._sweep_ages()
        for group in self._groups.values():
            group.sort()
        for group in sorted(self._groups.values(), key=Group.age):
            self._offer(group)

    def head(self) -> Entry | None:
        ages = self._ages
        while ages and ages[0].state is not _READY:
            ages.popleft()
        return ages[0] if ages else None

    def oldest(self) -> Entry | None:
        first = self.head()
        return None if first is None else first_waiting(chain((first,), self._ages))

    def noisy_groups(self, now_ms: int) -> int:
        return 0

    def _group_of(self, entry: Entry) -> Group:
        group = self._groups.get(entry.group)
        if group is None:
            group = self._groups[entry.group] = Group(entry.group)
        return group

    def _add(self, entry: Entry, *, is_first: bool = False) -> None:
        if len(self._ages) > 2 * len(self._entries) + _SLACK:
            self._sweep_ages()
        group = self._group_of(entry)
        if self._is_filling:
            group.add_unsorted(entry)
            return
        group.add(entry)
        self._offer(group, is_first=is_first)

    def _unlock(self, entry: Entry) -> Group:
        group = self._groups[entry.group]
        group.finish(entry)
        self.groups_in_flight -= not group.is_locked
        return group

    def _offer(self, group: Group, *, is_first: bool = False) -> None:
        """Adds the group to the rotation if it has messages to hand out; forgets an empty one."""
        if self._is_filling:
            return
        if not group.is_waiting and group.first(group.lock()) is not None:
            group.is_waiting = True
            if is_first:
                self._rotation.appendleft(group)
            else:
                self._rotation.append(group)
        elif group.is_empty and self._groups.get(group.name) is group:
            del self._groups[group.name]

    def _sweep_ages(self) -> None:
        ready = (entry for entry in self._entries.values() if entry.state is _READY)
        self._ages = deque(sorted(ready, key=attrgetter("address")))
