"""Long polls of a queue with as many messages in flight as are allowed."""

from __future__ import annotations

import asyncio

import pytest

from cqs.service import receive
from cqs.service.delete import delete
from cqs.service.engine import Tuning
from cqs.service.receive import ReceiveRequest
from tests.engine import make_bench, until

GIVE_UP_S = 60


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
async def test_a_waiting_poll_gets_a_message_once_a_delete_makes_room(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receive, "POLL_S", 0.01)
    bench = await make_bench(tuning=Tuning(in_flight_max=1))
    queue = await bench.create(name)
    await bench.send(queue, "one", group="a")
    await bench.send(queue, "two", group="b")
    (first,) = await bench.receive(queue)
    request = ReceiveRequest(wait_ms=3_600_000)
    poll = asyncio.create_task(receive.receive(bench.engine, queue, request, lambda: True))
    await until(lambda: bench.engine.waiters.count(queue.uid) == 1)

    await delete(bench.engine, queue, first.handle)

    async with asyncio.timeout(GIVE_UP_S):
        (second,) = await poll
    assert second.message.body == "two"
