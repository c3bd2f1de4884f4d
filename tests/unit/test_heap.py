"""Long-lived objects are frozen, and are still freed when they are no longer used."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from cqs import heap
from cqs.service import queues
from cqs.service.delete import delete
from tests.collector import collector_off
from tests.engine import Bench, make_bench

_CIRCLES = """
import gc
import weakref

from cqs import heap

class Circle:
    pass

grown = [[] for _ in range(2 * heap.SURVIVORS_MAX)]
heap.set_aside()
circles = [Circle() for _ in range(heap.SURVIVORS_MAX)]
gc.collect()
assert gc.get_freeze_count() >= len(circles)
for one in circles:
    one.itself = one
some = weakref.ref(circles[0])
del circles, one

kept = []
while gc.get_freeze_count() and len(kept) < 20:
    kept.append([[] for _ in range(heap.SURVIVORS_MAX)])
    gc.collect()
assert some() is not None
gc.collect()

assert some() is None
assert gc.get_freeze_count() > heap.SURVIVORS_MAX * len(kept)
assert len(gc.get_objects(generation=2)) < heap.SURVIVORS_MAX
"""


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    """Restores the garbage collector's settings afterwards."""
    callbacks = list(gc.callbacks)
    heap.set_aside()
    yield
    gc.set_debug(0)
    gc.garbage.clear()
    gc.callbacks[:] = callbacks
    gc.unfreeze()


def test_so_many_survivors_are_set_aside_and_never_looked_through_again() -> None:
    before = gc.get_freeze_count()
    many = [[] for _ in range(heap.SURVIVORS_MAX)]  # type: ignore[var-annotated]

    gc.collect()

    assert gc.get_freeze_count() >= before + len(many)
    assert len(gc.get_objects(generation=2)) < heap.SURVIVORS_MAX


def test_few_survivors_are_looked_through_again() -> None:
    gc.collect()
    before = gc.get_freeze_count()
    few = [[] for _ in range(heap.SURVIVORS_MAX // 2)]  # type: ignore[var-annotated]

    gc.collect()

    assert gc.get_freeze_count() <= before
    assert len(gc.get_objects(generation=2)) >= len(few)


def test_what_became_a_circle_after_it_was_set_aside_is_found_when_there_is_twice_as_much() -> None:
    """Runs in its own process, which has few objects."""
    subprocess.run([sys.executable, "-c", _CIRCLES], check=True)


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
async def test_neither_messages_nor_queues_need_the_collector_to_be_freed(name: str) -> None:
    """Otherwise they would stay for ever once they are frozen."""
    bench = await make_bench()
    await _live(bench, f"warm-{name}")
    with collector_off():
        await _live(bench, name)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()

    assert [one for one in gc.garbage if type(one).__module__.startswith("cqs.")] == []


async def _live(bench: Bench, name: str) -> None:
    """A queue's life: messages sent, received, deleted, left; then it is deleted."""
    queue = await bench.create(name)
    await bench.send(queue, "one", "two", "three")
    first, *_ = await bench.receive(queue)
    await delete(bench.engine, queue, first.handle)
    await queues.delete(bench.engine, queue)
