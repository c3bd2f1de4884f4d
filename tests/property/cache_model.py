"""A model of a queue shard, as simple as possible: lists, and a scan over all messages at each step.

It predicts standard shards completely. With tenants, and on FIFO shards, it does not predict whose turn it is: it
checks that the messages delivered were allowed, and adopts the choice; it predicts everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from cqs.cache.entry import Entry, State
from cqs.cache.interface import DEAD_LEASE_MS, RECEIVES_BEFORE_BACK, Outcome, Taken, TakeRequest, Ticket


@dataclass
class Note:
    """One message."""

    address: int
    sent_ms: int
    group: str | None
    state: State
    visible_ms: int = 0
    count: int = 0
    first_ms: int = 0
    number: int = 0

    def says(self, entry: Entry) -> bool:
        """Whether the cache says the same about the message."""
        return (self.address, self.sent_ms, self.group, self.state, self.visible_ms) == (
            entry.address,
            entry.sent_ms,
            entry.group,
            entry.state,
            entry.visible_ms,
        ) and (self.count, self.first_ms, self.number) == (
            entry.receive_count,
            entry.first_receive_ms,
            entry.receive_number,
        )


@dataclass
class Answer:
    """The answer of a take that may be repeated."""

    tickets: list[Ticket]
    received_ms: int
    until_ms: int


class ShardModel:
    """A shard. The order of `line` matters only on a standard shard."""

    def __init__(self, is_fifo: bool) -> None:
        self.is_fifo = is_fifo
        self.notes: dict[int, Note] = {}
        self.line: list[int] = []
        self.answers: dict[str, Answer] = {}

    def put(self, entry: Entry, now_ms: int) -> None:
        is_delayed = entry.visible_ms > now_ms
        note = Note(entry.address, entry.sent_ms, entry.group, State.DELAYED if is_delayed else State.READY)
        self.notes[entry.address] = note
        if is_delayed:
            note.visible_ms = entry.visible_ms
        else:
            self.line.append(entry.address)

    def remove(self, address: int) -> bool:
        if address in self.line:
            self.line.remove(address)
        return self.notes.pop(address, None) is not None

    def in_state(self, state: State) -> list[int]:
        return sorted(note.address for note in self.notes.values() if note.state is state)

    def living(self, ticket: Ticket, now_ms: int) -> Note | None:
        note = self.notes.get(ticket.address)
        if note is None or note.state is not State.IN_FLIGHT or note.visible_ms <= now_ms:
            return None
        return note if note.number == ticket.receive_number else None

    def hide(self, ticket: Ticket, until_ms: int, now_ms: int) -> Outcome:
        note = self.notes.get(ticket.address)
        if note is None:
            return Outcome.GONE
        is_newest = note.number == ticket.receive_number
        if not is_newest or (self.is_fifo and self.living(ticket, now_ms) is None):
            return Outcome.STALE
        self.answers = {key: answer for key, answer in self.answers.items() if ticket not in answer.tickets}
        if until_ms > now_ms:
            if note.state is State.READY:
                self.line.remove(note.address)
            note.state, note.visible_ms = State.IN_FLIGHT, until_ms
        elif note.state is State.IN_FLIGHT:
            self.come_back([note])
        return Outcome.DONE

    def fence(self, ticket: Ticket, hold_ms: int, now_ms: int) -> Outcome:
        note = self.living(ticket, now_ms)
        if note is None:
            return Outcome.STALE if ticket.address in self.notes else Outcome.GONE
        note.visible_ms = max(note.visible_ms, now_ms + hold_ms)
        return Outcome.DONE

    def give_back(self, tickets: Sequence[Ticket], now_ms: int) -> int:
        notes = [note for ticket in tickets if (note := self.living(ticket, now_ms)) is not None]
        for note in notes:
            note.state, note.visible_ms, note.count = State.READY, 0, max(0, note.count - 1)
            note.first_ms = note.first_ms if note.count else 0
        self.line[:0] = [note.address for note in notes]
        return len(notes)

    def come_back(self, notes: Sequence[Note]) -> None:
        """Makes hidden messages visible, at the positions that the interface defines."""
        for note in notes:
            note.state, note.visible_ms = State.READY, 0
        in_front = [note.address for note in notes if 0 < note.count < RECEIVES_BEFORE_BACK]
        self.line[:0] = in_front
        self.line += [note.address for note in notes if note.address not in in_front]

    def reveal(self, retention_ms: int, limit: int, now_ms: int) -> tuple[int, list[int]]:
        hidden = [note for note in self.notes.values() if note.state is not State.READY and note.visible_ms <= now_ms]
        touched = sorted(hidden, key=lambda note: (note.visible_ms, note.address))[:limit]
        expired = [note.address for note in touched if note.sent_ms + retention_ms <= now_ms]
        due = [note for note in touched if note.address not in expired]
        for address in expired:
            self.remove(address)
        self.come_back(due)
        return len(due), expired

    def redelay(self, delay_ms: int, now_ms: int) -> None:
        delayed = [self.notes[address] for address in self.in_state(State.DELAYED)]
        for note in delayed:
            note.visible_ms = note.sent_ms + delay_ms
        self.come_back([note for note in delayed if note.visible_ms <= now_ms])

    def repeated(self, request: TakeRequest, now_ms: int) -> Answer | None:
        """Returns the answer that must be repeated, and restarts its leases."""
        answer = self.answers.get(request.request_id)
        if answer is None or now_ms >= answer.until_ms:
            return None
        living = [note for ticket in answer.tickets if (note := self.living(ticket, now_ms)) is not None]
        if len(living) < len(answer.tickets):
            del self.answers[request.request_id]
            return None
        for note in living:
            note.visible_ms = now_ms + request.visibility_ms
        return answer

    def kind_of(self, note: Note, request: TakeRequest, now_ms: int) -> str:
        """How a take treats a ready message."""
        if note.sent_ms + request.retention_ms <= now_ms:
            return "expired"
        return "dead" if request.receive_count_max and note.count >= request.receive_count_max else "received"

    def room(self, request: TakeRequest) -> int:
        return min(request.count_max, request.in_flight_max - len(self.in_state(State.IN_FLIGHT)))

    def predict(self, request: TakeRequest, now_ms: int) -> dict[str, list[int]]:
        """Predicts the result of a take from a standard shard."""
        found: dict[str, list[int]] = {"received": [], "dead": [], "expired": []}
        for address in self.line if self.room(request) > 0 else []:
            if len(found["received"]) == self.room(request):
                break
            found[self.kind_of(self.notes[address], request, now_ms)].append(address)
        return found

    def allowed(self) -> dict[str | None, list[int]]:
        """Returns the messages of each FIFO group that may be delivered, in order."""
        groups: dict[str | None, list[int]] = {}
        locked: set[str | None] = set()
        for note in sorted(self.notes.values(), key=lambda note: note.address):
            if note.state is State.IN_FLIGHT:
                locked.add(note.group)
            elif note.state is State.READY and note.group not in locked:
                groups.setdefault(note.group, []).append(note.address)
        return groups

    def check_some(self, taken: Taken, request: TakeRequest, now_ms: int) -> None:
        """Checks that the delivered messages were ready, each once, and as many as possible, whatever the choice."""
        received, dead = [one.address for one in taken.received], [one.address for one in taken.dead]
        for kind, addresses in (("received", received), ("dead", dead), ("expired", taken.expired)):
            assert all(self.kind_of(self.notes[address], request, now_ms) == kind for address in addresses)
        touched = [*received, *dead, *taken.expired]
        assert len(touched) == len(set(touched))
        assert set(touched) <= set(self.line)
        room = max(0, self.room(request))
        assert len(received) == room or (len(received) < room and set(touched) == set(self.line))

    def check_turns(self, taken: Taken, request: TakeRequest, now_ms: int) -> None:
        """Checks that a FIFO shard's messages were allowed, in order, of few groups, and as many as possible."""
        allowed = self.allowed()
        group_of = {address: group for group, addresses in allowed.items() for address in addresses}
        received, dead = [one.address for one in taken.received], [one.address for one in taken.dead]
        for kind, addresses in (("received", received), ("dead", dead), ("expired", taken.expired)):
            assert all(self.kind_of(self.notes[address], request, now_ms) == kind for address in addresses)
        touched = {*received, *dead, *taken.expired}
        assert touched <= group_of.keys()
        for group, addresses in allowed.items():
            count = len(touched & set(addresses))
            assert touched & set(addresses) == set(addresses[:count])
            assert count in (0, len(addresses)) or group == group_of[received[-1]]
        turns = [(group, list(run)) for group, run in groupby(received, key=group_of.__getitem__)]
        assert len(turns) == len({group for group, _ in turns})
        assert all(run == sorted(run) for _, run in turns)
        if self.room(request) <= 0:
            assert not touched
        elif len(received) < self.room(request):
            assert touched == group_of.keys()

    def accept(self, taken: Taken, request: TakeRequest, now_ms: int) -> None:
        """Adopts the cache's choice."""
        for address in taken.expired:
            self.remove(address)
        for received in [*taken.received, *taken.dead]:
            is_dead = received in taken.dead
            note = self.notes[received.address]
            self.line.remove(note.address)
            note.state, note.number = State.IN_FLIGHT, received.receive_number
            note.visible_ms = now_ms + (DEAD_LEASE_MS if is_dead else request.visibility_ms)
            if not is_dead:
                note.count, note.first_ms = note.count + 1, note.first_ms or now_ms
        if request.visibility_ms <= 0:
            self.come_back([self.notes[received.address] for received in taken.received])
        elif request.request_id and taken.received:
            tickets = [received.ticket for received in taken.received]
            self.answers[request.request_id] = Answer(tickets, now_ms, now_ms + request.replay_ms)
