"""Short calls to a queue, for tests that read like sentences."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError

ACCOUNT = "000000000000"


@contextmanager
def refused(code: str, text: str = "", shape: str = "", status: int = 400) -> Iterator[None]:
    """Checks that the call inside fails with this error code, a message that contains `text`, and this HTTP status.
    Clients that know the error's shape must raise the class of that name."""
    try:
        yield
    except ClientError as error:
        told = error.response["Error"]
        assert told["Code"] == code, told
        assert text in told["Message"], told
        assert error.response["ResponseMetadata"]["HTTPStatusCode"] == status, error.response
        if shape:
            assert type(error).__name__ == shape, type(error)
    else:
        raise AssertionError(f"expected {code}, but the call succeeded")


def send(sqs: Any, url: str, body: str = "hello", **options: Any) -> str:
    """Sends a message and returns its id."""
    return str(sqs.send_message(QueueUrl=url, MessageBody=body, **options)["MessageId"])


def send_to_group(sqs: Any, url: str, group: str, *bodies: str) -> None:
    """Sends each body to the group, with the body as deduplication id."""
    for body in bodies:
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=group, MessageDeduplicationId=body)


def receive(sqs: Any, url: str, count: int = 10, wait: int = 0, **options: Any) -> list[dict[str, Any]]:
    answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=count, WaitTimeSeconds=wait, **options)
    return list(answer.get("Messages", []))


def receive_one(sqs: Any, url: str, wait: int = 20, **options: Any) -> dict[str, Any]:
    """Receives the one message that is visible, or becomes so within `wait` seconds, with all its attributes."""
    options = {"AttributeNames": ["All"], "MessageAttributeNames": ["All"]} | options
    messages = receive(sqs, url, 1, wait, **options)
    assert len(messages) == 1, "no message came"
    return messages[0]


def receive_all(sqs: Any, url: str, count: int, within_s: float = 60.0, **options: Any) -> list[dict[str, Any]]:
    """Receives until `count` messages have come. Fails if that takes too long."""
    messages: list[dict[str, Any]] = []
    give_up = time.monotonic() + within_s
    while len(messages) < count and time.monotonic() < give_up:
        messages += receive(sqs, url, min(10, count - len(messages)), 1, **options)
    assert len(messages) == count, f"{len(messages)} of {count} came"
    return messages


def bodies(messages: list[dict[str, Any]]) -> list[str]:
    return [message["Body"] for message in messages]


def delete(sqs: Any, url: str, message: dict[str, Any]) -> None:
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def hide(sqs: Any, url: str, message: dict[str, Any], seconds: int) -> None:
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=seconds)


def attributes(sqs: Any, url: str, *names: str) -> dict[str, str]:
    answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(names) or ["All"])
    return dict(answer.get("Attributes", {}))


def set_attributes(sqs: Any, url: str, **values: object) -> None:
    sqs.set_queue_attributes(QueueUrl=url, Attributes={name: str(value) for name, value in values.items()})


def arn(sqs: Any, url: str) -> str:
    return attributes(sqs, url, "QueueArn")["QueueArn"]


def counts(sqs: Any, url: str) -> tuple[int, int, int]:
    """Returns the numbers of messages: visible, in flight, delayed."""
    names = "", "NotVisible", "Delayed"
    told = attributes(sqs, url, *(f"ApproximateNumberOfMessages{name}" for name in names))
    visible, in_flight, delayed = (int(told[f"ApproximateNumberOfMessages{name}"]) for name in names)
    return visible, in_flight, delayed


class Poll:
    """A long poll that runs in parallel with the test. `result()`: its messages. `took_s`: its duration."""

    def __init__(self, pool: ThreadPoolExecutor, sqs: Any, url: str, wait: int = 20, count: int = 1) -> None:
        self._sqs, self._url, self._wait, self._count = sqs, url, wait, count
        self.took_s = 0.0
        self._future: Future[list[dict[str, Any]]] = pool.submit(self._run)

    def result(self) -> list[dict[str, Any]]:
        return self._future.result(timeout=60)

    def _run(self) -> list[dict[str, Any]]:
        started = time.monotonic()
        try:
            return receive(self._sqs, self._url, self._count, self._wait)
        finally:
            self.took_s = time.monotonic() - started
