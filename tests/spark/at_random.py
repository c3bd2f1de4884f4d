"""Random histories from a seed: messages of two queues are sent, received in and out of order, hidden, given back and
ended. Two audits of a history must agree."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from cqs.cache.interface import Received
from cqs.message import Message
from cqs.queue import Queue
from tests.spark.golden import Golden, receipt_of

STEPS = 250
PAUSES_MS = (0, 0, 1, 1, 5, 50, 300, 1_500)
QUEUES = ("random", "random.fifo")


class AtRandom:
    """Plays one queue and tracks its messages and their latest receivers. Each step is one call."""

    def __init__(self, golden: Golden, queue: Queue) -> None:
        self.golden, self.rng = golden, golden.rng
        self.queue = queue
        self.there: dict[int, Message] = {}
        self.last: dict[int, Received] = {}

    def step(self) -> None:
        calls: list[Callable[[], None]] = [self._send] * 6 + [self._receive] * 6
        if self.last:
            calls += [self._delete] * 4 + [self._hide, self._give_back, self._expire]
        self.rng.choice(calls)()

    def drain(self) -> None:
        for message in list(self.there.values()):
            self.golden.consume(self.queue, message)

    def _send(self) -> None:
        group = self.rng.choice("xyz") if self.queue.settings.is_fifo else None
        for message in self.golden.send(self.queue, self.rng.randint(1, 3), group):
            self.there[message.address] = message

    def _receive(self) -> None:
        now_ms = self.golden.clock.now_ms()
        free = [one for one in self.there.values() if self._hidden_until_ms(one.address) <= now_ms]
        some = free if free and self.rng.random() < 0.8 else list(self.there.values())
        picked = some[: self.rng.randint(1, 3)]
        if picked:
            self.last |= {one.address: one for one in self.golden.receive(self.queue, *picked)}

    def _delete(self) -> None:
        address, begun_ms = self._held(), self.golden.clock.now_ms()
        self.golden.tick(self.rng.choice((0, 1, 3)))
        self.golden.node.deleted(self.queue, [address], begun_ms if self.queue.settings.is_fifo else 0)
        self._forget(address)

    def _hide(self) -> None:
        received = self.last[self._held()]
        until_ms = self.golden.clock.now_ms() + self.rng.choice((0, 0, 2_000, 60_000))
        self.golden.tick(self.rng.choice((0, 1, 3)))
        self.golden.node.hidden(self.queue, receipt_of(self.queue, received), until_ms)
        self.last[received.address] = msgspec.structs.replace(received, hidden_until_ms=until_ms)

    def _give_back(self) -> None:
        self.golden.node.given_back(self.queue, [self.last.pop(self._held())])

    def _expire(self) -> None:
        address = self._held()
        self.golden.node.expired(self.queue, [address])
        self._forget(address)

    def _held(self) -> int:
        return self.rng.choice(list(self.last))

    def _hidden_until_ms(self, address: int) -> int:
        return self.last[address].hidden_until_ms if address in self.last else 0

    def _forget(self, address: int) -> None:
        del self.there[address], self.last[address]


def play_at_random(golden: Golden) -> None:
    """Plays a random history, which ends with empty queues."""
    queues = [AtRandom(golden, golden.queue(name)) for name in QUEUES]
    for _ in range(STEPS):
        golden.tick(golden.rng.choice(PAUSES_MS))
        golden.rng.choice(queues).step()
    for queue in queues:
        queue.drain()
