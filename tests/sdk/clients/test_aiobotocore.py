"""aiobotocore: many concurrent long polls from one event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiobotocore.session import get_session
from botocore.config import Config

from tests.integration.process import until_waiting
from tests.sdk.server_process import ServerProcess

POLLS = 20


@pytest.fixture
async def sqs(server: ServerProcess) -> AsyncIterator[Any]:
    async with get_session().create_client(
        "sqs",
        region_name="us-east-1",
        endpoint_url=server.url,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(max_pool_connections=POLLS + 5, retries={"max_attempts": 0}),
    ) as client:
        yield client


async def test_twenty_long_polls_get_one_message_each(sqs: Any, server: ServerProcess) -> None:
    url = (await sqs.create_queue(QueueName="aio-polls"))["QueueUrl"]
    started = time.monotonic()
    polls = [asyncio.create_task(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)) for _ in range(POLLS)]
    await asyncio.to_thread(until_waiting, server.url, POLLS)
    await asyncio.gather(*(sqs.send_message(QueueUrl=url, MessageBody=str(number)) for number in range(POLLS)))
    answers = await asyncio.gather(*polls)
    assert time.monotonic() - started < 17
    assert sorted(int(answer["Messages"][0]["Body"]) for answer in answers) == list(range(POLLS))


async def test_poll_that_is_given_up_takes_no_message_along(sqs: Any, server: ServerProcess) -> None:
    url = (await sqs.create_queue(QueueName="aio-given-up"))["QueueUrl"]
    poll = asyncio.create_task(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20))
    await asyncio.to_thread(until_waiting, server.url)
    poll.cancel()
    await asyncio.gather(poll, return_exceptions=True)
    await asyncio.to_thread(until_waiting, server.url, 0)
    await sqs.send_message(QueueUrl=url, MessageBody="still here")
    answer = await sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20, AttributeNames=["ApproximateReceiveCount"])
    (message,) = answer["Messages"]
    assert message["Body"] == "still here"
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
