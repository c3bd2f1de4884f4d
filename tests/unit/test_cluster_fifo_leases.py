"""A FIFO receive is answered only if its lease is still the current one when the store has it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cqs.errors import CacheUnavailable
from cqs.queue import Queue
from cqs.service import residency
from cqs.service.engine import shard_of
from cqs.store.interface import Lease
from tests.cluster import two_nodes


async def test_messages_that_another_node_took_while_their_leases_were_written_are_not_handed_out_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town, a, b, queue = await two_nodes("orders.fifo")
    await a.send(queue, "7", "8")
    write, taken_by_b = town.store.lease, list[str]()

    async def late(queue: Queue, leases: Sequence[Lease]) -> None:
        monkeypatch.setattr(town.store, "lease", write)
        await town.cache.drop(shard_of(queue))
        await residency.fill(b.engine, queue)
        taken_by_b.extend(await b.bodies(queue))
        await write(queue, leases)

    monkeypatch.setattr(town.store, "lease", late)

    assert (await a.bodies(queue), taken_by_b) == ([], ["7", "8"])


async def test_a_lease_that_was_refilled_from_the_store_is_still_the_receivers(monkeypatch: pytest.MonkeyPatch) -> None:
    town, a, b, queue = await two_nodes("orders.fifo")
    await a.send(queue, "7")
    write = town.store.lease

    async def first(queue: Queue, leases: Sequence[Lease]) -> None:
        await write(queue, leases)
        await town.cache.drop(shard_of(queue))
        await residency.fill(b.engine, queue)

    monkeypatch.setattr(town.store, "lease", first)

    assert await a.bodies(queue) == ["7"]
    assert await b.bodies(queue) == []


async def test_messages_whose_leases_the_cache_does_not_confirm_are_given_back_uncounted() -> None:
    town, a, _, queue = await two_nodes("orders.fifo")
    await a.send(queue, "7")
    town.cache.fail("fence", CacheUnavailable("lost"))

    (delivery,) = await a.receive(queue)

    assert (delivery.message.body, delivery.received.receive_count) == ("7", 1)


async def test_a_receive_that_hides_nothing_has_no_lease() -> None:
    _, a, b, queue = await two_nodes("orders.fifo")
    await a.send(queue, "7")

    assert [one.message.body for one in await a.receive(queue, visibility_ms=0)] == ["7"]
    assert await b.bodies(queue) == ["7"]
