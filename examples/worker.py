"""A worker: uses long polling, deletes a message once it is processed, and shuts down gracefully on Ctrl-C or SIGTERM.

    pip install boto3
    python examples/worker.py
    cqs send orders "two teas, please"        # in another shell

When asked to stop, it finishes the current message and makes the others of its batch visible at once. A poll ends
within 20 seconds, and most supervisors wait for 30.
"""

import logging
import signal
import threading
import time

import boto3

stopping = threading.Event()


def work(body: str) -> None:
    """If it raises, the message is redelivered when its visibility timeout expires."""
    print("working on:", body, flush=True)
    time.sleep(1)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    sqs = boto3.client("sqs")
    queue = sqs.create_queue(QueueName="orders")["QueueUrl"]
    print("waiting for messages in", queue, flush=True)
    while not stopping.is_set():
        answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=20)
        for message in answer.get("Messages", []):
            receipt = message["ReceiptHandle"]
            if stopping.is_set():
                sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=receipt, VisibilityTimeout=0)
                continue
            try:
                work(message["Body"])
            except Exception:
                logging.exception("message %s failed", message["MessageId"])
            else:
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=receipt)
    print("stopped")


if __name__ == "__main__":
    main()
