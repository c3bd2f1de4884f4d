"""Errors as SDKs see them: code, class, status and request id; a failed call changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

NewQueue = Callable[..., str]


def test_missing_queue_is_an_error_of_the_sender_with_a_request_id(sqs: Any) -> None:
    with pytest.raises(sqs.exceptions.QueueDoesNotExist) as error:
        sqs.get_queue_url(QueueName="missing")
    response = error.value.response
    assert response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"
    assert response["Error"]["Type"] == "Sender"
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert response["ResponseMetadata"]["RequestId"]
    assert response["ResponseMetadata"]["HTTPHeaders"]["x-amzn-requestid"]


def test_json_clients_also_see_the_shape(json_client: Callable[..., Any]) -> None:
    with pytest.raises(ClientError) as error:
        json_client().get_queue_url(QueueName="missing")
    assert error.value.response["Error"]["QueryErrorCode"] == "QueueDoesNotExist"


def test_unmodelled_errors_are_plain_client_errors_with_the_old_code(sqs: Any, new_queue: NewQueue) -> None:
    with pytest.raises(ClientError) as error:
        sqs.receive_message(QueueUrl=new_queue(), MaxNumberOfMessages=11)
    assert type(error.value) is ClientError
    assert error.value.response["Error"]["Code"] == "InvalidParameterValue"


def test_every_answer_carries_a_new_request_id(sqs: Any) -> None:
    ids = {sqs.list_queues()["ResponseMetadata"]["RequestId"] for _ in range(3)}
    assert len(ids) == 3
    assert all(ids)
