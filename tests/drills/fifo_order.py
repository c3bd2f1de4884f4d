"""Checks the guarantees of FIFO queues in a history: order within a group, and one consumer of a group at a time.

Numbers increase within a group in send order, since a single writer sends a group and waits for each response. The
check goes through the receives, the delete requests and the messages given back, in order of time:

    n is received while an acknowledged m < n of its group is neither earlier in the same response,
    nor was its delete requested                                          ──►  out of order
    n is received while m of its group, of an earlier response, is held   ──►  two consumers in one group
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.drills.history import Delete, History, LetGo, Outcome, Receive, Send


@dataclass
class _Group:
    """`open`: numbers of acknowledged messages without a delete request, ascending. `held`: the receives that hold
    messages, by number."""

    open: list[int] = field(default_factory=list)
    held: dict[int, Receive] = field(default_factory=dict)


def disorders(history: History, clock_step_s: float) -> tuple[list[str], list[str]]:
    """Returns messages out of order, and groups shared by two consumers, each described in one line."""
    sends = {(send.queue, send.message_id): send for send in history.sends if send.group and send.message_id}
    groups: dict[tuple[str, str], _Group] = defaultdict(_Group)
    for send in sends.values():
        insort(groups[send.queue, send.group].open, send.number)
    broken: list[str] = []
    shared: list[str] = []
    for event in _in_order(history):
        sent = sends.get((event.queue, event.message_id))
        if sent is None:
            continue
        group = groups[sent.queue, sent.group]
        if isinstance(event, Receive):
            broken += _ahead(group, sent, event)
            shared += _others(group, sent, event, clock_step_s)
            group.held[sent.number] = event
        else:
            group.held.pop(sent.number, None)
            if isinstance(event, Delete):
                _close(group, sent.number)
    return broken, shared


def _in_order(history: History) -> Iterator[Receive | Delete | LetGo]:
    """Sorts receives by their end, and deletes by their start: the earliest time at which a delete can take effect."""
    events: list[tuple[float, int, int, Receive | Delete | LetGo]] = [
        *((one.started_s, 0, 0, one) for one in history.deletes if one.outcome is not Outcome.REFUSED),
        *((one.at_s, 0, 0, one) for one in history.let_go if one.is_given_back),
        *((one.ended_s, 1, one.answer * 100 + one.place, one) for one in history.receives),
    ]
    events.sort(key=lambda event: event[:3])
    return (event[3] for event in events)


def _close(group: _Group, number: int) -> None:
    place = bisect_left(group.open, number)
    if place < len(group.open) and group.open[place] == number:
        del group.open[place]


def _ahead(group: _Group, sent: Send, receive: Receive) -> list[str]:
    for number in group.open:
        if number >= sent.number:
            return []
        held = group.held.get(number)
        if held is None or held.answer != receive.answer:
            return [f"{sent.queue} {sent.number} of group {sent.group} came before {number}"]
    return []


def _others(group: _Group, sent: Send, receive: Receive, clock_step_s: float) -> list[str]:
    for number, held in group.held.items():
        is_living = held.started_s + held.hidden_s - clock_step_s > receive.ended_s
        if number != sent.number and held.answer != receive.answer and is_living and held.ended_s < receive.started_s:
            return [f"{sent.queue} {sent.number} was given out while {number} of group {sent.group} was held"]
    return []
