"""The memory cache and a naive model of a shard go through the same random histories and agree at every step."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cqs.cache.entry import Entry, State
from cqs.cache.interface import Received, Shard, TakeRequest, Ticket
from cqs.cache.memory import MemoryCache
from cqs.testing.clock import ManualClock
from tests.property.cache_model import ShardModel

T = TypeVar("T")
RETENTION_MS = 60_000
TIMES = st.sampled_from([0, 1, 500, 1_000, 1_001, 5_000, 30_000])


class CacheMachine(RuleBasedStateMachine):
    """Both, side by side. `handed`: all tickets ever given out, valid or not."""

    is_fifo = False
    tenants = 0
    """Message groups on a standard shard; 0 = none."""
    scale = 1
    """Multiplies the number of messages in each step."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        self.cache = MemoryCache(self.clock, random.Random(1), 0)
        self.shard = Shard(1, self.is_fifo)
        self.model = ShardModel(self.is_fifo)
        self.handed: list[Ticket] = []
        self.last: list[Received] = []
        self.address = 0
        self.removed: list[tuple[int, int]] = []

    def run(self, call: Coroutine[object, object, T]) -> T:
        return self.loop.run_until_complete(call)

    def teardown(self) -> None:
        self.loop.close()

    def entry(self, delay_ms: int, age_ms: int, group: int) -> Entry:
        self.address += 1
        now_ms = self.clock.now_ms()
        return Entry(
            address=self.address,
            sent_ms=now_ms - age_ms,
            group=f"g{group}" if self.is_fifo or group < self.tenants else None,
            sequence=self.address,
            visible_ms=now_ms + delay_ms if delay_ms else 0,
        )

    @initialize(filled=st.integers(0, 5), group=st.sampled_from([0, 0, 0, 1, 2]))
    def open(self, filled: int, group: int) -> None:
        epoch = self.run(self.cache.begin_fill(self.shard, RETENTION_MS))
        assert epoch is not None
        for _ in range(filled):
            entry = self.entry(0, 0, group)
            self.model.put(entry, self.clock.now_ms())
            assert self.run(self.cache.fill(self.shard, epoch, [entry], is_last=False))
        assert self.run(self.cache.fill(self.shard, epoch, [], is_last=True))

    @rule(count=st.integers(1, 4), delay_ms=TIMES, age_ms=TIMES, group=st.sampled_from([0, 0, 0, 1, 2]))
    def put(self, count: int, delay_ms: int, age_ms: int, group: int) -> None:
        entries = [self.entry(delay_ms, age_ms, group) for _ in range(count * self.scale)]
        if self.is_fifo:
            entries.reverse()
        for entry in entries:
            self.model.put(entry, self.clock.now_ms())
        self.run(self.cache.put(self.shard, entries))

    @precondition(lambda self: self.model.notes)
    @rule(data=st.data())
    def put_known(self, data: st.DataObject) -> None:
        address = data.draw(st.sampled_from(sorted(self.model.notes)))
        self.run(self.cache.put(self.shard, [Entry(address=address, sent_ms=0)]))

    @precondition(lambda self: self.removed and self.clock.now_ms() < self.removed[-1][0] + 60_000)
    @rule()
    def put_removed(self) -> None:
        self.run(self.cache.put(self.shard, [Entry(address=self.removed[-1][1], sent_ms=0)]))

    @rule(
        count_max=st.integers(1, 5),
        visibility_ms=TIMES,
        receive_count_max=st.sampled_from([0, 0, 2]),
        in_flight_max=st.sampled_from([120_000, 120_000, 3]),
        request_id=st.sampled_from(["", "a", "b"]),
    )
    def take(
        self, count_max: int, visibility_ms: int, receive_count_max: int, in_flight_max: int, request_id: str
    ) -> None:
        now_ms = self.clock.now_ms()
        request = TakeRequest(
            count_max=count_max * self.scale,
            visibility_ms=visibility_ms,
            retention_ms=RETENTION_MS,
            receive_count_max=receive_count_max,
            in_flight_max=in_flight_max,
            request_id=request_id,
        )
        repeated = self.model.repeated(request, now_ms)
        taken = self.run(self.cache.take(self.shard, request))
        self.last = taken.received
        if repeated is not None:
            assert [one.ticket for one in taken.received] == repeated.tickets
            assert {one.received_ms for one in taken.received} == {repeated.received_ms}
            return
        if self.is_fifo:
            self.model.check_turns(taken, request, now_ms)
        elif self.tenants:
            self.model.check_some(taken, request, now_ms)
        else:
            expected = self.model.predict(request, now_ms)
            assert [one.address for one in taken.received] == expected["received"]
            assert [one.address for one in taken.dead] == expected["dead"]
            assert taken.expired == expected["expired"]
        assert taken.is_over_limit == (len(self.model.in_state(State.IN_FLIGHT)) >= in_flight_max)
        numbers = sorted(one.receive_number for one in [*taken.received, *taken.dead])
        assert all(number > ticket.receive_number for number in numbers[:1] for ticket in self.handed)
        self.model.accept(taken, request, now_ms)
        self.handed += [one.ticket for one in [*taken.received, *taken.dead]]

    @precondition(lambda self: self.handed)
    @rule(data=st.data(), for_ms=TIMES)
    def hide(self, data: st.DataObject, for_ms: int) -> None:
        ticket = data.draw(st.sampled_from(self.handed[-8:]))
        now_ms = self.clock.now_ms()
        expected = self.model.hide(ticket, now_ms + for_ms, now_ms)
        assert self.run(self.cache.hide(self.shard, ticket, now_ms + for_ms)) is expected

    @precondition(lambda self: self.handed)
    @rule(data=st.data(), hold_ms=TIMES)
    def fence(self, data: st.DataObject, hold_ms: int) -> None:
        tickets = data.draw(st.lists(st.sampled_from(self.handed[-8:]), max_size=3, unique=True))
        now_ms = self.clock.now_ms()
        expected = [self.model.fence(ticket, hold_ms, now_ms) for ticket in tickets]
        assert self.run(self.cache.fence(self.shard, tickets, hold_ms)) == expected

    @precondition(lambda self: self.last)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(1, len(self.last)))
        tickets = [one.ticket for one in self.last[:count]]
        expected = self.model.give_back(tickets, self.clock.now_ms())
        assert self.run(self.cache.give_back(self.shard, tickets)) == expected

    @precondition(lambda self: self.model.notes)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        addresses = data.draw(st.lists(st.sampled_from(sorted(self.model.notes)), max_size=3))
        expected = sum(self.model.remove(address) for address in addresses)
        assert self.run(self.cache.remove(self.shard, addresses)) == expected
        self.removed += [(self.clock.now_ms(), address) for address in addresses]

    @rule(by_ms=TIMES)
    def advance(self, by_ms: int) -> None:
        self.clock.advance_ms(by_ms)

    @rule(limit=st.sampled_from([1, 2, 1_000]))
    def reveal(self, limit: int) -> None:
        now_ms = self.clock.now_ms()
        visible, expired = self.model.reveal(RETENTION_MS, limit, now_ms)
        revealed = self.run(self.cache.reveal(self.shard, RETENTION_MS, limit))
        assert revealed.visible == visible
        assert revealed.expired[: len(expired)] == expired
        from_head = revealed.expired[len(expired) :]
        assert visible + len(revealed.expired) <= limit
        for address in from_head:
            assert self.model.notes[address].sent_ms + RETENTION_MS <= now_ms
            assert self.model.notes[address].state is State.READY
            self.model.remove(address)
        hidden = [note.visible_ms for note in self.model.notes.values() if note.state is not State.READY]
        if hidden:
            assert revealed.next_ms is not None and revealed.next_ms <= min(hidden)
        assert (revealed.next_ms is None) == (not self.model.notes)
        assert self.run(self.cache.next_vesting_ms()) == revealed.next_ms

    @rule(delay_ms=TIMES)
    def redelay(self, delay_ms: int) -> None:
        self.model.redelay(delay_ms, self.clock.now_ms())
        self.run(self.cache.redelay(self.shard, delay_ms))

    @rule()
    def vest(self) -> None:
        due = [note for note in self.model.notes.values() if note.visible_ms and note.visible_ms <= self.clock.now_ms()]
        if self.run(self.cache.vesting(10)):
            head_ms = min((note.sent_ms for note in self.model.notes.values() if not note.visible_ms), default=1 << 60)
            assert due or head_ms + RETENTION_MS <= self.clock.now_ms()

    @invariant()
    def same_messages(self) -> None:
        addresses = sorted(self.model.notes)
        known = self.run(self.cache.lookup(self.shard, addresses))
        for address, entry in zip(addresses, known, strict=True):
            assert entry is not None and self.model.notes[address].says(entry)

    @invariant()
    def same_numbers(self) -> None:
        counts = self.run(self.cache.counts(self.shard))
        expected = tuple(len(self.model.in_state(state)) for state in (State.READY, State.IN_FLIGHT, State.DELAYED))
        assert (counts.ready, counts.in_flight, counts.delayed) == expected
        if self.is_fifo:
            in_flight = self.model.in_state(State.IN_FLIGHT)
            assert counts.groups_in_flight == len({self.model.notes[address].group for address in in_flight})

    @invariant()
    def same_pages(self) -> None:
        for state in State:
            page = self.run(self.cache.peek(self.shard, state, None, 10_000))
            assert [entry.address for entry in page.entries] == self.model.in_state(state)


class FifoMachine(CacheMachine):
    is_fifo = True


class TenantMachine(CacheMachine):
    tenants = 2
    scale = 12


_SETTINGS = settings(
    max_examples=120, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestStandardShard = CacheMachine.TestCase
TestStandardShard.settings = _SETTINGS
TestFifoShard = FifoMachine.TestCase
TestFifoShard.settings = _SETTINGS
TestShardWithTenants = TenantMachine.TestCase
TestShardWithTenants.settings = settings(_SETTINGS, max_examples=60)
