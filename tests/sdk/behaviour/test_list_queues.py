"""Listing queues: prefix and pages. Each test has its own account."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import refused

_accounts = itertools.count(500_000_000_000)


@pytest.fixture
def own(connect: Callable[..., Any]) -> Any:
    """A client of an account that has no queues yet."""
    return connect(access_key=str(next(_accounts)))


def names(answer: dict[str, Any]) -> list[str]:
    return [url.rsplit("/", 1)[1] for url in answer.get("QueueUrls", [])]


def create(sqs: Any, *queue_names: str) -> None:
    for name in queue_names:
        sqs.create_queue(QueueName=name)


def test_no_queues_are_no_urls(own: Any) -> None:
    assert names(own.list_queues()) == []


def test_only_the_accounts_own_queues_are_listed(own: Any, new_queue: Callable[..., str]) -> None:
    new_queue()
    create(own, "b", "a")
    assert sorted(names(own.list_queues())) == ["a", "b"]


def test_prefix_chooses_by_exact_case(own: Any) -> None:
    create(own, "red-1", "red-2", "Red-3", "blue")
    assert sorted(names(own.list_queues(QueueNamePrefix="red"))) == ["red-1", "red-2"]


def test_pages_together_are_all_queues_once(own: Any) -> None:
    created = [f"q{number}" for number in range(7)]
    create(own, *created)
    answer = own.list_queues(MaxResults=3)
    listed = names(answer)
    assert len(listed) == 3
    while "NextToken" in answer:
        answer = own.list_queues(MaxResults=3, NextToken=answer["NextToken"])
        listed += names(answer)
    assert sorted(listed) == created


def test_page_that_ends_at_the_last_queue_has_no_token(own: Any) -> None:
    create(own, "a", "b", "c")
    assert "NextToken" not in own.list_queues(MaxResults=3)


def test_without_a_maximum_there_is_no_token(own: Any) -> None:
    create(own, "a", "b")
    assert "NextToken" not in own.list_queues()


def test_prefix_holds_over_pages(own: Any) -> None:
    create(own, "a", "red-1", "red-2", "red-3", "z")
    first = own.list_queues(QueueNamePrefix="red", MaxResults=2)
    second = own.list_queues(QueueNamePrefix="red", MaxResults=2, NextToken=first["NextToken"])
    assert sorted(names(first) + names(second)) == ["red-1", "red-2", "red-3"]
    assert "NextToken" not in second


@pytest.mark.parametrize("maximum", [0, 1001, -1])
def test_page_size_out_of_range_is_refused(own: Any, maximum: int) -> None:
    with refused("InvalidParameterValue"):
        own.list_queues(MaxResults=maximum)


def test_invented_token_is_refused(own: Any) -> None:
    create(own, "a", "b")
    with refused("InvalidParameterValue"):
        own.list_queues(MaxResults=1, NextToken="%%invented%%")
