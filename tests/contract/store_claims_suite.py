"""The contract of every store for deduplication ids and sequence numbers. A backend's test class inherits this and
defines `home`."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from cqs.message import Message
from cqs.queue import DedupScope, Queue
from cqs.store.interface import Claim, Wanted
from cqs.testing.clock import ManualClock
from tests.contract.store_home import WINDOW_MS, Home, Maker, Store, purged


async def send(store: Store, queue: Queue, make: Maker, dedup_id: str, group: str = "g") -> tuple[Claim, Message]:
    """Sends like the service: claims the deduplication id, then appends the message if the id is new."""
    message = make.message(group=group, dedup_id=dedup_id)
    scope = group if queue.settings.dedup_scope is DedupScope.GROUP else ""
    (claim,) = await store.claim(queue, [Wanted(scope, dedup_id, message.address)], WINDOW_MS)
    if claim.is_new:
        message = msgspec.structs.replace(message, sequence=claim.sequence)
        await store.append(queue, [message])
    return claim, message


async def parked(task: asyncio.Task[list[Claim]]) -> bool:
    """Whether the task is still waiting once all other tasks have had time to run."""
    done, _ = await asyncio.wait({task}, timeout=0.05)
    return not done


class ClaimContract:
    """Deduplication windows and sequence numbers."""

    @pytest.fixture
    async def fifo(self, store: Store, make: Maker) -> Queue:
        return await store.create(make.fifo())

    async def test_a_repeat_within_the_window_gets_the_first_sends_answer(
        self, store: Store, fifo: Queue, make: Maker, clock: ManualClock
    ) -> None:
        first, message = await send(store, fifo, make, "d")
        clock.advance_ms(WINDOW_MS - 1)

        repeat, _ = await send(store, fifo, make, "d")

        assert first == Claim(message.address, first.sequence, True)
        assert repeat == Claim(message.address, first.sequence, False)

    async def test_the_window_counts_from_the_first_send_not_from_repeats(
        self, store: Store, fifo: Queue, make: Maker, clock: ManualClock
    ) -> None:
        await send(store, fifo, make, "d")
        clock.advance_ms(WINDOW_MS - 1)
        await send(store, fifo, make, "d")
        clock.advance_ms(1)

        later, _ = await send(store, fifo, make, "d")

        assert later.is_new

    async def test_a_window_outlives_the_message(self, store: Store, fifo: Queue, make: Maker) -> None:
        _, message = await send(store, fifo, make, "d")
        await store.delete(fifo, [message.address])

        assert not (await send(store, fifo, make, "d"))[0].is_new

    async def test_windows_hold_over_a_restart_and_end_after_it(
        self, home: Home, store: Store, fifo: Queue, make: Maker, clock: ManualClock
    ) -> None:
        first, _ = await send(store, fifo, make, "d")
        clock.advance_ms(WINDOW_MS - 1)

        reopened = await home.reopen(store)
        within, _ = await send(reopened, fifo, make, "d")
        clock.advance_ms(1)
        after, _ = await send(reopened, fifo, make, "d")

        assert within == msgspec.structs.replace(first, is_new=False)
        assert after.is_new

    async def test_windows_hold_over_a_crash(self, home: Home, store: Store, fifo: Queue, make: Maker) -> None:
        first, _ = await send(store, fifo, make, "d")

        crashed = await home.crash(store)

        assert (await send(crashed, fifo, make, "d"))[0] == msgspec.structs.replace(first, is_new=False)

    async def test_an_unconfirmed_claim_does_not_survive_a_restart(
        self, home: Home, store: Store, fifo: Queue, make: Maker
    ) -> None:
        await store.claim(fifo, [make.wanted("d")], WINDOW_MS)

        reopened = await home.reopen(store)

        assert (await asyncio.wait_for(send(reopened, fifo, make, "d"), 60))[0].is_new

    async def test_ids_are_unique_within_the_queue_or_within_the_group(self, store: Store, make: Maker) -> None:
        by_queue = await store.create(make.fifo("a.fifo"))
        by_group = await store.create(make.fifo("b.fifo", DedupScope.GROUP))
        for queue in (by_queue, by_group):
            await send(store, queue, make, "d", group="one")

        assert not (await send(store, by_queue, make, "d", group="two"))[0].is_new
        assert (await send(store, by_group, make, "d", group="two"))[0].is_new
        assert not (await send(store, by_group, make, "d", group="one"))[0].is_new

    async def test_queues_do_not_share_ids(self, store: Store, fifo: Queue, make: Maker) -> None:
        other = await store.create(make.fifo("other.fifo"))
        await send(store, fifo, make, "d")

        assert (await send(store, other, make, "d"))[0].is_new

    async def test_a_purge_empties_the_windows(self, store: Store, fifo: Queue, make: Maker) -> None:
        await send(store, fifo, make, "d")

        emptied = purged(fifo)
        await store.save(emptied)

        assert (await send(store, emptied, make, "d"))[0].is_new

    async def test_repeats_within_one_call_get_the_first_ones(self, store: Store, fifo: Queue, make: Maker) -> None:
        first, second, other = make.wanted("d"), make.wanted("d"), make.wanted("e")

        claims = await store.claim(fifo, [first, other, second], WINDOW_MS)

        assert [claim.address for claim in claims] == [first.address, other.address, first.address]
        assert [claim.is_new for claim in claims] == [True, True, False]
        assert claims[0].sequence == claims[2].sequence < claims[1].sequence

    async def test_a_claim_waits_for_the_append_that_is_under_way(self, store: Store, fifo: Queue, make: Maker) -> None:
        message = make.message(group="g", dedup_id="d")
        (first,) = await store.claim(fifo, [Wanted("", "d", message.address)], WINDOW_MS)
        waiting = asyncio.ensure_future(store.claim(fifo, [make.wanted("d")], WINDOW_MS))
        assert await parked(waiting)

        await store.append(fifo, [msgspec.structs.replace(message, sequence=first.sequence)])

        assert await waiting == [Claim(message.address, first.sequence, False)]

    async def test_a_released_claim_is_taken_over_by_one_of_those_who_wait(
        self, store: Store, fifo: Queue, make: Maker
    ) -> None:
        lost = make.wanted("d")
        (first,) = await store.claim(fifo, [lost], WINDOW_MS)
        wishes = [make.wanted("d"), make.wanted("d")]
        heir, other = [asyncio.ensure_future(store.claim(fifo, [wish], WINDOW_MS)) for wish in wishes]
        assert await parked(heir)

        await store.release(fifo, [lost.address])

        (taken,) = await heir
        assert (taken.address, taken.is_new) == (wishes[0].address, True)
        assert taken.sequence > first.sequence
        assert await parked(other)
        await store.release(fifo, [wishes[0].address])
        assert (await other)[0].is_new

    async def test_two_batches_that_want_each_others_ids_do_not_wait_for_ever(
        self, store: Store, fifo: Queue, make: Maker
    ) -> None:
        blocker = make.wanted("c")
        await store.claim(fifo, [blocker], WINDOW_MS)
        one = asyncio.ensure_future(store.claim(fifo, [make.wanted("a"), make.wanted("c")], WINDOW_MS))
        two = asyncio.ensure_future(store.claim(fifo, [make.wanted("c"), make.wanted("a")], WINDOW_MS))
        assert await parked(one)

        await store.release(fifo, [blocker.address])
        first = await one
        await store.release(fifo, [claim.address for claim in first])

        assert [claim.is_new for claim in first + await two] == [True] * 4

    async def test_a_released_claim_whose_message_is_stored_is_confirmed(
        self, store: Store, fifo: Queue, make: Maker
    ) -> None:
        claim, message = await send(store, fifo, make, "d")

        await store.release(fifo, [message.address, make.address()])

        assert (await send(store, fifo, make, "d"))[0] == msgspec.structs.replace(claim, is_new=False)

    async def test_the_same_address_may_claim_again(self, store: Store, fifo: Queue, make: Maker) -> None:
        wish = make.wanted("d")

        first = await store.claim(fifo, [wish], WINDOW_MS)
        again = await asyncio.wait_for(store.claim(fifo, [wish], WINDOW_MS), 60)

        assert first == again

    async def test_an_empty_id_only_wants_a_sequence(self, store: Store, fifo: Queue, make: Maker) -> None:
        wishes = [make.wanted(""), make.wanted("")]

        claims = await store.claim(fifo, wishes, WINDOW_MS)

        assert [claim.is_new for claim in claims] == [True, True]
        assert [claim.address for claim in claims] == [wish.address for wish in wishes]
        assert claims[0].sequence < claims[1].sequence

    async def test_sequences_grow_though_the_clock_steps_back(
        self, store: Store, fifo: Queue, make: Maker, clock: ManualClock
    ) -> None:
        claims = []
        for step_ms in (0, 5, -60_000, 0, 1):
            clock.advance_ms(step_ms)
            claims += await store.claim(fifo, [make.wanted("")], WINDOW_MS)

        sequences = [claim.sequence for claim in claims]

        assert sequences == sorted(set(sequences))

    @pytest.mark.parametrize("is_deleted", [False, True], ids=["message kept", "message deleted"])
    async def test_sequences_grow_over_a_restart_under_a_clock_that_is_behind(
        self, home: Home, store: Store, fifo: Queue, make: Maker, clock: ManualClock, is_deleted: bool
    ) -> None:
        before, message = await send(store, fifo, make, "d")
        if is_deleted:
            await store.delete(fifo, [message.address])
        clock.advance_ms(-3_600_000)

        reopened = await home.reopen(store)

        assert (await send(reopened, fifo, make, "e"))[0].sequence > before.sequence
