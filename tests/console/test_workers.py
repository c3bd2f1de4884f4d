"""The console of a node with several workers: it says whose figures it shows, and finds what another worker has."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from admin.grace import Grace
from cqs.api.siblings import Siblings
from cqs.identity import Role
from tests.console.desk import Desk, make_desk
from tests.engine import make_bench


async def worker(folder: Path, number: int) -> tuple[Desk, Siblings]:
    """A worker's console, on which changes stay pending for ever."""
    siblings = Siblings(folder, number)
    bench = await make_bench()
    bench = replace(bench, engine=replace(bench.engine, fellows=siblings))

    async def pause(_: float) -> None:
        await asyncio.Event().wait()

    grace = Grace(bench.clock, pause=pause, first=1_000_000 * number)
    desk = await make_desk(bench=bench, grace=grace)
    await siblings.start()
    await bench.create("orders")
    return desk, siblings


async def test_pages_say_of_which_worker_their_figures_are(tmp_path: Path) -> None:
    desk, siblings = await worker(tmp_path, 2)
    told = [(await desk.get(path)).words for path in ("/", "/queues", "/q/000000000000/orders", "/nodes")]
    siblings.close()
    await desk.client.close()

    assert all("Worker 2 of this node answered." in words for words in told)


async def test_a_node_of_one_process_says_nothing_of_workers(desk: Desk) -> None:
    assert "of this node answered" not in (await desk.get("/")).words


async def test_what_waits_at_one_worker_is_called_off_at_another(tmp_path: Path) -> None:
    one, siblings = await worker(tmp_path, 1)
    other, its_siblings = await worker(tmp_path, 2)
    await one.post("/queues/purge", chosen="orders", typed="orders")
    (pending,) = one.console.grace.of("000000000000")

    words = (await other.post(f"/undo/{pending.number}")).words
    again = (await other.post(f"/undo/{pending.number}")).words
    siblings.close()
    its_siblings.close()
    for desk in (one, other):
        await desk.client.close()

    assert "Cancelled: nothing was done." in words
    assert "Too late" in again
    assert one.console.grace.of("000000000000") == []


async def test_tries_to_log_in_count_at_whichever_worker_they_are_made(tmp_path: Path) -> None:
    one, siblings = await worker(tmp_path, 1)
    other, its_siblings = await worker(tmp_path, 2)
    for desk in (one, other):
        await desk.add_user("alice", Role.ADMINISTRATOR)
    for _ in range(3):
        await one.log_in("alice", "wrong password")
        await other.log_in("alice", "wrong password")

    locked = [(await desk.log_in("alice")).status for desk in (one, other)]
    siblings.close()
    its_siblings.close()
    for desk in (one, other):
        await desk.client.close()

    assert locked == [429, 429]


async def test_figures_say_as_of_when_they_are(desk: Desk) -> None:
    await desk.bench.create("orders")

    assert "Counted as of" in (await desk.get("/queues")).words
    assert "Counts of all queues as of never" in (await desk.get("/")).words
    assert "Counted as of" in (await desk.get("/q/000000000000/orders")).words
