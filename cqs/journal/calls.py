"""Calls of the witness as bytes, between the server and its recorder: flat tuples for `marshal`. Version 2 of its
format looks for no repetitions, which takes longer than to write them: a line is 0.1 us.

    to the recorder    (lines missing before, [call, …])    or None: that was all
    back               (lines done, of these lost, [note, …], why no file can be written or "")
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import Any, NamedTuple

_FORMAT = 2
Row = tuple[Any, ...]
Call = tuple[str, int, str, str, list[Any]]
"""Event, time in ms, the queue as JSON text, what all lines have in common, and a row for each line."""
Note = tuple[str, str, dict[str, Any]]
"""For the server's log: level, event, fields."""
GOODBYE = marshal.dumps(None, _FORMAT)


class Report(NamedTuple):
    """What became of what the recorder was given since the last report."""

    lines: int
    """Done with: written, or lost."""
    lost: int
    notes: list[Note]
    trouble: str = ""


def pack_call(call: Call) -> bytes:
    """Raises ValueError for what is no plain value."""
    return marshal.dumps(call, _FORMAT)


def pack(missing: int, calls: Sequence[bytes]) -> bytes:
    """A frame of packed calls."""
    return marshal.dumps((missing, tuple(calls)), _FORMAT)


def unpack(data: bytes) -> tuple[int, list[Call]]:
    """How many lines are missing before the calls of a frame, and the calls."""
    missing, calls = marshal.loads(data)
    return missing, list(map(marshal.loads, calls))


def pack_report(report: Report) -> bytes:
    return marshal.dumps(tuple(report), _FORMAT)


def unpack_report(data: bytes) -> Report:
    return Report(*marshal.loads(data))
