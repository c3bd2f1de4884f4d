"""The checker: turns a history into a verdict. Pure; it relies only on what clients saw.

Its terms are those of Jepsen's total-queue, per message id where one is known:

    attempted     sent, whatever the outcome                acknowledged   answered with a message id
    lost          acknowledged, but never received and deleted
    recovered     never acknowledged, but received          unexpected     received, but never sent (or damaged)
    duplicated    delivered again to a consumer that processes it again, by cause (below)
    resurrected   received although its delete had been acknowledged before
    stuck         in the store after the drain, and not deliverable
    overdue       due for a second, held by nobody, and withheld from a receive (`tests.drills.lateness`)

Causes of duplicates. SQS allows all but the last, which is a bug in any drill:

    copy          the send was retried because its outcome was unknown: two messages, two ids
    late          the lease had expired before the delete began
    delete        the outcome of the delete is unknown, so the message was redelivered after its lease
    fault         redelivered before its lease expired, across a fault (from its start to `settle_s` after its end)
    unexplained   redelivered before its lease expired, without a fault
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import TypeVar

from tests.drills.fifo_order import disorders
from tests.drills.history import Delete, Fault, History, LetGo, Outcome, Receive, Send
from tests.drills.lateness import overdue

CLOCK_STEP_S = 0.005
"""Tolerance for servers, which truncate times to whole milliseconds."""
PROBLEMS_MAX = 20

_Id = tuple[str, str]
_Number = tuple[str, int]
_Record = TypeVar("_Record", Delete, LetGo)


class Cause(StrEnum):
    COPY = "copy"
    LATE = "late"
    DELETE = "delete"
    FAULT = "fault"
    UNEXPLAINED = "unexplained"


@dataclass
class Verdict:
    """Counts, and each broken guarantee in words. `redelivered`: delivered again, correctly, after a consumer quit."""

    attempted: int = 0
    acknowledged: int = 0
    lost: int = 0
    recovered: int = 0
    unexpected: int = 0
    resurrected: int = 0
    stuck: int = 0
    hidden_too_short: int = 0
    miscounted: int = 0
    overdue: int = 0
    out_of_order: int = 0
    shared_groups: int = 0
    redelivered: int = 0
    causes: Counter[Cause] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def duplicated(self) -> int:
        return sum(self.causes.values())

    def note(self, problem: str) -> None:
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(problem)


def judge(history: History, settle_s: float = 0.0, fifo_copies: int = 1) -> Verdict:
    """Judges a history whose queues were drained. `settle_s`: how long after its end a fault still explains a
    duplicate. `fifo_copies`: how many messages a send with a deduplication id may create if an outcome is unknown."""
    facts = _Facts(history, settle_s)
    verdict = Verdict(attempted=len(history.sends), acknowledged=sum(bool(send.message_id) for send in history.sends))
    _judge_losses(facts, verdict)
    for number, receives in facts.received.items():
        _judge_copies(facts, number, receives, fifo_copies, verdict)
        for before, receive in pairwise(receives):
            _judge_again(facts, before, receive, verdict)
    for message, receives in facts.received_by_id.items():
        _judge_leases(facts, message, receives, verdict)
    _judge_fifo(history, verdict)
    _judge_lateness(history, verdict)
    verdict.stuck = sum(history.left.values())
    for queue, rows in history.left.items():
        if rows:
            verdict.note(f"{queue}: {rows} rows stay in the store, and nobody is given them")
    return verdict


class _Facts:
    """The history, by message."""

    def __init__(self, history: History, settle_s: float) -> None:
        self._windows = [(fault.started_s, fault.ended_s + settle_s) for fault in history.faults]
        self.sends: dict[_Number, Send] = {(send.queue, send.number): send for send in history.sends}
        self.receives = history.receives
        self._unanswered = [one for one in history.calls if one.action == "ReceiveMessage" and not one.is_done]
        self.received: dict[_Number, list[Receive]] = defaultdict(list)
        self.received_by_id: dict[_Id, list[Receive]] = defaultdict(list)
        for receive in sorted(history.receives, key=lambda one: (one.started_s, one.ended_s)):
            if receive.number is not None:
                self.received[receive.queue, receive.number].append(receive)
                self.received_by_id[receive.queue, receive.message_id].append(receive)
        self.deletes: dict[_Id, list[Delete]] = _by_id(history.deletes)
        self.let_go: dict[_Id, list[LetGo]] = _by_id(history.let_go)

    def is_across_fault(self, started_s: float, ended_s: float) -> bool:
        return any(started_s <= until_s and ended_s >= since_s for since_s, until_s in self._windows)

    def is_unanswered(self, started_s: float, ended_s: float) -> bool:
        """Whether a receive without a response, which may have taken any message, was in progress then."""
        return any(one.started_s <= ended_s and one.ended_s >= started_s for one in self._unanswered)

    def is_seen_off(self, message: _Id) -> bool:
        """Whether somebody received it and requested its delete without being refused."""
        return any(delete.outcome is not Outcome.REFUSED for delete in self.deletes.get(message, ()))

    def deleted_s(self, message: _Id) -> float | None:
        """When its delete was first acknowledged."""
        ends = [one.ended_s for one in self.deletes.get(message, ()) if one.outcome is Outcome.DONE]
        return min(ends, default=None)


def _by_id(records: Iterable[_Record]) -> dict[_Id, list[_Record]]:
    found: dict[_Id, list[_Record]] = defaultdict(list)
    for record in records:
        found[record.queue, record.message_id].append(record)
    return found


def _judge_losses(facts: _Facts, verdict: Verdict) -> None:
    for (queue, number), send in facts.sends.items():
        receives = facts.received.get((queue, number), [])
        if not send.message_id:
            verdict.recovered += bool(receives)
        elif not facts.is_seen_off((queue, send.message_id)):
            verdict.lost += 1
            seen = f"received {len(receives)} times, never deleted" if receives else "never received"
            verdict.note(f"{queue} {number} ({send.message_id}) is lost: {seen}")
    for receive in facts.receives:
        if receive.number is None or (receive.queue, receive.number) not in facts.sends:
            verdict.unexpected += 1
            verdict.note(f"{receive.queue}: {receive.message_id} is damaged, or nobody sent it")


def _judge_copies(
    facts: _Facts, number: _Number, receives: Sequence[Receive], fifo_copies: int, verdict: Verdict
) -> None:
    """A message has one id. It may have more only if its send was retried without a deduplication id, or that id was
    lost."""
    send = facts.sends.get(number)
    if send is None:
        return
    ids = {receive.message_id for receive in receives} | ({send.message_id} - {""})
    tries = send.unknown + bool(send.message_id)
    copies_max = max(1, min(tries, fifo_copies) if send.group else tries)
    if len(ids) > copies_max:
        verdict.unexpected += len(ids) - copies_max
        verdict.note(f"{send.queue} {send.number} exists {len(ids)} times after {send.unknown} unknown sends")


def _judge_again(facts: _Facts, before: Receive, receive: Receive, verdict: Verdict) -> None:
    """Classifies a repeated delivery of a message by its cause."""
    message = receive.queue, receive.message_id
    if before.message_id != receive.message_id:
        verdict.causes[Cause.COPY] += 1
        return
    if any(before.started_s <= let.at_s <= receive.ended_s for let in facts.let_go.get(message, ())):
        verdict.redelivered += 1
        return
    if receive.ended_s < before.started_s + before.hidden_s - CLOCK_STEP_S:
        is_explained = facts.is_across_fault(before.started_s, receive.ended_s)
        verdict.causes[Cause.FAULT if is_explained else Cause.UNEXPLAINED] += 1
    elif any(before.ended_s <= one.started_s <= receive.ended_s for one in facts.deletes.get(message, ())):
        verdict.causes[Cause.DELETE] += 1
    else:
        verdict.causes[Cause.LATE] += 1


def _judge_leases(facts: _Facts, message: _Id, receives: Sequence[Receive], verdict: Verdict) -> None:
    """A message is delivered neither before its lease expires nor after its delete, and its receives are counted."""
    deleted_s = facts.deleted_s(message)
    hidden_until_s, last = 0.0, None
    for receive in receives:
        what = f"{message[0]} {receive.number} ({message[1]})"
        if deleted_s is not None and receive.started_s > deleted_s:
            verdict.resurrected += 1
            verdict.note(f"{what} came {receive.started_s - deleted_s:.3f} s after its delete was acknowledged")
        if last is not None and not facts.is_across_fault(last.started_s, receive.ended_s):
            if receive.ended_s < hidden_until_s and not _is_given_back(facts, message, last, receive):
                verdict.hidden_too_short += 1
                verdict.note(f"{what} came {hidden_until_s - receive.ended_s:.3f} s before its lease was over")
            is_counted = receive.count == last.count + 1
            if facts.is_unanswered(last.started_s, receive.ended_s):
                is_counted = receive.count > last.count
            if receive.started_s > last.ended_s and not is_counted:
                verdict.miscounted += 1
                verdict.note(f"{what} was received {last.count}, then {receive.count} times")
        hidden_until_s, last = receive.started_s + receive.hidden_s - CLOCK_STEP_S, receive


def _is_given_back(facts: _Facts, message: _Id, before: Receive, receive: Receive) -> bool:
    return any(
        let.is_given_back and before.started_s <= let.at_s <= receive.ended_s for let in facts.let_go.get(message, ())
    )


def _judge_fifo(history: History, verdict: Verdict) -> None:
    broken, shared = disorders(history, CLOCK_STEP_S)
    verdict.out_of_order, verdict.shared_groups = len(broken), len(shared)
    for problem in broken + shared:
        verdict.note(problem)


def _judge_lateness(history: History, verdict: Verdict) -> None:
    late = overdue(history)
    verdict.overdue = len(late)
    for problem in late:
        verdict.note(problem)


def recovery_s(history: History) -> float:
    """How long calls still failed after the end of a fault, the maximum over all faults; 0 = not at all."""
    faults = sorted(history.faults, key=lambda fault: fault.started_s)
    nexts = [*faults[1:], None]
    return max((_recovery_s(history, *pair) for pair in zip(faults, nexts, strict=False)), default=0.0)


def _recovery_s(history: History, fault: Fault, after: Fault | None) -> float:
    failed = [
        call.ended_s
        for call in history.calls
        if not call.is_done and call.ended_s > fault.ended_s and (after is None or call.started_s < after.started_s)
    ]
    return max(failed, default=fault.ended_s) - fault.ended_s
