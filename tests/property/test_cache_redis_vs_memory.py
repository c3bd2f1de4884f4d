"""The memory cache, which is the specification, and the Redis cache go through the same random histories and agree."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from copy import copy
from typing import ClassVar

import pytest
import redis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from cqs.cache.entry import Entry, State
from cqs.cache.interface import QueueCache, Received, Shard, TakeRequest, Ticket
from cqs.cache.memory import MemoryCache
from cqs.cache.redis.cache import RedisCache
from cqs.testing.clock import ManualClock
from tests.contract import redis_keys
from tests.needs import needs
from tests.property.cache_twins import Twins
from tests.redis_server import RedisProcess, server_at

pytestmark = needs("redis-server")

TIMES = st.sampled_from([0, 1, 500, 1_000, 1_001, 5_000, 30_000])
REQUESTS = st.builds(
    TakeRequest,
    count_max=st.integers(1, 5),
    visibility_ms=TIMES,
    retention_ms=st.just(0),
    receive_count_max=st.sampled_from([0, 0, 2]),
    in_flight_max=st.sampled_from([120_000, 120_000, 3]),
    request_id=st.sampled_from(["", "a", "b"]),
)
GROUPS = st.sampled_from([0, 0, 0, 1, 2])


@pytest.fixture(scope="module", autouse=True)
def own_redis() -> Iterator[None]:
    """A Redis that is empty after each example."""
    with RedisProcess() as TwinMachine.process:
        yield


class TwinMachine(RuleBasedStateMachine):
    """Both, side by side. `handed`: all tickets ever given out, valid or not."""

    is_fifo = False
    tenants = 0
    """Message groups on a standard shard; 0 = none."""
    scale = 1
    """Multiplies the number of messages in each step."""
    retention_ms = 60_000
    process: ClassVar[RedisProcess]

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        memory = MemoryCache(self.clock, random.Random(1), 0)
        server = server_at(self.process, timeout_s=10)
        self.redis = RedisCache({"": server}, lambda key: "", random.Random(1), now_ms=self.clock.now_ms)
        self.loop.run_until_complete(self.redis.start())
        self.twins = Twins(self.loop, memory, self.redis, Shard(1, self.is_fifo))
        self.handed: list[Ticket] = []
        self.last: list[Received] = []
        self.addresses: list[int] = []
        self.removed: list[tuple[int, int]] = []

    @property
    def shard(self) -> Shard:
        return self.twins.shard

    def teardown(self) -> None:
        self.loop.run_until_complete(self.redis.close())
        self.loop.close()
        with redis.Redis(unix_socket_path=self.process.path) as admin:
            redis_keys.check(admin)
            admin.flushall()

    def entry(self, delay_ms: int, age_ms: int, group: int) -> Entry:
        self.addresses.append(address := len(self.addresses) + 1)
        now_ms = self.clock.now_ms()
        entry = Entry(address=address, sent_ms=now_ms - age_ms, sequence=address if self.is_fifo else 0)
        entry.group = f"g{group}" if self.is_fifo or group < self.tenants else None
        entry.visible_ms = now_ms + delay_ms if delay_ms else 0
        return entry

    def leased(self, delay_ms: int, group: int) -> Entry:
        entry = self.entry(delay_ms, 0, group)
        entry.state, entry.receive_count, entry.first_receive_ms = State.IN_FLIGHT, 2, entry.sent_ms
        return entry

    @initialize(
        kinds=st.lists(st.tuples(st.sampled_from(["fill", "lease", "put", "remove"]), TIMES, GROUPS), max_size=9)
    )
    def open(self, kinds: list[tuple[str, int, int]]) -> None:
        epochs = self.twins.ask(lambda cache: cache.begin_fill(self.shard, self.retention_ms))
        for kind, delay_ms, group in kinds:
            if kind == "remove" and self.addresses:
                self.drop_out([self.addresses[0]])
            elif kind == "put":
                self.put(1, delay_ms, 0, group)
            else:
                entry = self.leased(delay_ms, group) if kind == "lease" else self.entry(delay_ms, 0, group)
                assert self.fill(epochs, [entry], is_last=False)
        assert self.fill(epochs, [], is_last=True)

    def fill(self, epochs: tuple[int | None, ...], entries: list[Entry], *, is_last: bool) -> bool:
        async def fill(cache: QueueCache) -> bool:
            epoch = epochs[self.twins.caches.index(cache)]
            assert epoch is not None
            return await cache.fill(self.shard, epoch, list(map(copy, entries)), is_last=is_last)

        return self.twins.call(fill)

    @rule(count=st.integers(1, 4), delay_ms=TIMES, age_ms=TIMES, group=GROUPS)
    def put(self, count: int, delay_ms: int, age_ms: int, group: int) -> None:
        ages_ms = 0 if self.is_fifo or self.tenants else age_ms
        entries = [self.entry(delay_ms, ages_ms, group) for _ in range(count * self.scale)]
        if self.is_fifo:
            entries.reverse()
        self.twins.call(lambda cache: cache.put(self.shard, list(map(copy, entries))))

    @precondition(lambda self: self.addresses)
    @rule(data=st.data())
    def put_again(self, data: st.DataObject) -> None:
        address = data.draw(st.sampled_from(self.addresses))
        (known,) = self.twins.known([address])
        if known is not None or any(removed == address for _, removed in self.removed):
            self.twins.call(lambda cache: cache.put(self.shard, [Entry(address=address, sent_ms=0, group="g0")]))

    @rule(request=REQUESTS)
    def take(self, request: TakeRequest) -> None:
        request = replace(request, count_max=request.count_max * self.scale, retention_ms=self.retention_ms)
        self.last = self.twins.take(lambda cache: cache.take(self.shard, request))
        self.handed += [received.ticket for received in self.last]

    @precondition(lambda self: self.handed)
    @rule(data=st.data(), for_ms=TIMES)
    def hide(self, data: st.DataObject, for_ms: int) -> None:
        ticket = data.draw(st.sampled_from(self.handed[-8:]))
        until_ms = self.clock.now_ms() + for_ms
        self.twins.tell(lambda cache, tickets: cache.hide(self.shard, tickets[0], until_ms), ticket)

    @precondition(lambda self: self.handed)
    @rule(data=st.data(), hold_ms=TIMES)
    def fence(self, data: st.DataObject, hold_ms: int) -> None:
        tickets = data.draw(st.lists(st.sampled_from(self.handed[-8:]), max_size=3, unique=True))
        self.twins.tell(lambda cache, tickets: cache.fence(self.shard, tickets, hold_ms), *tickets)

    @precondition(lambda self: self.last)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(1, len(self.last)))
        tickets = [received.ticket for received in self.last[:count]]
        self.twins.tell(lambda cache, tickets: cache.give_back(self.shard, tickets), *tickets)

    @precondition(lambda self: self.addresses)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        addresses = data.draw(st.lists(st.sampled_from(self.addresses), max_size=3))
        self.drop_out(addresses)

    @precondition(lambda self: self.last)
    @rule()
    def finish(self) -> None:
        self.drop_out([received.address for received in self.last])

    def drop_out(self, addresses: list[int]) -> None:
        self.twins.call(lambda cache: cache.remove(self.shard, addresses))
        self.removed += [(self.clock.now_ms(), address) for address in addresses]

    @rule(by_ms=TIMES)
    def advance(self, by_ms: int) -> None:
        self.clock.advance_ms(by_ms)
        self.removed = [(at_ms, one) for at_ms, one in self.removed if self.clock.now_ms() < at_ms + 60_000]

    @rule(limit=st.sampled_from([1, 2, 1_000]))
    def reveal(self, limit: int) -> None:
        one, two = self.twins.ask(lambda cache: cache.reveal(self.shard, self.retention_ms, limit))
        assert (one.visible, one.expired) == (two.visible, two.expired)
        assert self.soon(one.next_ms) == self.soon(two.next_ms)
        self.same_work()

    @precondition(lambda self: self.is_fifo)
    @rule(delay_ms=TIMES)
    def redelay(self, delay_ms: int) -> None:
        """Groups of messages that were due before would take turns in another order, so these are revealed first."""
        self.reveal(1_000)
        self.twins.call(lambda cache: cache.redelay(self.shard, delay_ms))

    @rule()
    def vest(self) -> None:
        self.twins.call(lambda cache: cache.vesting(10))
        self.same_work()

    @invariant()
    def same_messages(self) -> None:
        self.twins.known(self.addresses)

    @invariant()
    def same_numbers(self) -> None:
        sights = [sight for (sight,) in self.twins.ask(lambda cache: cache.survey([self.shard])) if sight]
        (one, none), (two, also_none) = [(sight.counts, sight.stranded) for sight in sights]
        if self.is_fifo:
            one, two = replace(one, oldest_ms=None), replace(two, oldest_ms=None)
        assert (one, none, also_none) == (two, 0, 0)

    def same_work(self) -> None:
        one, two = self.twins.ask(lambda cache: cache.next_vesting_ms())
        assert self.soon(one) == self.soon(two)

    def soon(self, time_ms: int | None) -> int | None:
        """Returns the time; None for an expiry, since the two may consider different messages the oldest."""
        is_far = self.is_fifo and time_ms is not None and time_ms > self.clock.now_ms() + self.retention_ms // 2
        return None if is_far else time_ms

    @rule(state=st.sampled_from(list(State)), after=st.integers(0, 20), limit=st.integers(1, 5))
    def peek(self, state: State, after: int, limit: int) -> None:
        self.twins.page(state, after or None, limit)

    @rule(state=st.sampled_from(list(State)), limit=st.integers(1, 5))
    def browse(self, state: State, limit: int) -> None:
        self.twins.browse(state, limit)


class FifoTwins(TwinMachine):
    is_fifo = True
    retention_ms = 10_000_000


class TenantTwins(TwinMachine):
    tenants = 2
    scale = 12
    retention_ms = 10_000_000


_SETTINGS = settings(max_examples=30, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))
TestStandardShard = TwinMachine.TestCase
TestStandardShard.settings = _SETTINGS
TestFifoShard = FifoTwins.TestCase
TestFifoShard.settings = _SETTINGS
TestShardWithTenants = TenantTwins.TestCase
TestShardWithTenants.settings = settings(_SETTINGS, max_examples=15)
