"""Long processing: the message stays hidden while its worker is alive, and reappears soon after the worker dies.

    pip install boto3
    python examples/heartbeat.py

The visibility timeout is how long a dead worker goes unnoticed, not how long the longest work takes: here it is four
seconds, and the work takes six. The message is also sent with a delay, so that nobody receives it earlier.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3

DELAY_S, VISIBILITY_S, WORK_S = 1, 4, 6


@contextmanager
def kept_hidden(sqs: Any, receipt: dict[str, str]) -> Iterator[None]:
    """Extends the visibility timeout three times per timeout, until the block ends."""
    is_done = threading.Event()

    def beat() -> None:
        while not is_done.wait(VISIBILITY_S / 3):
            sqs.change_message_visibility(**receipt, VisibilityTimeout=VISIBILITY_S)

    heart = threading.Thread(target=beat)
    heart.start()
    try:
        yield
    finally:
        is_done.set()
        heart.join()


def main() -> None:
    sqs = boto3.client("sqs")
    queue = sqs.create_queue(QueueName="films", Attributes={"VisibilityTimeout": str(VISIBILITY_S)})["QueueUrl"]
    started = time.monotonic()
    sqs.send_message(QueueUrl=queue, MessageBody="holiday.mov", DelaySeconds=DELAY_S)
    (message,) = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20)["Messages"]
    print(f"{message['Body']} came after {time.monotonic() - started:.1f} seconds")
    receipt = {"QueueUrl": queue, "ReceiptHandle": message["ReceiptHandle"]}
    with kept_hidden(sqs, receipt):
        others = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=WORK_S).get("Messages", [])
    print(f"during {WORK_S} seconds of work others received {len(others)}")
    sqs.delete_message(**receipt)


if __name__ == "__main__":
    main()
