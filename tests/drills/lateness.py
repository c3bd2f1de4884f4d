"""Checks that due messages are delivered: a visible message that nobody holds must not be withheld from a receive.

    sent, or lease expired          + OVERDUE_S
    ────────────┬───────────────────────┬──────────────────────────────► received next, or deleted
                due                     └─ a receive begins … answers: nothing      ──►  overdue

These receives wait 1 s for messages, so the queue offered none during all of it. Only standard queues are checked,
where no message has to wait for another, and only up to the first fault or unanswered call: from then on a consumer
that the history does not know may hold a message.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from math import inf

from tests.drills.history import History, Outcome

OVERDUE_S = 1.0
_FIRST_S = -inf
"""Sends come before the receives of their messages, which may have begun sooner, to wait for one."""


def overdue(history: History) -> list[str]:
    """Describes each overdue message in one line."""
    starts: dict[str, list[float]] = defaultdict(list)
    ends: dict[str, list[float]] = defaultdict(list)
    for empty in sorted(history.empties, key=lambda one: one.started_s):
        starts[empty.queue].append(empty.started_s)
        ends[empty.queue].append(empty.ended_s)
    quiet_until_s = _quiet_until_s(history)
    problems: list[str] = []
    for queue, message_id, due_s, gone_s in _waits(history):
        place = bisect_left(starts[queue], due_s + OVERDUE_S)
        if place < len(starts[queue]) and ends[queue][place] < min(gone_s, quiet_until_s):
            late_s = starts[queue][place] - due_s
            problems.append(f"{queue}: {message_id} did not come to who asked {late_s:.1f} s after it was due")
    return problems


def _quiet_until_s(history: History) -> float:
    starts = [fault.started_s for fault in history.faults]
    return min(starts + [call.started_s for call in history.calls if not call.is_done], default=inf)


def _waits(history: History) -> Iterator[tuple[str, str, float, float]]:
    """Yields queue, message id, the latest time it became due, and the earliest it was gone; inf = never."""
    moves: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for send in history.sends:
        if send.message_id and not send.group:
            moves[send.queue, send.message_id].append((_FIRST_S, send.ended_s))
    for receive in history.receives:
        if (receive.queue, receive.message_id) in moves:
            due_s = receive.ended_s + receive.hidden_s
            moves[receive.queue, receive.message_id].append((receive.started_s, due_s))
    for delete in history.deletes:
        if delete.outcome is not Outcome.REFUSED and (delete.queue, delete.message_id) in moves:
            moves[delete.queue, delete.message_id].append((delete.started_s, inf))
    for (queue, message_id), some in moves.items():
        some.sort()
        for place, (_, due_s) in enumerate(some):
            gone_s = some[place + 1][0] if place + 1 < len(some) else inf
            if due_s < gone_s:
                yield queue, message_id, due_s, gone_s
