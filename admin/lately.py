"""Recent events on this node, for people who ask "where has my message been" and "who reads this queue".

One entry per call, not per message, in a ring of CALLS_MAX: for each send and receive this costs one append. A
message's history is found by scanning the ring, which happens only when somebody asks. What the ring has dropped, and
what other nodes did, is in the event journal, if that is on.

    send of 3 ──► (at, "sent", queue, (a, b, c), "") ──┐
    receive   ──► (at, "received", queue, (a,), who) ──┴──► ring ──► history of a: sent, received, …

Receivers are recorded separately: the last RECEIVERS_MAX of each queue, with when and how much they received.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from cqs.cache.interface import Received
from cqs.clock import Clock
from cqs.events import EventName, NullWitness
from cqs.message import Message
from cqs.queue import Queue
from cqs.receipt import Receipt

CALLS_MAX = 50_000
EVENTS_OF_A_LIFE_MAX = 16
RECEIVERS_MAX = 32
QUEUES_MAX = 2_000


class Event(NamedTuple):
    """A step in a message's history. `who`: the receiver, or the queue it was moved from; `until_ms`: until when it is
    hidden; `other`: the queue it was moved to."""

    at_ms: int
    name: EventName
    who: str = ""
    until_ms: int = 0
    other: str = ""


class Receiver(NamedTuple):
    """A receiver of a queue on this node."""

    receiver_id: str
    last_ms: int
    messages: int
    calls: int


class _Call(msgspec.Struct, frozen=True, gc=False):
    """Excluded from garbage collection, which would otherwise scan the whole ring."""

    at_ms: int
    name: EventName
    uid: int
    addresses: tuple[int, ...]
    who: str = ""
    until_ms: int = 0
    other: str = ""


class Lately(NullWitness):
    """A `Witness`. Belongs to one event loop."""

    def __init__(self, clock: Clock, calls_max: int = CALLS_MAX) -> None:
        self._clock = clock
        self._ring: deque[_Call] = deque(maxlen=calls_max)
        self._receivers: OrderedDict[int, OrderedDict[str, Receiver]] = OrderedDict()

    def sent(self, queue: Queue, messages: Sequence[Message]) -> None:
        self._add(EventName.SENT, queue, tuple([message.address for message in messages]))

    def deduplicated(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._add(EventName.DEDUPLICATED, queue, tuple(addresses))

    def received(
        self, queue: Queue, received: Sequence[Received], *, is_from_store: bool, receiver_id: str = ""
    ) -> None:
        name = EventName.FROM_STORE if is_from_store else EventName.RECEIVED
        first = received[0]
        addresses = tuple([one.address for one in received])
        self._ring.append(_Call(first.received_ms, name, queue.uid, addresses, receiver_id, first.hidden_until_ms))
        self._count(queue.uid, receiver_id, len(received))

    def given_back(self, queue: Queue, received: Sequence[Received]) -> None:
        self._add(EventName.GIVEN_BACK, queue, tuple([one.address for one in received]))

    def deleted(self, queue: Queue, addresses: Sequence[int], begun_ms: int = 0) -> None:
        self._add(EventName.DELETED, queue, tuple(addresses))

    def hidden(self, queue: Queue, receipt: Receipt, until_ms: int) -> None:
        self._add(EventName.HIDDEN, queue, (receipt.address,), until_ms=until_ms)

    def expired(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._add(EventName.EXPIRED, queue, tuple(addresses))

    def moved(self, source: Queue, target: Queue, messages: Sequence[tuple[int, Message]]) -> None:
        self._add(EventName.MOVED, source, tuple([old for old, _ in messages]), other=target.name)
        arrived = tuple([message.address for _, message in messages])
        self._add(EventName.MOVED, target, arrived, who=source.name)

    def life(self, queue: Queue, address: int) -> list[Event]:
        """The last steps of a message in this queue, oldest first, as far as the ring has them."""
        found = [
            Event(call.at_ms, call.name, call.who, call.until_ms, call.other)
            for call in self._ring
            if call.uid == queue.uid and address in call.addresses
        ]
        return found[-EVENTS_OF_A_LIFE_MAX:]

    def holders(self, queue: Queue, addresses: Sequence[int]) -> dict[int, tuple[str, int]]:
        """Who received each of these last, and when, as far as the ring has them."""
        wanted = set(addresses)
        found: dict[int, tuple[str, int]] = {}
        for call in reversed(self._ring):
            if not wanted:
                break
            if call.uid == queue.uid and call.name in (EventName.RECEIVED, EventName.FROM_STORE):
                for address in wanted.intersection(call.addresses):
                    found[address] = (call.who, call.at_ms)
                    wanted.discard(address)
        return found

    def receivers(self, queue: Queue) -> list[Receiver]:
        """The receivers of the queue, latest first."""
        return list(reversed(self._receivers.get(queue.uid, OrderedDict()).values()))

    def _add(
        self,
        name: EventName,
        queue: Queue,
        addresses: tuple[int, ...],
        who: str = "",
        until_ms: int = 0,
        other: str = "",
    ) -> None:
        self._ring.append(_Call(self._clock.now_ms(), name, queue.uid, addresses, who, until_ms, other))

    def _count(self, uid: int, receiver_id: str, count: int) -> None:
        of_queue = self._receivers.get(uid)
        if of_queue is None:
            of_queue = self._receivers[uid] = OrderedDict()
            if len(self._receivers) > QUEUES_MAX:
                self._receivers.popitem(last=False)
        old = of_queue.pop(receiver_id, None)
        before, calls = (old.messages, old.calls) if old is not None else (0, 0)
        of_queue[receiver_id] = Receiver(receiver_id, self._clock.now_ms(), before + count, calls + 1)
        if len(of_queue) > RECEIVERS_MAX:
            of_queue.popitem(last=False)
