"""Random histories of a queue, played on the service and on a small model of SQS (`sqs_model`): sends, receives,
deletes, changed visibility, purges, time passing and restarts, in any order. Whatever the service answers must be
something that SQS could have answered, and after every step the counts must agree.

A restart closes the store and opens it again under an empty cache: everything but the time must survive it.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cqs.cache.memory import MemoryCache
from cqs.errors import InvalidParameterValue
from cqs.ids import Addresses
from cqs.queue import Queue, QueueName
from cqs.receipt import Receipts
from cqs.service import delete as deletion
from cqs.service import queues, receive, residency, revisibility, send, visibility
from cqs.service.draft_rules import Draft
from cqs.service.engine import Engine, Tuning
from cqs.service.long_poll import Waiters
from cqs.service.registry import Registry
from cqs.store.interface import Store
from cqs.store.memory import MemoryStore
from cqs.store.sqlite import SqliteStore
from cqs.testing.clock import ManualClock
from cqs.testing.witness import RecordingWitness
from tests.property.sqs_model import DEDUP_WINDOW_MS, ModelMessage, ModelQueue

T = TypeVar("T")

BODY_BUDGET_BYTES = 200
"""Room for a few bodies: most are read from the store."""
VISIBILITY_MS = 30_000
RETENTION_MS = 345_600_000
GROUPS = st.sampled_from("abc")
DEDUP_IDS = st.sampled_from([f"d{number}" for number in range(6)])
DELAYS_MS = st.sampled_from([None, 0, 1_000, 900_000])
TIMEOUTS_MS = st.sampled_from([0, 1_000, 30_000, 600_000, 43_200_000])
PASSING_MS = st.one_of(
    st.sampled_from([1, 999, 1_000, 29_999, 30_001, 299_999, 300_001, 900_000, 43_200_000]),
    st.integers(1, 1_000_000),
)


_IN_MEMORY = Path("/dev/shm")
"""Where files cost no wait for a disk: this is about meaning, not about durability."""


class History(RuleBasedStateMachine):
    """One queue. Subclasses choose its kind and its store."""

    is_fifo = False

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp(dir=_IN_MEMORY if _IN_MEMORY.exists() else None))
        self.clock = ManualClock()
        self.rng = random.Random(1)
        self.model = ModelQueue(self.is_fifo)
        self.bodies_sent = 0
        self.store = self.make_store()
        self.engine = self.run(self.start())
        self.run(self.create())

    def make_store(self) -> Store:
        raise NotImplementedError

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms()

    @property
    def queue(self) -> Queue:
        return self.engine.registry.find(self.key)

    @property
    def key(self) -> QueueName:
        return QueueName("000000000000", "queue.fifo" if self.is_fifo else "queue")

    async def start(self) -> Engine:
        await self.store.open()
        engine = Engine(
            clock=self.clock,
            rng=self.rng,
            addresses=Addresses(self.clock, self.rng),
            cache=MemoryCache(self.clock, self.rng, BODY_BUDGET_BYTES),
            store=self.store,
            registry=Registry(),
            waiters=Waiters(),
            receipts=Receipts(await self.store.secret()),
            witness=RecordingWitness(),
            tuning=Tuning(is_purge_wait_on=False),
        )
        await residency.open_all(engine)
        return engine

    async def create(self) -> None:
        changes: dict[str, object] = {"visibility_ms": VISIBILITY_MS, "retention_ms": RETENTION_MS}
        if self.is_fifo:
            changes["is_fifo"] = True
        await queues.create(self.engine, self.key, changes, {})

    def draft(self, group: str, dedup_id: str, delay_ms: int | None) -> Draft:
        self.bodies_sent += 1
        if self.is_fifo:
            return Draft(body=f"body {self.bodies_sent}", group=group, dedup_id=dedup_id)
        return Draft(body=f"body {self.bodies_sent}", delay_ms=delay_ms)

    def note_sent(self, draft: Draft, sent: send.Sent) -> None:
        first = self.model.first_of(draft.dedup_id or "", self.now_ms) if self.is_fifo else None
        if first is not None:
            assert (sent.message_id, sent.sequence) == (first.message_id, first.sequence)
            return
        assert self.model.find(sent.message_id) is None
        message = ModelMessage(
            sent.message_id, draft.body, draft.group or "", self.now_ms, self.now_ms + (draft.delay_ms or 0)
        )
        self.model.add(message, draft.dedup_id or "", sent.sequence, self.now_ms)

    @rule(group=GROUPS, dedup_id=DEDUP_IDS, delay_ms=DELAYS_MS)
    def send_one(self, group: str, dedup_id: str, delay_ms: int | None) -> None:
        draft = self.draft(group, dedup_id, delay_ms)
        self.note_sent(draft, self.run(send.send(self.engine, self.queue, draft, "sender")))

    @rule(entries=st.lists(st.tuples(GROUPS, DEDUP_IDS, DELAYS_MS), min_size=1, max_size=10))
    def send_batch(self, entries: list[tuple[str, str, int | None]]) -> None:
        drafts = [self.draft(*entry) for entry in entries]
        for draft, sent in zip(
            drafts, self.run(send.send_batch(self.engine, self.queue, drafts, "sender")), strict=True
        ):
            assert isinstance(sent, send.Sent)
            self.note_sent(draft, sent)

    @rule(count_max=st.integers(1, 10), visibility_ms=st.one_of(st.none(), TIMEOUTS_MS))
    def receive(self, count_max: int, visibility_ms: int | None) -> None:
        self.receive_and_check(count_max, visibility_ms)

    def receive_and_check(self, count_max: int, visibility_ms: int | None) -> None:
        request = receive.ReceiveRequest(count_max=count_max, visibility_ms=visibility_ms)
        deliveries = self.run(receive.receive(self.engine, self.queue, request, lambda: True))
        self.model.check_receive([one.message.message_id for one in deliveries], count_max, self.now_ms)
        hidden_ms = VISIBILITY_MS if visibility_ms is None else visibility_ms
        for delivery in deliveries:
            message = self.model.find(delivery.message.message_id)
            assert message is not None
            assert delivery.message.body == message.body
            self.model.give(message, delivery.handle, self.now_ms, hidden_ms)
            assert delivery.received.receive_count == len(message.leases)
            assert delivery.received.first_receive_ms == message.leases[0].received_ms
        handles = [lease.handle for lease in self.model.leases]
        assert len(set(handles)) == len(handles)

    @precondition(lambda self: self.model.leases)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.model.leases[-20:]), label="handle")
        is_allowed = self.model.may_delete(lease, self.now_ms)
        assert self.succeeds(deletion.delete(self.engine, self.queue, lease.handle)) == is_allowed
        if is_allowed:
            self.model.delete(lease.message)

    @precondition(lambda self: self.model.leases)
    @rule(data=st.data(), timeout_ms=TIMEOUTS_MS)
    def change_visibility(self, data: st.DataObject, timeout_ms: int) -> None:
        lease = data.draw(st.sampled_from(self.model.leases[-20:]), label="handle")
        is_allowed = self.model.may_change(lease, timeout_ms, self.now_ms)
        assert self.succeeds(visibility.change(self.engine, self.queue, lease.handle, timeout_ms)) == is_allowed
        if is_allowed:
            lease.message.hidden_until_ms = self.now_ms + timeout_ms

    def succeeds(self, work: Coroutine[Any, Any, None]) -> bool:
        try:
            self.run(work)
        except InvalidParameterValue:
            return False
        return True

    @rule(by_ms=PASSING_MS)
    def time_passes(self, by_ms: int) -> None:
        if any(self.now_ms + by_ms >= message.sent_ms + RETENTION_MS for message in self.model.messages):
            return
        self.clock.advance_ms(by_ms)
        if any(self.now_ms - first.sent_ms == DEDUP_WINDOW_MS for first in self.model.firsts.values()):
            self.clock.advance_ms(1)
        self.run(self.reveal())

    @rule()
    def retention_passes(self) -> None:
        self.clock.advance_ms(RETENTION_MS)
        self.model.messages.clear()
        self.run(self.reveal())
        self.receive_and_check(10, None)

    async def reveal(self) -> None:
        while await revisibility.step(self.engine):
            pass

    @rule()
    def purge(self) -> None:
        self.run(queues.purge(self.engine, self.queue))
        self.model.purge()

    @rule()
    def restart(self) -> None:
        self.run(self.stop())
        self.store = self.reopened_store()
        self.engine = self.run(self.start())
        self.run(self.reveal())

    def reopened_store(self) -> Store:
        return self.make_store()

    async def stop(self) -> None:
        await self.engine.background.drain()
        await self.store.close()

    @invariant()
    def counts_agree(self) -> None:
        counts = self.run(queues.counts(self.engine, self.queue))
        assert (counts.ready, counts.in_flight, counts.delayed) == self.model.counts(self.now_ms)

    def teardown(self) -> None:
        self.run(self.stop())
        self.runner.close()
        shutil.rmtree(self.folder)


class SqliteHistory(History):
    def make_store(self) -> Store:
        return SqliteStore(self.folder / "cqs.db", self.clock)


class MemoryHistory(History):
    def make_store(self) -> Store:
        return MemoryStore(self.clock)

    def reopened_store(self) -> Store:
        return self.store


class StandardOnSqlite(SqliteHistory):
    pass


class FifoOnSqlite(SqliteHistory):
    is_fifo = True


class StandardInMemory(MemoryHistory):
    pass


class FifoInMemory(MemoryHistory):
    is_fifo = True


_BOUNDS = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}

TestStandardOnSqlite = StandardOnSqlite.TestCase
TestStandardOnSqlite.settings = settings(max_examples=40, stateful_step_count=40, **_BOUNDS)
TestFifoOnSqlite = FifoOnSqlite.TestCase
TestFifoOnSqlite.settings = settings(max_examples=40, stateful_step_count=40, **_BOUNDS)
TestStandardInMemory = StandardInMemory.TestCase
TestStandardInMemory.settings = settings(max_examples=80, stateful_step_count=50, **_BOUNDS)
TestFifoInMemory = FifoInMemory.TestCase
TestFifoInMemory.settings = settings(max_examples=80, stateful_step_count=50, **_BOUNDS)
