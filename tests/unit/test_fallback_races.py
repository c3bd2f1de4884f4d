"""Receives from the store beside other receives, deletes and fills."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from cqs.errors import StoreUnavailable
from cqs.queue import Queue
from cqs.service import delete
from cqs.store.interface import Lease
from tests.engine import make_bench


async def test_two_receives_at_the_same_moment_get_different_messages() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.store.slow("occupied", "head", "leases", "read", "lease")
    bench.cache.cut()
    await bench.send(queue, *"abcdef")

    first, second = await asyncio.gather(bench.receive(queue, 3), bench.receive(queue, 3))

    assert sorted(one.message.body for one in (*first, *second)) == [*"abcdef"]


async def test_message_deleted_while_the_store_is_read_is_not_handed_out() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one", "two")
    held = (await bench.receive(queue, 1))[0]
    bench.cache.cut()
    read_leases = bench.store.leases

    async def leases(queue: Queue, addresses: Sequence[int]) -> list[Lease | None]:
        await delete.delete(bench.engine, queue, held.handle)
        return await read_leases(queue, addresses)

    bench.store.leases = leases  # type: ignore[method-assign]

    assert {one.message.body for one in await bench.receive(queue)} == {"one", "two"} - {held.message.body}


async def test_receive_that_fails_hides_nothing() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    bench.cache.cut()
    bench.store.fail("lease", StoreUnavailable("disk full"))

    with pytest.raises(StoreUnavailable):
        await bench.receive(queue)

    assert await bench.bodies(queue) == ["one"]
