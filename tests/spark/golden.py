"""A run with known results: a seeded generator plays messages into real journals of two nodes, on a manual clock, and
plants a known number of each fault. Each message gets at most one fault."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import msgspec

from cqs.cache.interface import Received
from cqs.ids import Addresses
from cqs.journal.rules import JournalRules
from cqs.message import Attribute, Message
from cqs.queue import Queue, Settings
from cqs.receipt import Receipt
from cqs.testing.clock import ManualClock
from cqs.testing.journal import JournalHere
from spark_jobs.findings import Kind

VISIBILITY_MS = 30_000
FALLBACK_NUMBER = 1 << 44
"""Receives from the store are numbered by the node itself, above the numbers of the cache."""


def receipt_of(queue: Queue, received: Received) -> Receipt:
    """Returns the receipt with which the consumer changes the message."""
    return Receipt(received.address, queue.uid, received.receive_number, received.received_ms)


class Golden:
    """Plays into `folder`. `planted`: how many faults the audit must find, by kind. `redelivered`: redeliveries by
    reason."""

    def __init__(self, folder: Path, seed: int, *, sample_every: int = 1, rows: int = 1) -> None:
        self.rows = rows
        self.rng = random.Random(seed)
        self.clock = ManualClock()
        self.addresses = Addresses(self.clock, self.rng)
        self.journals = [
            JournalHere(JournalRules(folder, f"node-{name}", sample_every=sample_every), self.clock, self.rng)
            for name in "ab"
        ]
        self.planted: Counter[str] = Counter()
        self.redelivered: Counter[str] = Counter()
        self.acknowledged = 0
        self.first_deliveries: dict[str, list[int]] = {}
        """By queue: the addresses of the messages sent, in the order of their first deliveries."""
        self.tenants: dict[int, str] = {}
        """Tenants by message address."""
        self.runs: dict[int, str] = {}
        self._known: set[int] = set()
        self._number = 0
        self._receives: Counter[int] = Counter()
        self._sequence = 0

    def queue(self, name: str) -> Queue:
        settings = Settings(is_fifo=name.endswith(".fifo"), visibility_ms=VISIBILITY_MS)
        uid = self.rng.getrandbits(47)
        return Queue(account="1" * 12, name=name, region="r", uid=uid, created_ms=1, modified_ms=1, settings=settings)

    @property
    def node(self) -> JournalHere:
        """Chooses one of the nodes: any node may serve any call."""
        return self.rng.choice(self.journals)

    def tick(self, ms: int = 1) -> None:
        self.clock.advance_ms(ms)

    def flush(self) -> None:
        for journal in self.journals:
            journal.flush()

    def close(self) -> None:
        for journal in self.journals:
            journal.finish()

    def message(self, queue: Queue, group: str | None = None, sender: str = "") -> Message:
        self.tick()
        index = self._number = self._number + 1
        self._sequence += queue.settings.is_fifo
        says = {"cqs.run": "golden", "cqs.sender": sender, "cqs.index": str(index)} if sender else {}
        address = self.addresses.next(self.rows)
        self.tenants[address], self.runs[address] = group or "", "golden" if sender else ""
        return Message(
            address=address,
            body=f"body {index} {self.rng.random()}",
            sent_ms=self.clock.now_ms(),
            group=group,
            sequence=self._sequence if queue.settings.is_fifo else 0,
            attributes=tuple(Attribute(name, "String", value.encode()) for name, value in says.items()),
        )

    def send(self, queue: Queue, count: int, group: str | None = None, sender: str = "") -> list[Message]:
        messages = [self.message(queue, group, sender) for _ in range(count)]
        for message in messages:
            self.node.sent(queue, [message])
            self._known.add(message.address)
        self.acknowledged += count
        return messages

    def receive(self, queue: Queue, *messages: Message, body: str = "", is_from_store: bool = False) -> list[Received]:
        self.tick()
        received = []
        for message in messages:
            self._receives[queue.uid] += not is_from_store
            firsts = self.first_deliveries.setdefault(queue.name, [])
            if message.address in self._known and message.address not in firsts:
                firsts.append(message.address)
            content = msgspec.structs.replace(message, body=body) if body else message
            received.append(
                Received(
                    address=message.address,
                    sent_ms=message.sent_ms,
                    group=message.group,
                    sequence=message.sequence,
                    message=content,
                    receive_count=1,
                    first_receive_ms=self.clock.now_ms(),
                    receive_number=FALLBACK_NUMBER + self.clock.now_ms()
                    if is_from_store
                    else self._receives[queue.uid],
                    received_ms=self.clock.now_ms(),
                    hidden_until_ms=self.clock.now_ms() + VISIBILITY_MS,
                )
            )
        self.node.received(queue, received, is_from_store=is_from_store, receiver_id="r")
        return received

    def delete(self, queue: Queue, *messages: Message) -> None:
        self.tick()
        self.node.deleted(queue, [message.address for message in messages])

    def consume(self, queue: Queue, *messages: Message) -> None:
        """Receives all messages in one call and deletes them."""
        self.receive(queue, *messages)
        self.delete(queue, *messages)

    # Faults, and events that only look like one. Each consumes its message.

    def fault(self, name: str, queue: Queue, message: Message) -> None:
        getattr(self, name)(queue, message)

    def timeout(self, queue: Queue, message: Message) -> None:
        self.receive(queue, message)
        self.tick(VISIBILITY_MS)
        self.consume(queue, message)
        self._plant(Kind.DUPLICATE)
        self.redelivered["timeout ran out"] += 1

    def shown(self, queue: Queue, message: Message) -> None:
        """Made visible by its consumer in the millisecond of the receive. Its line comes after that of the next
        receive, which is allowed."""
        [received] = self.receive(queue, message)
        asked_ms = self.clock.now_ms()
        self.receive(queue, message)
        self.tick(5)
        self.node.hidden(queue, receipt_of(queue, received), asked_ms)
        self.delete(queue, message)
        self._plant(Kind.DUPLICATE)
        self.redelivered["made visible"] += 1

    def given_back(self, queue: Queue, message: Message) -> None:
        received = self.receive(queue, message)
        self.tick()
        self.node.given_back(queue, received)
        self.first_deliveries[queue.name].remove(message.address)
        self.consume(queue, message)

    def replayed(self, queue: Queue, message: Message) -> None:
        """The same receive is answered again because of its attempt id."""
        [received] = self.receive(queue, message)
        self.tick()
        again = msgspec.structs.replace(received, received_ms=self.clock.now_ms())
        self.node.received(queue, [again], is_from_store=False)
        self.delete(queue, message)

    def lost(self, queue: Queue, message: Message) -> None:
        self._plant(Kind.NOT_RECEIVED)

    def expired(self, queue: Queue, message: Message) -> None:
        self.node.expired(queue, [message.address])

    def corrupted(self, queue: Queue, message: Message) -> None:
        self.receive(queue, message, body="flipped")
        self.delete(queue, message)
        self._plant(Kind.CORRUPTED)

    def resurrected(self, queue: Queue, message: Message) -> None:
        self.consume(queue, message)
        self.receive(queue, message, is_from_store=True)
        self._plant(Kind.RESURRECTED, Kind.DUPLICATE)
        self.redelivered["after its delete"] += 1

    def hidden_short(self, queue: Queue, message: Message) -> None:
        self.receive(queue, message)
        self.consume(queue, message)
        self._plant(Kind.HIDDEN_TOO_SHORT, Kind.DUPLICATE)
        self.redelivered["hidden too short"] += 1

    def extended_short(self, queue: Queue, message: Message) -> None:
        """Extended by a heartbeat, but redelivered when the first timeout would have ended."""
        [received] = self.receive(queue, message)
        self.tick(VISIBILITY_MS - 1)
        self.node.hidden(queue, receipt_of(queue, received), self.clock.now_ms() + VISIBILITY_MS)
        self.consume(queue, message)
        self._plant(Kind.HIDDEN_TOO_SHORT, Kind.DUPLICATE)
        self.redelivered["hidden too short"] += 1

    def unexpected(self, queue: Queue, _: Message) -> None:
        """A message that nobody sent is received, and the given one is lost."""
        self.consume(queue, self.message(queue))
        self._plant(Kind.UNEXPECTED, Kind.NOT_RECEIVED)

    def overtaken(self, queue: Queue, group: str) -> None:
        first, second = self.send(queue, 2, group)
        self.consume(queue, second)
        self.consume(queue, first)
        self._plant(Kind.FIFO_ORDER)

    def shared(self, queue: Queue, group: str) -> None:
        """Two calls hold messages of the group at the same time."""
        first, second = self.send(queue, 2, group)
        self.receive(queue, first)
        self.consume(queue, second)
        self.delete(queue, first)
        self._plant(Kind.FIFO_TWO_CONSUMERS)

    def in_turn(self, queue: Queue, group: str) -> None:
        """What FIFO allows: two messages in a call, one at a time, and a timeout that ends before the next receive."""
        first, second, third, fourth = self.send(queue, 4, group)
        self.consume(queue, first, second)
        self.receive(queue, third)
        self.tick(VISIBILITY_MS)
        self.consume(queue, third, fourth)
        self._plant(Kind.DUPLICATE)
        self.redelivered["timeout ran out"] += 1

    def move(self, source: Queue, target: Queue, message: Message) -> None:
        """Moves the message to another queue, where it is consumed."""
        moved = msgspec.structs.replace(message, address=self.addresses.next(), moved_id=message.message_id)
        self.node.moved(source, target, [(message.address, moved)])
        self._known.add(moved.address)
        self.acknowledged += 1
        self.consume(target, moved)

    def _plant(self, *kinds: Kind) -> None:
        self.planted.update(kind.value for kind in kinds)
