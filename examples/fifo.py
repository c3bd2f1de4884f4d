"""FIFO: one customer's messages are processed in order, customers in parallel, and a repeated send adds nothing.

pip install boto3
python examples/fifo.py
"""

import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import boto3

CUSTOMERS = ("Ann", "Bob", "Cleo")
STEPS = ("ordered", "paid", "shipped")


def send(sqs: Any, queue: str) -> None:
    run = uuid.uuid4()
    for step in STEPS:
        for customer in CUSTOMERS:
            order = {"MessageGroupId": customer, "MessageDeduplicationId": f"{run}-{customer}-{step}"}
            first = sqs.send_message(QueueUrl=queue, MessageBody=step, **order)
            again = sqs.send_message(QueueUrl=queue, MessageBody=step, **order)
            assert first["MessageId"] == again["MessageId"]


def serve(sqs: Any, queue: str, worker: int) -> None:
    """While a message is in flight, no consumer gets a later one of its group."""
    poll = partial(sqs.receive_message, QueueUrl=queue, MessageSystemAttributeNames=["MessageGroupId"])
    while messages := poll(WaitTimeSeconds=2).get("Messages"):
        for message in messages:
            sys.stdout.write(f"worker {worker}: {message['Attributes']['MessageGroupId']} {message['Body']}\n")
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])


def main() -> None:
    sqs = boto3.client("sqs")
    queue = sqs.create_queue(QueueName="customers.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    send(sqs, queue)
    with ThreadPoolExecutor() as pool:
        list(pool.map(partial(serve, sqs, queue), range(1, 4)))


if __name__ == "__main__":
    main()
