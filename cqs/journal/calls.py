"""Calls of the witness as bytes, between the server and its recorder: flat tuples for `marshal`. Version 2 of its
format looks for no repetitions, which in rows takes longer than to write them; what many calls share is their pack's.

    to the recorder    (lines missing before, (pack, …))    or None: that was all
              pack     ([head, …], [(place of its head, time in ms, [row for each line, …]), …])
    back               (lines done, of these lost, [note, …], why no file can be written or "")
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from cqs.queue import Queue

_FORMAT = 2
Row = tuple[Any, ...]
Told = tuple[str, int, "Queue", str, Sequence[Any]]
"""A call as the event loop heard it: event, time in ms, queue, what all lines have in common, and what rows are made of
(`cqs.journal.rows`)."""
Head = tuple[str, str, str]
"""Event, the queue as JSON text, what all lines have in common."""
Call = tuple[int, int, list[Any]]
Pack = tuple[list[Head], list[Call]]
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


def pack_calls(pack: Pack) -> bytes:
    """Raises ValueError for what is no plain value."""
    return marshal.dumps(pack, _FORMAT)


def frame_of(missing: int, packs: Sequence[bytes]) -> bytes:
    """A frame of packed calls."""
    return marshal.dumps((missing, tuple(packs)), _FORMAT)


def unpack(data: bytes) -> tuple[int, list[Pack]]:
    """How many lines are missing before the calls of a frame, and the calls."""
    missing, packs = marshal.loads(data)
    return missing, list(map(marshal.loads, packs))


def lines_of(packs: Sequence[Pack]) -> int:
    """How many lines they become."""
    return sum(len(rows) for _, calls in packs for _, _, rows in calls)


def pack_report(report: Report) -> bytes:
    return marshal.dumps(tuple(report), _FORMAT)


def unpack_report(data: bytes) -> Report:
    return Report(*marshal.loads(data))
