"""Fifty consumers in one process: each has its own long poll, and all share one event loop.

    pip install aiobotocore
    python examples/many_consumers.py

The connection pool must be as large as the number of polls; otherwise they wait for each other.
"""

import asyncio
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session

CONSUMERS, MESSAGES, BATCH = 50, 300, 10


async def send(sqs: Any, queue: str) -> None:
    for first in range(0, MESSAGES, BATCH):
        entries = [{"Id": str(number), "MessageBody": f"click {number}"} for number in range(first, first + BATCH)]
        await sqs.send_message_batch(QueueUrl=queue, Entries=entries)


async def consume(sqs: Any, queue: str) -> int:
    """Until nothing comes for five seconds; returns the number of messages."""
    count = 0
    while messages := (await sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=5)).get("Messages"):
        for message in messages:
            await sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
            count += 1
    return count


async def main() -> None:
    config = AioConfig(max_pool_connections=CONSUMERS + 1)
    async with get_session().create_client("sqs", config=config) as sqs:
        queue = (await sqs.create_queue(QueueName="clicks"))["QueueUrl"]
        consumers = asyncio.gather(*(consume(sqs, queue) for _ in range(CONSUMERS)))
        await send(sqs, queue)
        counts = await consumers
    print(f"{sum(map(bool, counts))} consumers handled {sum(counts)} messages")


if __name__ == "__main__":
    asyncio.run(main())
