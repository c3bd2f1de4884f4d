"""Claims of the Cassandra store by several CQS nodes, on a real Cassandra node."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from cqs import ids
from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.message import Message
from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.addresses import place_of, stamp_of
from cqs.store.cassandra.claims import APPEND_MS_MAX
from cqs.store.cassandra.session import Write
from cqs.store.cassandra.takeovers import PENDING_MS
from cqs.store.interface import Claim, Wanted
from cqs.testing.clock import ManualClock
from tests.contract.cassandra_home import LostAnswers, OnCassandra, OnTwoNodes
from tests.contract.store_claims_suite import send
from tests.contract.store_home import WINDOW_MS, Maker, held
from tests.needs import needs

pytestmark = [needs("java", "mvn"), pytest.mark.slow]


async def claim(node: CassandraStore, queue: Queue, wish: Wanted) -> Claim:
    (claimed,) = await asyncio.wait_for(node.claim(queue, [wish], WINDOW_MS), 60)
    return claimed


class TestClaimsOfSeveralNodes(OnTwoNodes):
    async def test_a_repeat_at_another_node_gets_the_first_sends_answer(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker
    ) -> None:
        first, message = await send(store, queue, make, "d")

        repeat, _ = await send(other, queue, make, "d")

        assert repeat == Claim(message.address, first.sequence, False)

    async def test_sequences_grow_over_nodes_in_the_order_of_the_claims(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker
    ) -> None:
        claims = [await claim(node, queue, make.wanted("")) for _ in range(5) for node in (store, other)]

        sequences = [claimed.sequence for claimed in claims]

        assert sequences == sorted(set(sequences))

    async def test_many_claims_at_once_by_two_nodes_never_share_a_sequence_or_an_id(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker
    ) -> None:
        sends = [send(node, queue, make, f"d{number % 20}") for number in range(40) for node in (store, other)]

        sent = await asyncio.gather(*sends)

        new = [claimed for claimed, _ in sent if claimed.is_new]
        assert len(new) == len({claimed.sequence for claimed in new}) == 20
        assert {claimed.address for claimed, _ in sent} == {claimed.address for claimed in new}
        assert sorted(await held(store, queue)) == sorted(claimed.address for claimed in new)

    async def test_a_claim_waits_for_the_append_of_another_node(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker
    ) -> None:
        message = make.message(group="g", dedup_id="d")
        first = await claim(store, queue, Wanted("", "d", message.address))
        waiting = asyncio.ensure_future(claim(other, queue, make.wanted("d")))
        done, _ = await asyncio.wait({waiting}, timeout=0.3)

        await store.append(queue, [message])

        assert not done
        assert await waiting == Claim(message.address, first.sequence, False)

    async def test_a_claim_that_another_node_released_is_free(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker
    ) -> None:
        lost = make.wanted("d")
        await claim(store, queue, lost)
        waiting = asyncio.ensure_future(claim(other, queue, make.wanted("d")))

        await store.release(queue, [lost.address])

        assert (await waiting).is_new

    async def test_a_claim_whose_node_died_is_taken_over_and_its_message_can_no_longer_arrive(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        lost = make.message(group="g", dedup_id="d")
        await claim(store, queue, Wanted("", "d", lost.address))
        clock.advance_ms(PENDING_MS)

        heir, message = await send(other, queue, make, "d")
        with pytest.raises(StoreUnavailable):
            await store.append(queue, [lost])
        await store.messages.append(queue.storage_id, [lost], confirmed_s=600)

        assert heir.is_new
        assert await held(store, queue) == [message.address]
        assert await store.messages.confirmed(queue.storage_id, [lost.address]) == set()

    async def test_a_claim_that_is_given_up_while_it_is_taken_over_is_free(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        lost, delete = make.wanted("d"), other.messages.delete
        await claim(store, queue, lost)
        clock.advance_ms(PENDING_MS)

        async def given_up(storage_id: int, addresses: Sequence[int], *, is_unsaid: bool = False) -> None:
            await delete(storage_id, addresses, is_unsaid=is_unsaid)
            await store.release(queue, addresses)

        other.messages.delete = given_up  # type: ignore[method-assign]

        assert (await claim(other, queue, make.wanted("d"))).is_new

    async def test_outcome_of_an_append_that_took_too_long_is_unknown(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        lost = make.message(group="g", dedup_id="d")
        await claim(store, queue, Wanted("", "d", lost.address))
        append, store.messages.append = store.messages.append, None  # type: ignore[assignment,method-assign]

        async def slow(storage_id: int, messages: list[Message], *, confirmed_s: int) -> None:
            clock.advance_ms(PENDING_MS)
            await send(other, queue, make, "d")
            await append(storage_id, messages, confirmed_s=confirmed_s)

        store.messages.append = slow  # type: ignore[assignment,method-assign]
        with pytest.raises(OutcomeUnknown):
            await store.append(queue, [lost])
        store.messages.append = append  # type: ignore[method-assign]

        assert len(await held(store, queue)) == 1

    async def test_a_message_that_waited_too_long_is_not_stored(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        message = make.message(group="g", dedup_id="d")
        await claim(store, queue, Wanted("", "d", message.address))
        clock.advance_ms(APPEND_MS_MAX + 1)

        with pytest.raises(StoreUnavailable):
            await store.append(queue, [message])

        assert await held(store, queue) == []

    async def test_a_message_acknowledged_in_doubt_stays_when_its_node_stops_after_its_confirmation_has_ended(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        message = make.message(group="g", dedup_id="d")
        await claim(store, queue, Wanted("", "d", message.address))
        append = store.messages.append

        async def unanswered(storage_id: int, messages: list[Message], *, confirmed_s: int) -> None:
            await append(storage_id, messages, confirmed_s=confirmed_s)
            raise OutcomeUnknown("made up by a test")

        store.messages.append = unanswered  # type: ignore[assignment,method-assign]
        with pytest.raises(OutcomeUnknown):
            await store.append(queue, [message])
        assert await store.takeovers.certain(queue, [message.address]) == {message.address}
        clock.advance_ms(WINDOW_MS)
        place = (queue.storage_id, ids.row_of(message.address), *place_of(message.address))
        ended = Write(cql.DELETE_CONFIRMATION, (stamp_of(message.address) + 1, *place))
        await store.session.write([ended])

        await store.close()

        assert await held(other, queue) == [message.address]


class TestLostAnswers(OnCassandra):
    @pytest.fixture
    async def lost(self, store: CassandraStore) -> LostAnswers:
        return LostAnswers(store)

    async def test_a_claim_whose_answer_was_lost_is_still_ones_own(
        self, store: CassandraStore, make: Maker, lost: LostAnswers
    ) -> None:
        queue = await store.create(make.fifo())
        wishes = [make.wanted("a"), make.wanted("b")]

        lost.decisions = 1
        claims = await store.claim(queue, wishes, WINDOW_MS)

        assert [(one.address, one.is_new) for one in claims] == [(wish.address, True) for wish in wishes]
        assert claims[0].sequence < claims[1].sequence

    async def test_a_queue_is_created_saved_and_dropped_though_answers_are_lost(
        self, store: CassandraStore, make: Maker, lost: LostAnswers
    ) -> None:
        queue = make.queue()
        changed = msgspec.structs.replace(queue, version=1, modified_ms=7)

        lost.decisions = 1
        created = await store.create(queue)
        lost.decisions = 1
        is_saved = await store.save(changed)
        found = await store.find(queue.key)
        lost.decisions = 1
        is_dropped = await store.drop(changed, 9)

        assert (created, is_saved, found, is_dropped) == (queue, True, changed, True)
        assert await store.find(queue.key) is None

    async def test_answers_that_are_lost_again_and_again_are_an_unknown_outcome(
        self, store: CassandraStore, make: Maker, lost: LostAnswers
    ) -> None:
        lost.decisions = 99
        with pytest.raises(OutcomeUnknown):
            await store.create(make.queue())
        lost.decisions = 0
