"""CQS in pytest: one server in memory for the run, on a free port, and a queue of its own for each test.

    pip install boto3 pytest
    pytest examples/test_orders.py

Put the fixtures into conftest.py. With pytest-xdist each process has a server of its own.
"""

import json
import subprocess
import uuid
from collections.abc import Iterator
from typing import Any

import boto3
import pytest


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    command = ["cqs", "serve", "--in-memory", "--port", "0", "--log-format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            events = map(json.loads, server.stdout or [])
            yield next(event["endpoint"] for event in events if event["event"] == "serving")
        finally:
            server.terminate()


@pytest.fixture
def sqs(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Also what the tested code gets from `boto3.client("sqs")`."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", endpoint)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "000000000000")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    return boto3.client("sqs")


@pytest.fixture
def queue(sqs: Any) -> Iterator[str]:
    url = sqs.create_queue(QueueName=f"orders-{uuid.uuid4()}")["QueueUrl"]
    yield url
    sqs.delete_queue(QueueUrl=url)


def test_an_order_arrives(sqs: Any, queue: str) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="two teas, please")

    messages = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=5)["Messages"]

    assert [message["Body"] for message in messages] == ["two teas, please"]


def test_a_queue_is_empty_at_first(sqs: Any, queue: str) -> None:
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)
