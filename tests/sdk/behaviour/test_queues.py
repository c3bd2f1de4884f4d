"""Creating, finding and deleting queues, and their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import ACCOUNT, attributes, receive, refused, send

Names = Callable[[str], str]
NewQueue = Callable[..., str]


def test_queue_url_names_account_and_queue(sqs: Any, unique: Names) -> None:
    name = unique("orders")
    assert sqs.create_queue(QueueName=name)["QueueUrl"].endswith(f"/{ACCOUNT}/{name}")


def test_queue_is_found_by_name(sqs: Any, unique: Names) -> None:
    name = unique("orders")
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    assert sqs.get_queue_url(QueueName=name)["QueueUrl"] == url


def test_missing_queue_is_not_found(sqs: Any, unique: Names) -> None:
    with refused("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist", "QueueDoesNotExist"):
        sqs.get_queue_url(QueueName=unique("missing"))


def test_missing_queue_text_names_the_wsdl_version_in_query_only(sqs: Any, protocol: str, unique: Names) -> None:
    with pytest.raises(sqs.exceptions.QueueDoesNotExist) as error:
        sqs.get_queue_url(QueueName=unique("missing"))
    ending = " for this wsdl version." if protocol == "query" else "."
    assert error.value.response["Error"]["Message"] == f"The specified queue does not exist{ending}"


def test_queue_of_another_account_is_not_found_under_ones_own(
    connect: Callable[..., Any], sqs: Any, unique: Names
) -> None:
    name = unique("orders")
    other = connect(access_key="111122223333")
    url = other.create_queue(QueueName=name)["QueueUrl"]
    assert f"/111122223333/{name}" in url
    with refused("AWS.SimpleQueueService.NonExistentQueue"):
        sqs.get_queue_url(QueueName=name)
    assert other.get_queue_url(QueueName=name)["QueueUrl"] == url


def test_owner_account_can_be_named(connect: Callable[..., Any], sqs: Any, unique: Names) -> None:
    name = unique("orders")
    url = connect(access_key="111122223333").create_queue(QueueName=name)["QueueUrl"]
    assert sqs.get_queue_url(QueueName=name, QueueOwnerAWSAccountId="111122223333")["QueueUrl"] == url


def test_same_name_in_two_accounts_is_two_queues(connect: Callable[..., Any], sqs: Any, unique: Names) -> None:
    name = unique("orders")
    mine = sqs.create_queue(QueueName=name)["QueueUrl"]
    other = connect(access_key="111122223333")
    theirs = other.create_queue(QueueName=name)["QueueUrl"]
    send(sqs, mine)
    assert receive(other, theirs) == []


def test_creating_again_without_attributes_answers_the_same_url(sqs: Any, unique: Names) -> None:
    name = unique("orders")
    first = sqs.create_queue(QueueName=name, Attributes={"DelaySeconds": "5"})["QueueUrl"]
    assert sqs.create_queue(QueueName=name)["QueueUrl"] == first
    assert attributes(sqs, first, "DelaySeconds") == {"DelaySeconds": "5"}


def test_creating_again_with_equal_attributes_answers_the_same_url(sqs: Any, unique: Names) -> None:
    name = unique("orders")
    first = sqs.create_queue(QueueName=name, Attributes={"DelaySeconds": "5", "VisibilityTimeout": "40"})["QueueUrl"]
    assert sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "40"})["QueueUrl"] == first


def test_creating_again_keeps_the_messages(sqs: Any, unique: Names) -> None:
    name = unique("orders")
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    send(sqs, url)
    sqs.create_queue(QueueName=name)
    assert len(receive(sqs, url)) == 1


def test_creating_again_with_other_attributes_is_refused(sqs: Any, unique: Names) -> None:
    name = unique("orders")
    sqs.create_queue(QueueName=name, Attributes={"DelaySeconds": "5"})
    text = "A queue already exists with the same name and a different value for attribute DelaySeconds"
    with refused("QueueAlreadyExists", text, "QueueNameExists"):
        sqs.create_queue(QueueName=name, Attributes={"DelaySeconds": "6"})


def test_tags_take_no_part_in_comparing_queues(sqs: Any, unique: Names) -> None:
    name = unique("orders")
    first = sqs.create_queue(QueueName=name, tags={"team": "a"})["QueueUrl"]
    assert sqs.create_queue(QueueName=name, tags={"team": "b"})["QueueUrl"] == first


@pytest.mark.parametrize("length", [1, 79, 80])
def test_name_may_have_up_to_80_characters(sqs: Any, unique: Names, length: int) -> None:
    name = unique("")[-1:] if length == 1 else unique("").ljust(length, "x")
    assert sqs.create_queue(QueueName=name)["QueueUrl"].endswith(f"/{name}")


def test_names_differ_by_case(sqs: Any, unique: Names) -> None:
    name = unique("case")
    lower, upper = (sqs.create_queue(QueueName=twin)["QueueUrl"] for twin in (name, name.upper()))
    send(sqs, lower)
    assert receive(sqs, upper) == []


@pytest.mark.parametrize(
    "name", ["x" * 81, "a.b", "a b", "..", "a/b", "ünicode", "a*", "x.fifo.fifo", ".fifo", "name\n"]
)
def test_bad_name_is_refused(sqs: Any, name: str) -> None:
    with refused("InvalidParameterValue"):
        sqs.create_queue(QueueName=name)


def test_fifo_suffix_needs_the_fifo_attribute(sqs: Any, unique: Names) -> None:
    with refused("InvalidParameterValue"):
        sqs.create_queue(QueueName=unique("orders.fifo"))


def test_fifo_attribute_needs_the_suffix(sqs: Any, unique: Names) -> None:
    with refused("InvalidParameterValue"):
        sqs.create_queue(QueueName=unique("orders"), Attributes={"FifoQueue": "true"})


def test_fifo_suffix_counts_towards_the_80_characters(sqs: Any, unique: Names) -> None:
    stem = unique("").ljust(75, "x")
    sqs.create_queue(QueueName=f"{stem}.fifo", Attributes={"FifoQueue": "true"})
    with refused("InvalidParameterValue"):
        sqs.create_queue(QueueName=f"{stem}x.fifo", Attributes={"FifoQueue": "true"})


def test_deleted_queue_is_gone(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    sqs.delete_queue(QueueUrl=url)
    with refused("AWS.SimpleQueueService.NonExistentQueue", shape="QueueDoesNotExist"):
        sqs.send_message(QueueUrl=url, MessageBody="late")
    with refused("AWS.SimpleQueueService.NonExistentQueue"):
        sqs.receive_message(QueueUrl=url)
    with refused("AWS.SimpleQueueService.NonExistentQueue"):
        sqs.delete_queue(QueueUrl=url)


def test_recreated_queue_is_empty_and_knows_no_old_handle(sqs: Any, unique: Names) -> None:
    name = unique("orders")
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    send(sqs, url, "old")
    send(sqs, url, "old")
    message = receive(sqs, url, 1)[0]
    sqs.delete_queue(QueueUrl=url)
    assert sqs.create_queue(QueueName=name, Attributes={"DelaySeconds": "0"})["QueueUrl"] == url
    assert receive(sqs, url) == []
    with refused("ReceiptHandleIsInvalid", shape="ReceiptHandleIsInvalid"):
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
