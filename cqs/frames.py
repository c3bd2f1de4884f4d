"""Framing between the server and its child processes: the length of the data, then the data. Both ends run the same
program on the same Python, so nothing is versioned or checked."""

from __future__ import annotations

import struct

_LENGTH = struct.Struct("<Q")


def framed(data: bytes) -> bytes:
    """The data as one frame."""
    return _LENGTH.pack(len(data)) + data


def take_frames(held: bytearray) -> list[bytes]:
    """Removes the complete frames at the start of `held` and returns their data."""
    taken: list[bytes] = []
    start, end = 0, len(held)
    while end - start >= _LENGTH.size:
        (size,) = _LENGTH.unpack_from(held, start)
        begins = start + _LENGTH.size
        if end - begins < size:
            break
        start = begins + size
        taken.append(bytes(held[begins:start]))
    del held[:start]
    return taken
