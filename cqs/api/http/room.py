"""Memory for requests: how many bytes of them a process holds, over all its connections.

    bytes come ─► grow_to ─► grow_to ─► complete: keep ─► answered: leave
                    │
                    └─ no room: crowds out the oldest of the incomplete requests, one after the other,
                       until there is room or the oldest is the request that asks

An incomplete request may never complete, so it gives way, the slowest first; a request being served completes by
itself, so it stays. Nothing waits for room, so nothing can wait forever. Redis bounds its clients' buffers in a similar
way (`maxmemory-clients`), but evicts by size: there, slow clients would outlive large ones.
"""

from __future__ import annotations

from collections.abc import Callable

PLACE_FREE = 16_384
"""This many bytes of each connection do not count: small calls need no place and are served even when there is no
room."""


class Room:
    """Belongs to one event loop. `held`: bytes held now; `crowded_out`: requests since the start."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.held = 0
        self.crowded_out = 0
        self.coming: dict[Place, None] = {}

    def place(self, crowd_out: Callable[[], None]) -> Place:
        """A new place, of no bytes. `crowd_out` is called after the place had to give way and was left."""
        return Place(self, crowd_out)


class Place:
    """The room that one request occupies."""

    __slots__ = ("_crowd_out", "_room", "_size")

    def __init__(self, room: Room, crowd_out: Callable[[], None]) -> None:
        self._room = room
        self._crowd_out = crowd_out
        self._size = 0

    def grow_to(self, size: int) -> bool:
        """Called when `size` bytes have arrived in all. False: there is no room for them, and the place has been
        left."""
        if size <= PLACE_FREE:
            return True
        room = self._room
        room.held += size - self._size
        self._size = size
        room.coming.setdefault(self)
        while room.held > room.bytes_max:
            oldest = next(iter(room.coming))
            oldest.leave()
            room.crowded_out += 1
            if oldest is self:
                return False
            oldest._crowd_out()
        return True

    def keep(self) -> None:
        """The request is complete and being served: from now on the place does not give way."""
        self._room.coming.pop(self, None)

    def leave(self) -> None:
        """Idempotent."""
        self._room.coming.pop(self, None)
        self._room.held -= self._size
        self._size = 0
