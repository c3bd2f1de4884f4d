"""Calls of the witness as bytes, between the server and its recorder: flat tuples for `marshal`. Version 2 of its
format looks for no repetitions, which in rows takes longer than to write them; what many calls share is their pack's.

    to the recorder    (events missing before, (pack, …))    or None: that was all
              pack     ([queue, …], [group of each kind of event, …])
             group     (event, [place, events, time in ms, queue's place, what is common, … of each call], [row, …])
    back               (events done, of these lost, [note, …], why no file can be written or "")

A call's place is that of its first event among those of the pack, in the order in which they were heard.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from cqs.queue import Queue

_FORMAT = 2
Row = tuple[Any, ...]
Told = tuple[str, int, "Queue", Any, Sequence[Any]]
"""A call as the event loop heard it: event, time in ms, queue, what its events have in common (a receiver's id, or the
place a move goes to), and what rows are made of (`cqs.journal.rows`)."""
Place = tuple[str, str, int, int, bool]
"""A queue: account, name, uid, generation, whether it is FIFO."""
Group = tuple[str, list[Any], list[Any]]
CALL = 5
"""Values of a call in a group."""
Pack = tuple[list[Place], list[Group]]
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
    """How many events are missing before the calls of a frame, and the calls."""
    missing, packs = marshal.loads(data)
    return missing, list(map(marshal.loads, packs))


def events_of(packs: Sequence[Pack]) -> int:
    """How many events they tell."""
    return sum(len(rows) for _, groups in packs for _, _, rows in groups)


def pack_report(report: Report) -> bytes:
    return marshal.dumps(tuple(report), _FORMAT)


def unpack_report(data: bytes) -> Report:
    return Report(*marshal.loads(data))
