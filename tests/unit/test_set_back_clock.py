"""A clock that was ahead is set back: messages sent before are not delayed longer than their queue says, and sends are
not taken for repeats for longer than five minutes."""

from __future__ import annotations

import pytest

from cqs import limits
from tests.engine import make_bench

HOUR_MS = 3_600_000


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
async def test_what_was_sent_without_a_delay_is_ready_after_a_start(name: str) -> None:
    bench = await make_bench()
    queue = await bench.create(name)
    await bench.send(queue, "one")
    bench.clock.advance_ms(-HOUR_MS)

    bench = await bench.restart()

    assert await bench.bodies(queue) == ["one"]


async def test_ids_used_before_swallow_no_sends_for_longer_than_the_window() -> None:
    bench = await make_bench()
    queue = await bench.create("orders.fifo", is_content_dedup=True)
    await bench.send_same(queue, "a heartbeat")
    bench.clock.advance_ms(-HOUR_MS)

    await bench.send_same(queue, "a heartbeat")
    bench.clock.advance_ms(limits.DEDUP_WINDOW_MS)
    await bench.send_same(queue, "a heartbeat")

    assert await bench.bodies(queue) == ["a heartbeat"] * 2
