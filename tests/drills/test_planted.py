"""The checker detects each planted bug as the right kind of failure, and finds nothing wrong with a correct server."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from cqs.cache.memory import MemoryCache
from cqs.receipt import Receipts
from cqs.store.memory import MemoryStore
from tests.drills.load import Load, Run
from tests.drills.planted import (
    AcknowledgingEarly,
    Damaging,
    DeletingInMemory,
    Dropping,
    Oversleeping,
    PushingFirst,
    Reusing,
    Ungrouped,
    serving,
)
from tests.drills.verdict import Cause, Verdict, judge

LOAD = Load(messages=1_500, queues=3, body_bytes=200, hidden_s=2, processing_s=0.01, quit_share=0.02, drain_s_max=4.0)
QUIET = replace(LOAD, messages=600, drain_s_max=90.0)


async def verdict_on(
    load: Load,
    store: MemoryStore | None = None,
    cache: type[MemoryCache] = MemoryCache,
    receipts: type[Receipts] = Receipts,
) -> Verdict:
    """Returns the verdict on a load during which the cache is lost and refilled."""
    async with serving(store, cache, receipts) as server:
        run = Run(load, lambda: [server.port], seed=1)
        await run.create()
        reading = asyncio.ensure_future(run.read())
        writing = asyncio.ensure_future(run.write())
        await run.reached(0.5)
        await server.lose_cache()
        await writing
        await run.finish()
        await reading
        run.history.left = await server.rows_left()
    return judge(run.history)


def found(verdict: Verdict) -> set[str]:
    """Returns the names of the counts that report a failure."""
    counts: dict[str, Any] = vars(verdict) | {"unexplained": verdict.causes[Cause.UNEXPLAINED]}
    accusing = ("lost", "unexpected", "resurrected", "stuck", "hidden_too_short", "miscounted", "overdue",
                "out_of_order", "unexplained")  # fmt: skip
    return {name for name in accusing if counts[name]}


async def test_server_without_bugs_is_not_accused() -> None:
    verdict = await verdict_on(QUIET)

    assert (found(verdict), verdict.problems) == (set(), [])
    assert verdict.acknowledged == verdict.attempted == QUIET.messages


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"cache": Dropping}, {"lost", "stuck"}),
        ({"store": AcknowledgingEarly}, {"lost"}),
        ({"store": DeletingInMemory}, {"stuck"}),
        ({"cache": PushingFirst}, {"hidden_too_short", "unexplained"}),
        ({"receipts": Reusing}, {"resurrected"}),
        ({"cache": Ungrouped}, {"out_of_order"}),
        ({"cache": Oversleeping}, {"overdue"}),
        ({"store": Damaging}, {"unexpected"}),
    ],
    ids=lambda value: "" if isinstance(value, set) else next(iter(value.values())).__name__,
)
async def test_planted_bug_is_found(parts: dict[str, Any], words: set[str]) -> None:
    store = parts.get("store")

    verdict = await verdict_on(LOAD, **(parts | ({"store": store()} if store else {})))

    assert words <= found(verdict), vars(verdict)
    assert verdict.problems
