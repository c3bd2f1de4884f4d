"""Room for requests: how many bytes of them a process holds, over all its connections.

    bytes come ─► grow_to ─► grow_to ─► all there: keep ─► answered: leave
                    │
                    └─ no room: of those that are still coming the one that began first is crowded out, and so on,
                       until there is room or the turn is the asker's own

What is still coming may never end, so it gives way, the slowest first; what is being served ends by itself, so it
stays. Nobody waits for room, so nobody can wait for ever. Redis bounds its clients' buffers in the same way
(`maxmemory-clients`), but by size: the slow ones would outlive the large ones there.
"""

from __future__ import annotations

from collections.abc import Callable

PLACE_FREE = 16_384
"""So many bytes of each connection do not count: small calls need no place, and are served when there is no room."""


class Room:
    """Belongs to one event loop. `held`: bytes now; `crowded_out`: requests since the start."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.held = 0
        self.crowded_out = 0
        self.coming: dict[Place, None] = {}

    def place(self, crowd_out: Callable[[], None]) -> Place:
        """A place of no bytes yet. `crowd_out` is called when it has to give way: it is left by then."""
        return Place(self, crowd_out)


class Place:
    """What one request holds."""

    __slots__ = ("_crowd_out", "_room", "_size")

    def __init__(self, room: Room, crowd_out: Callable[[], None]) -> None:
        self._room = room
        self._crowd_out = crowd_out
        self._size = 0

    def grow_to(self, size: int) -> bool:
        """`size` bytes have come by now. False: there is no room for them, and the place is left."""
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
        """All is there, and being served: from now on the place does not give way."""
        self._room.coming.pop(self, None)

    def leave(self) -> None:
        """Idempotent."""
        self._room.coming.pop(self, None)
        self._room.held -= self._size
        self._size = 0
