"""Queue tags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import refused

NewQueue = Callable[..., str]


def tags(sqs: Any, url: str) -> dict[str, str]:
    return dict(sqs.list_queue_tags(QueueUrl=url).get("Tags", {}))


def test_new_queue_has_no_tags(sqs: Any, new_queue: NewQueue) -> None:
    assert tags(sqs, new_queue()) == {}


def test_tags_given_at_creation_are_kept(sqs: Any, unique: Callable[[str], str]) -> None:
    given = {"team": "a", "empty": "", "unicode \u00fc": "\U0001f600 & <x>"}
    url = sqs.create_queue(QueueName=unique("tagged"), tags=given)["QueueUrl"]
    assert tags(sqs, url) == given


def test_tags_are_added_replaced_and_removed(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    sqs.tag_queue(QueueUrl=url, Tags={"a": "1", "b": "2"})
    sqs.tag_queue(QueueUrl=url, Tags={"b": "3", "c": "4"})
    assert tags(sqs, url) == {"a": "1", "b": "3", "c": "4"}
    sqs.untag_queue(QueueUrl=url, TagKeys=["a", "missing"])
    assert tags(sqs, url) == {"b": "3", "c": "4"}


def test_fifty_tags_fit_and_fifty_one_do_not(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    fifty = {f"k{number}": "v" for number in range(50)}
    sqs.tag_queue(QueueUrl=url, Tags=fifty)
    with refused("InvalidParameterValue"):
        sqs.tag_queue(QueueUrl=url, Tags={"k50": "v"})
    assert tags(sqs, url) == fifty


@pytest.mark.parametrize(("key", "value"), [("", "v"), ("x" * 129, "v"), ("k", "x" * 257), ("aws:k", "v")])
def test_bad_tag_is_refused(sqs: Any, new_queue: NewQueue, key: str, value: str) -> None:
    url = new_queue()
    with refused("InvalidParameterValue"):
        sqs.tag_queue(QueueUrl=url, Tags={key: value})
    assert tags(sqs, url) == {}


def test_tags_of_a_missing_queue_are_refused(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    sqs.delete_queue(QueueUrl=url)
    with refused("AWS.SimpleQueueService.NonExistentQueue"):
        tags(sqs, url)
