"""Checks how calls are refused. Pure.

no send can be stored         sends that begin and end within: each must be refused with 503, none acknowledged;
                              those that begin within must not take longer than `refused_s_max`
├─────────────────────┤       ──► a send that begins later must be acknowledged: the service has resumed
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from tests.drills.history import Call, History

REFUSED_S_MAX = 8.0
"""A send that can't be stored is refused after 3 s at most (`request_ms`), or 6 s if it had to wait for another write
to the same partition; the rest is for a machine that also starts two Cassandra nodes meanwhile. A short version, which
shares the machine with all other tests, has no such limit."""
REFUSED, THROTTLED = "sends refused with 503", "calls throttled"
"""Names of counts (`History.told`) that a drill must not find to be 0, or its fault has hit nothing."""
_SEND = "SendMessageBatch"


def refused(history: History, since_s: float, until_s: float = inf) -> int:
    """Counts the sends of that time that were refused with 503."""
    return sum(_is_refused(call) for call in _sends(history, since_s, until_s))


def throttled(history: History) -> int:
    return sum("RequestThrottled" in call.error for call in history.calls)


def faulty(history: History, refused_s_max: float) -> dict[str, int]:
    """Counts what must not be, by name."""
    told, spans = history.told, [(closed.started_s, closed.ended_s) for closed in history.closed]
    during = [call for span in spans for call in _sends(history, *span)]
    begun = [call for since_s, until_s in spans for call in _sends(history, since_s, inf) if call.started_s < until_s]
    return {
        "sends not refused with 503 while none could be stored": sum(map(_is_misanswered, during)),
        f"sends that took longer than {refused_s_max:g} s while none could be stored": sum(
            call.ended_s - call.started_s > refused_s_max for call in begun
        ),
        "times no send was acknowledged afterwards": sum(not _is_resumed(history, end_s) for _, end_s in spans),
        **{f"times there were no {name}": int(told.get(name) == 0) for name in (REFUSED, THROTTLED)},
    }


def _is_refused(call: Call) -> bool:
    return call.error.startswith("503 ")


def _is_misanswered(call: Call) -> bool:
    """A send without a response is not: its outcome is unknown."""
    is_answered = call.is_done or call.error[:1].isdigit()
    return is_answered and not _is_refused(call)


def _is_resumed(history: History, since_s: float) -> bool:
    return any(call.is_done for call in _sends(history, since_s, inf))


def _sends(history: History, since_s: float, until_s: float) -> Iterator[Call]:
    for call in history.calls:
        if call.action == _SEND and call.started_s >= since_s and call.ended_s <= until_s:
            yield call
