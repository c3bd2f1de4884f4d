"""The witness's calls as bytes, between the server and its recorder: flat lists for `marshal`. Version 2 of its format
does not search for repetitions, which would take longer than writing them; values that many calls share are stored once
per pack.

    to the recorder    (events missing before, (pack, …))    or None: end of the stream
              pack     ([queue, …], [group for each kind of event, …])
             group     (event, [place, events, time in ms, index of the queue, shared value, … per call], [field, …])
             field     one value per event: a list, or equally long values joined (`cqs.journal.fields`)
    back               (events done, number of these lost, [note, …], why no file can be written or "")

A call's place is the position of its first event in the pack, in the order in which they were reported.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from cqs.queue import Queue

_FORMAT = 2
Fields = list[list[Any] | bytes]
Told = tuple[str, int, "Queue", Any, Sequence[Any]]
"""A call as the event loop heard it: event, time in ms, queue, the value its events share (a receiver's id, or where a
move goes), and the objects from which fields are made (`cqs.journal.fields`)."""
Place = tuple[str, str, int, int, bool]
"""A queue: account, name, uid, generation, whether it is FIFO."""
Group = tuple[str, list[Any], Fields]
CALL = 5
"""Number of values per call in a group."""
Pack = tuple[list[Place], list[Group]]
Note = tuple[str, str, dict[str, Any]]
"""For the server's log: level, event, fields."""
GOODBYE = marshal.dumps(None, _FORMAT)


class Report(NamedTuple):
    """What happened to the events that the recorder has been given since the last report."""

    lines: int
    """Number of events done: written or lost."""
    lost: int
    notes: list[Note]
    trouble: str = ""
    """Why nothing can be written now; "" = it can."""


def pack_calls(pack: Pack) -> bytes:
    """Raises ValueError for values that marshal can't write."""
    return marshal.dumps(pack, _FORMAT)


def frame_of(missing: int, packs: Sequence[bytes]) -> bytes:
    """A frame of packed calls."""
    return marshal.dumps((missing, tuple(packs)), _FORMAT)


def unpack(data: bytes) -> tuple[int, list[Pack]]:
    """How many events are missing before the calls of a frame, and the calls."""
    missing, packs = marshal.loads(data)
    return missing, list(map(marshal.loads, packs))


def events_of(packs: Sequence[Pack]) -> int:
    """Number of events in the packs."""
    return sum(sum(calls[1::CALL]) for _, groups in packs for _, calls, _ in groups)


def pack_report(report: Report) -> bytes:
    return marshal.dumps(tuple(report), _FORMAT)


def unpack_report(data: bytes) -> Report:
    return Report(*marshal.loads(data))
