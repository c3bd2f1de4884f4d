"""Listing queues and the sources of a dead-letter queue, page by page."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable

import pytest

from cqs.errors import InvalidParameterValue
from cqs.queue import Queue, QueueName, Redrive
from cqs.service import counting, queues
from tests.engine import ACCOUNT, Bench, make_bench

List = Callable[[str, int | None], tuple[list[Queue], str]]


def names(found: list[Queue]) -> list[str]:
    return [queue.name for queue in found]


def lister(bench: Bench, kind: str) -> List:
    """The listing to test, over queues q0 … q4: all of prefix "q", or all that have the dead-letter queue "dead"."""
    if kind == "queues":
        return lambda token, limit: queues.page(bench.engine, ACCOUNT, "q", token, limit)
    dead = bench.engine.registry.find(QueueName(ACCOUNT, "dead"))
    return lambda token, limit: queues.dead_letter_sources(bench.engine, dead, token, limit)


@pytest.fixture(params=["queues", "sources"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def five(count: int = 5) -> Bench:
    bench = await make_bench()
    dead = await bench.create("dead")
    for number in reversed(range(count)):
        await bench.create(f"q{number}", redrive=Redrive(dead.arn, 3))
    await bench.create("other")
    return bench


async def test_pages_follow_each_other_without_gap(kind: str) -> None:
    show = lister(await five(), kind)

    first, token = show("", 2)
    second, next_token = show(token, 2)
    third, end = show(next_token, 2)

    assert [names(first), names(second), names(third)] == [["q0", "q1"], ["q2", "q3"], ["q4"]]
    assert end == ""


async def test_no_token_when_the_page_ends_with_the_last_one(kind: str) -> None:
    found, token = lister(await five(), kind)("", 5)

    assert names(found) == ["q0", "q1", "q2", "q3", "q4"]
    assert token == ""


async def test_token_outlives_its_queue(kind: str) -> None:
    bench = await five()
    show = lister(bench, kind)
    first, token = show("", 2)
    await queues.delete(bench.engine, first[1])

    assert names(show(token, 2)[0]) == ["q2", "q3"]


@pytest.mark.parametrize(
    "token", ["x", "cTE", "%%%", "ä", "cTE=\n", urlsafe_b64encode(b"a/b").decode(), "/w==", "A" * 999]
)
async def test_bad_token_is_refused(kind: str, token: str) -> None:
    show = lister(await five(), kind)

    with pytest.raises(InvalidParameterValue, match="for parameter NextToken is invalid"):
        show(token, 2)


async def test_without_a_limit_there_are_at_most_a_thousand_and_no_token(kind: str) -> None:
    show = lister(await five(1_001), kind)

    found, token = show("", None)

    assert (len(found), token) == (1_000, "")


async def test_listing_keeps_to_account_and_prefix() -> None:
    bench = await five()
    await queues.create(bench.engine, QueueName("111111111111", "q9"), {}, {})

    assert names(queues.page(bench.engine, "111111111111", "", "", None)[0]) == ["q9"]
    assert names(queues.page(bench.engine, ACCOUNT, "q4", "", None)[0]) == ["q4"]
    assert names(queues.page(bench.engine, ACCOUNT, "", "", None)[0]) == ["dead", "other", "q0", "q1", "q2", "q3", "q4"]


async def test_counts_tell_ready_delayed_and_in_flight() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", delay_ms=1_000)
    await bench.send(queue, "delayed")
    queue = await queues.change_settings(bench.engine, queue, {"delay_ms": 0})
    await bench.send(queue, "one", "two", "three")
    await bench.receive(queue, 2)

    counts = await counting.counts(bench.engine, queue)

    assert (counts.ready, counts.in_flight, counts.delayed) == (1, 2, 1)
