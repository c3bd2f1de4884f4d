"""Tags: adding, replacing, removing, and invalid ones."""

from __future__ import annotations

import pytest

from cqs.errors import InvalidParameterValue, QueueDoesNotExist
from cqs.queue import Queue, QueueName
from cqs.service import queues, tags
from tests.engine import ACCOUNT, Bench, make_bench


def tags_of(bench: Bench, queue: Queue) -> dict[str, str]:
    return bench.engine.registry.find(queue.key).tags


async def test_tags_given_at_creation_are_kept() -> None:
    bench = await make_bench()

    queue = await queues.create(bench.engine, QueueName(ACCOUNT, "orders"), {}, {"team": "shop", "empty": ""})

    assert tags_of(await bench.restart(), queue) == {"team": "shop", "empty": ""}


async def test_tag_adds_and_replaces() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")

    await tags.tag(bench.engine, queue, {"team": "shop", "Team": "a"})
    await tags.tag(bench.engine, queue, {"team": "store", "tier": "1"})

    assert tags_of(bench, queue) == {"team": "store", "Team": "a", "tier": "1"}
    assert await bench.store.find(queue.key) == bench.engine.registry.find(queue.key)


async def test_untag_removes_and_does_not_mind_unknown_keys() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await tags.tag(bench.engine, queue, {"team": "shop", "tier": "1"})

    await tags.untag(bench.engine, queue, ["tier", "nothing"])

    assert tags_of(bench, queue) == {"team": "shop"}


async def test_tags_do_not_date_the_settings() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.clock.advance_ms(1_000)

    await tags.tag(bench.engine, queue, {"team": "shop"})

    assert bench.engine.registry.find(queue.key).modified_ms == queue.modified_ms


@pytest.mark.parametrize(
    "bad",
    [
        {"": "v"},
        {"k" * 129: "v"},
        {"k": "v" * 257},
        {"aws:mine": "v"},
        {"AWS:mine": "v"},
        {"k\x00": "v"},
        {"k": "\ud800"},
        {str(number): "v" for number in range(51)},
    ],
    ids=["no key", "long key", "long value", "aws:", "AWS:", "control character", "half a pair", "51 tags"],
)
async def test_bad_tags_are_refused_and_none_is_set(bad: dict[str, str]) -> None:
    bench = await make_bench()
    queue = await bench.create("orders")

    with pytest.raises(InvalidParameterValue):
        await tags.tag(bench.engine, queue, {"good": "v", **bad})
    with pytest.raises(InvalidParameterValue):
        await queues.create(bench.engine, QueueName(ACCOUNT, "new"), {}, bad)

    assert tags_of(bench, queue) == {}
    assert bench.engine.registry.get(QueueName(ACCOUNT, "new")) is None


async def test_longest_tags_fit() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")

    await tags.tag(bench.engine, queue, {f"{number:02}" + "ä" * 126: "ö" * 256 for number in range(50)})

    assert len(tags_of(bench, queue)) == 50


async def test_limit_counts_the_tags_that_are_there() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await tags.tag(bench.engine, queue, {str(number): "v" for number in range(50)})

    await tags.tag(bench.engine, queue, {"7": "new"})
    with pytest.raises(InvalidParameterValue, match="at most 50"):
        await tags.tag(bench.engine, queue, {"50": "v"})

    assert tags_of(bench, queue)["7"] == "new"


async def test_tags_of_a_deleted_queue_are_refused() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await queues.delete(bench.engine, queue)

    with pytest.raises(QueueDoesNotExist):
        await tags.tag(bench.engine, queue, {"team": "shop"})
    with pytest.raises(QueueDoesNotExist):
        await tags.untag(bench.engine, queue, ["team"])
