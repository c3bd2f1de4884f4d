"""Random histories of a queue, run on the service (`played_queue`) and on a small model of SQS (`sqs_model`): sends,
receives, clients that vanish, deletes, changed visibility, purges, passing time and restarts, in any order. SQS must be
able to give every answer of the service, and after every step the counts must agree."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cqs.service.deliver import Delivery
from cqs.service.draft_rules import Draft
from cqs.service.send import Sent
from tests.property.played_queue import RETENTION_MS, VISIBILITY_MS, PlayedQueue
from tests.property.sqs_model import DEDUP_WINDOW_MS, ModelMessage, ModelQueue

GROUPS = st.sampled_from("abc")
DEDUP_IDS = st.sampled_from([f"d{number}" for number in range(6)])
DELAYS_MS = st.sampled_from([None, 0, 1_000, 900_000])
ENTRIES = st.lists(st.tuples(GROUPS, DEDUP_IDS, DELAYS_MS), min_size=1, max_size=4)
TIMEOUTS_MS = st.sampled_from([0, 1_000, 30_000, 600_000, 43_200_000])
PASSING_MS = st.one_of(
    st.sampled_from([1, 999, 1_000, 29_999, 30_001, 299_999, 300_001, 900_000, 43_200_000]),
    st.integers(1, 1_000_000),
)
HANDLES_TRIED = 12
WIPED_AT_MESSAGES = 12
"""Only queues with this many messages are purged or left to expire; otherwise most histories would have empty
queues."""


class History(RuleBasedStateMachine):
    """One queue. Subclasses choose its kind and its store."""

    is_fifo = False
    is_in_memory = False

    def __init__(self) -> None:
        super().__init__()
        self.real = PlayedQueue(is_fifo=self.is_fifo, is_in_memory=self.is_in_memory)
        self.model = ModelQueue(self.is_fifo)
        self.bodies_sent = 0

    @rule(entries=ENTRIES)
    def send(self, entries: list[tuple[str, str, int | None]]) -> None:
        self.send_all(entries)

    def send_all(self, entries: list[tuple[str, str, int | None]]) -> None:
        drafts = [self.draft(*entry) for entry in entries]
        for draft, sent in zip(drafts, self.real.send(drafts), strict=True):
            self.note_sent(draft, sent)

    def draft(self, group: str, dedup_id: str, delay_ms: int | None) -> Draft:
        self.bodies_sent += 1
        body = f"body {self.bodies_sent}"
        return Draft(body, group=group, dedup_id=dedup_id) if self.is_fifo else Draft(body, delay_ms=delay_ms)

    def note_sent(self, draft: Draft, sent: Sent) -> None:
        now_ms, dedup_id = self.real.now_ms, draft.dedup_id or ""
        first = self.model.first_of(dedup_id, now_ms) if self.is_fifo else None
        if first is not None:
            assert (sent.message_id, sent.sequence) == (first.message_id, first.sequence)
            return
        assert self.model.find(sent.message_id) is None
        message = ModelMessage(sent.message_id, draft.body, draft.group or "", now_ms, now_ms + (draft.delay_ms or 0))
        self.model.add(message, dedup_id, sent.sequence, now_ms)

    @precondition(lambda self: self.model.firsts)
    @rule(data=st.data(), is_over=st.booleans())
    def send_at_the_end_of_a_window(self, data: st.DataObject, is_over: bool) -> None:
        """One millisecond before a deduplication window ends, or after."""
        dedup_id, first = data.draw(st.sampled_from(sorted(self.model.firsts.items())), label="first")
        edge_ms = first.sent_ms + DEDUP_WINDOW_MS + (1 if is_over else -1)
        if edge_ms > self.real.now_ms:
            self.pass_ms(edge_ms - self.real.now_ms)
            self.send_all([("a", dedup_id, None)])

    @rule(count_max=st.integers(1, 10), visibility_ms=st.one_of(st.none(), TIMEOUTS_MS))
    def receive(self, count_max: int, visibility_ms: int | None) -> None:
        for delivery, message in self.take(count_max, visibility_ms):
            self.model.give(
                message, delivery.handle, self.real.now_ms, VISIBILITY_MS if visibility_ms is None else visibility_ms
            )
            assert delivery.received.receive_count == len(message.leases)
            assert delivery.received.first_receive_ms == message.leases[0].received_ms
        handles = [lease.handle for lease in self.model.leases]
        assert len(set(handles)) == len(handles)

    @rule(count_max=st.integers(1, 10))
    def receive_and_vanish(self, count_max: int) -> None:
        """The response is never delivered: the messages go back, neither hidden nor counted."""
        taken = self.take(count_max, None)
        self.real.give_back([delivery for delivery, _ in taken])
        for _, message in taken:
            message.is_fenced = True

    def take(self, count_max: int, visibility_ms: int | None) -> list[tuple[Delivery, ModelMessage]]:
        deliveries = self.real.receive(count_max, visibility_ms)
        ids = [delivery.message.message_id for delivery in deliveries]
        self.model.check_receive(ids, count_max, self.real.now_ms)
        messages = [self.model.get(message_id) for message_id in ids]
        assert [delivery.message.body for delivery in deliveries] == [message.body for message in messages]
        return list(zip(deliveries, messages, strict=True))

    @precondition(lambda self: self.model.leases)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.model.leases[-HANDLES_TRIED:]), label="handle")
        is_allowed = self.model.may_delete(lease, self.real.now_ms)
        assert self.real.delete(lease.handle) == is_allowed
        if is_allowed:
            self.model.delete(lease.message)

    @precondition(lambda self: self.model.leases)
    @rule(data=st.data(), timeout_ms=TIMEOUTS_MS)
    def change_visibility(self, data: st.DataObject, timeout_ms: int) -> None:
        lease = data.draw(st.sampled_from(self.model.leases[-HANDLES_TRIED:]), label="handle")
        is_allowed = self.model.may_change(lease, timeout_ms, self.real.now_ms)
        assert self.real.change_visibility(lease.handle, timeout_ms) == is_allowed
        if is_allowed:
            lease.message.hidden_until_ms = self.real.now_ms + timeout_ms

    @rule(by_ms=PASSING_MS)
    def time_passes(self, by_ms: int) -> None:
        self.pass_ms(by_ms)

    def pass_ms(self, by_ms: int) -> None:
        """Advances the time, but not exactly to the end of a deduplication window, nor past a message's retention."""
        after_ms = self.real.now_ms + by_ms
        if any(after_ms - first.sent_ms == DEDUP_WINDOW_MS for first in self.model.firsts.values()):
            by_ms += 1
        if all(after_ms < message.sent_ms + RETENTION_MS for message in self.model.messages):
            self.real.advance_ms(by_ms)

    @precondition(lambda self: len(self.model.messages) >= WIPED_AT_MESSAGES)
    @rule()
    def retention_passes(self) -> None:
        """All messages have expired and are gone, at the latest on the next access."""
        self.real.advance_ms(RETENTION_MS)
        self.model.messages.clear()
        assert self.take(10, None) == []

    @precondition(lambda self: len(self.model.messages) >= WIPED_AT_MESSAGES)
    @rule()
    def purge(self) -> None:
        self.real.purge()
        self.model.purge()

    @rule()
    def restart(self) -> None:
        """Takes some time, like any restart: sequence numbers start from the clock if no message is left."""
        self.pass_ms(1)
        self.real.restart()

    @invariant()
    def counts_agree(self) -> None:
        counts = self.real.counts()
        assert (counts.ready, counts.in_flight, counts.delayed) == self.model.counts(self.real.now_ms)

    def teardown(self) -> None:
        self.real.close()


class StandardOnSqlite(History):
    pass


class FifoOnSqlite(History):
    is_fifo = True


class StandardInMemory(History):
    is_in_memory = True


class FifoInMemory(History):
    is_fifo = True
    is_in_memory = True


_BOUNDS = settings(stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)

TestStandardOnSqlite = StandardOnSqlite.TestCase
TestStandardOnSqlite.settings = settings(_BOUNDS, max_examples=40)
TestFifoOnSqlite = FifoOnSqlite.TestCase
TestFifoOnSqlite.settings = settings(_BOUNDS, max_examples=40)
TestStandardInMemory = StandardInMemory.TestCase
TestStandardInMemory.settings = settings(_BOUNDS, max_examples=80)
TestFifoInMemory = FifoInMemory.TestCase
TestFifoInMemory.settings = settings(_BOUNDS, max_examples=80)
