"""The AWS CLI, as used in a terminal. Version 1 ignores AWS_ENDPOINT_URL_SQS in most regions (it uses the host names of
old certificates), so the endpoint is given on the command line."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.interpreters import awscli
from tests.sdk.server_process import ServerProcess

Aws = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def aws(server: ServerProcess) -> Aws:
    """Runs `aws sqs` with the given words."""
    command = awscli()
    environment = {
        **os.environ,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_PAGER": "",
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        line = [str(command), "--endpoint-url", server.url, "--output", "json", "sqs", *words]
        return subprocess.run(line, capture_output=True, text=True, env=environment, timeout=120)

    return run


def told(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout)) if run.stdout.strip() else {}


def test_message_goes_through_the_command_line_and_back(aws: Aws) -> None:
    url = told(aws("create-queue", "--queue-name", "cli", "--attributes", "VisibilityTimeout=60"))["QueueUrl"]
    attribute = '{"kind":{"DataType":"String","StringValue":"note"}}'
    sent = told(
        aws("send-message", "--queue-url", url, "--message-body", "h\u00e9llo <&>", "--message-attributes", attribute)
    )
    received = told(
        aws("receive-message", "--queue-url", url, "--attribute-names", "All", "--message-attribute-names", "All")
    )
    (message,) = received["Messages"]
    assert message["MessageId"] == sent["MessageId"]
    assert message["Body"] == "h\u00e9llo <&>"
    assert message["MessageAttributes"]["kind"]["StringValue"] == "note"
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    told(aws("delete-message", "--queue-url", url, "--receipt-handle", message["ReceiptHandle"]))
    attributes = told(aws("get-queue-attributes", "--queue-url", url, "--attribute-names", "All"))["Attributes"]
    assert attributes["ApproximateNumberOfMessagesNotVisible"] == "0"
    assert attributes["VisibilityTimeout"] == "60"


def test_listing_pages_by_itself(aws: Aws) -> None:
    for number in range(3):
        told(aws("create-queue", "--queue-name", f"cli-page-{number}"))
    listed = told(aws("list-queues", "--queue-name-prefix", "cli-page-", "--page-size", "2"))
    assert [url.rsplit("/", 1)[1] for url in listed["QueueUrls"]] == [f"cli-page-{number}" for number in range(3)]


def test_missing_queue_is_an_error_with_its_code(aws: Aws) -> None:
    run = aws("get-queue-url", "--queue-name", "cli-missing")
    assert run.returncode != 0
    assert "AWS.SimpleQueueService.NonExistentQueue" in run.stderr
    assert "The specified queue does not exist." in run.stderr
