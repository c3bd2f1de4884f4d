"""Messages of unknown outcome, between one who found them in the store and one who wants their deduplication id.

A message on a minority of the replicas is found by one quorum and not by the next. On one node, that is a message whose
confirmation is not there, or not there yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.message import Message
from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore, takeovers
from cqs.store.cassandra.session import Decision, Write
from cqs.store.cassandra.takeovers import PENDING_MS, YOUNG_MS, Ruling
from cqs.store.interface import Claim, Wanted
from cqs.testing.clock import ManualClock
from tests.contract.cassandra_home import LostAnswers, OnTwoNodes
from tests.contract.store_claims_suite import send
from tests.contract.store_home import WINDOW_MS, Maker, held
from tests.needs import needs

pytestmark = [needs("java", "mvn"), pytest.mark.slow]


async def in_part(store: CassandraStore, queue: Queue, message: Message) -> None:
    """As a quorum finds it that meets its message and not its confirmation."""
    await store.messages.append(queue.storage_id, [message])


async def die_before_the_fence(node: CassandraStore, queue: Queue, make: Maker, doubted: Message) -> None:
    delete = node.messages.delete

    async def cut(_: int, __: Sequence[int], *, is_unsaid: bool = False) -> None:
        raise StoreUnavailable("cut off")

    node.messages.delete = cut  # type: ignore[assignment,method-assign]
    with pytest.raises(StoreUnavailable):
        await node.takeovers.rule(queue, doubted.address, make.address())
    node.messages.delete = delete  # type: ignore[method-assign]


async def die_with_its_notice_up(node: CassandraStore, queue: Queue, taker: int, doubted: Message) -> None:
    decide, decisions = node.session.decide, 0

    async def cut(writes: Sequence[Write], *, is_here: bool = False) -> Decision:
        nonlocal decisions
        decisions += 1
        if decisions > 1:
            raise StoreUnavailable("cut off")
        return await decide(writes, is_here=is_here)

    node.session.decide = cut  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable):
        await node.takeovers.rule(queue, doubted.address, taker)
    node.session.decide = decide  # type: ignore[method-assign]


class TestTakeovers(OnTwoNodes):
    @pytest.fixture
    async def doubted(self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock) -> Message:
        """A message whose claim is old enough to be taken over by `other`; it is not stored."""
        message = make.message(group="g", dedup_id="d")
        (claim,) = await store.claim(queue, [Wanted("", "d", message.address)], WINDOW_MS)
        clock.advance_ms(PENDING_MS)
        return msgspec.structs.replace(message, sequence=claim.sequence)

    async def test_a_message_that_somebody_found_is_the_answer_to_a_repeat_even_when_it_was_deleted_since(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker, doubted: Message
    ) -> None:
        await in_part(store, queue, doubted)

        certain = await store.takeovers.certain(queue, [doubted.address])
        await store.delete(queue, [doubted.address])
        repeat, _ = await send(other, queue, make, "d")

        assert certain == {doubted.address}
        assert repeat == Claim(doubted.address, doubted.sequence, False)

    async def test_a_message_that_arrives_while_its_claim_is_taken_over_is_handed_out_by_nobody(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker, doubted: Message
    ) -> None:
        delete, certain = other.messages.delete, list[set[int]]()

        async def late(storage_id: int, addresses: Sequence[int], *, is_unsaid: bool = False) -> None:
            await store.messages.append(queue.storage_id, [doubted], confirmed_s=600)
            certain.append(await store.takeovers.certain(queue, [doubted.address]))
            await delete(storage_id, addresses, is_unsaid=is_unsaid)

        other.messages.delete = late  # type: ignore[method-assign]
        repeat, message = await send(other, queue, make, "d")

        assert repeat.is_new
        assert certain == [set()]
        assert await held(store, queue) == [message.address]

    async def test_a_message_that_is_confirmed_once_the_notice_is_up_is_the_answer(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker, doubted: Message
    ) -> None:
        confirmed, looks = other.messages.confirmed, 0

        async def arriving(storage_id: int, addresses: Sequence[int]) -> set[int]:
            nonlocal looks
            looks += 1
            if looks == 3:
                await store.messages.append(queue.storage_id, [doubted], confirmed_s=600)
            return await confirmed(storage_id, addresses)

        other.messages.confirmed = arriving  # type: ignore[method-assign]
        repeat, _ = await send(other, queue, make, "d")

        assert repeat == Claim(doubted.address, doubted.sequence, False)
        assert await store.takeovers.certain(queue, [doubted.address]) == {doubted.address}
        assert (await store.takeovers.seen(queue, [doubted.address]))[1] == {}

    async def test_a_message_that_a_reader_finds_before_the_notice_is_final_is_the_answer(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker, doubted: Message
    ) -> None:
        confirmed, certain = other.messages.confirmed, list[set[int]]()

        async def late(storage_id: int, addresses: Sequence[int]) -> set[int]:
            found = await confirmed(storage_id, addresses)
            if (await store.takeovers.seen(queue, addresses))[1] and not certain:
                await in_part(store, queue, doubted)
                certain.append(await store.takeovers.certain(queue, addresses))
            return found

        other.messages.confirmed = late  # type: ignore[method-assign]
        repeat, _ = await send(other, queue, make, "d")

        assert certain == [{doubted.address}]
        assert repeat == Claim(doubted.address, doubted.sequence, False)

    async def test_a_takeover_whose_node_died_before_the_fence_is_finished_by_a_reader(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker, doubted: Message
    ) -> None:
        await die_before_the_fence(other, queue, make, doubted)
        await in_part(store, queue, doubted)

        assert await store.takeovers.certain(queue, [doubted.address]) == set()
        assert (await send(other, queue, make, "d"))[0].is_new
        assert doubted.address not in await held(store, queue)

    async def test_a_takeover_whose_node_died_before_the_fence_is_finished_by_the_next_taker(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker, doubted: Message
    ) -> None:
        await die_before_the_fence(other, queue, make, doubted)

        heir, message = await send(other, queue, make, "d")
        await store.messages.append(queue.storage_id, [doubted], confirmed_s=600)

        assert heir.is_new
        assert await held(store, queue) == [message.address]

    async def test_a_taker_that_died_with_its_notice_up_is_waited_for_and_then_replaced(
        self,
        store: CassandraStore,
        other: CassandraStore,
        queue: Queue,
        make: Maker,
        doubted: Message,
        clock: ManualClock,
    ) -> None:
        one, two = make.address(), make.address()
        await die_with_its_notice_up(other, queue, one, doubted)

        early = await other.takeovers.rule(queue, doubted.address, two)
        clock.advance_ms(PENDING_MS)

        assert (early, await other.takeovers.rule(queue, doubted.address, two)) == (Ruling.UNDECIDED, Ruling.FENCED)

    async def test_a_taker_goes_on_with_its_own_notice_at_once(
        self, other: CassandraStore, queue: Queue, make: Maker, doubted: Message
    ) -> None:
        taker = make.address()
        await die_with_its_notice_up(other, queue, taker, doubted)

        assert await other.takeovers.rule(queue, doubted.address, taker) is Ruling.FENCED

    async def test_of_two_takers_one_decides(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker, doubted: Message
    ) -> None:
        rulings = await asyncio.gather(
            *[node.takeovers.rule(queue, doubted.address, make.address()) for node in (store, other)]
        )

        assert sorted(one.name for one in rulings) == [Ruling.FENCED.name, Ruling.UNDECIDED.name]

    async def test_a_notice_whose_answer_was_lost_is_still_ones_own(
        self, store: CassandraStore, queue: Queue, make: Maker, doubted: Message
    ) -> None:
        LostAnswers(store).decisions = 2

        assert await store.takeovers.rule(queue, doubted.address, make.address()) is Ruling.FENCED

    async def test_a_message_that_was_put_up_for_decision_by_its_own_node_is_not_handed_out_by_another(
        self, store: CassandraStore, other: CassandraStore, queue: Queue, make: Maker
    ) -> None:
        message = make.message(group="g", dedup_id="d")
        (claim,) = await store.claim(queue, [Wanted("", "d", message.address)], WINDOW_MS)
        append = store.messages.append

        async def cut(*_: object, **__: object) -> None:
            raise OutcomeUnknown("cut off")

        store.messages.append = cut  # type: ignore[method-assign]
        with pytest.raises(OutcomeUnknown):
            await store.append(queue, [msgspec.structs.replace(message, sequence=claim.sequence)])
        store.messages.append = append  # type: ignore[method-assign]
        await store.release(queue, [message.address])

        await store.messages.append(queue.storage_id, [message], confirmed_s=600)

        assert await other.takeovers.certain(queue, [message.address]) == set()
        assert (await send(other, queue, make, "d"))[0].is_new

    async def test_messages_that_nobody_doubts_are_certain_and_young_ones_are_sought_on_all_replicas_for_a_while(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _, old = await send(store, queue, make, "a")
        clock.advance_ms(YOUNG_MS)
        _, young = await send(store, queue, make, "b")
        addresses = [old.address, young.address]

        assert await store.takeovers.certain(queue, addresses) == set(addresses)
        assert await store.takeovers.certain(queue, []) == set()
        assert [message.address for message in await store.takeovers.seek(queue, addresses)] == [young.address]
        monkeypatch.setattr(takeovers, "SEEK_S", 0)
        assert await store.takeovers.seek(queue, addresses) == []
