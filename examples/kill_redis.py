"""Kills Redis while ten thousand messages are in flight, and lets Spark determine what was lost.

    pip install boto3 -e '.[redis,spark]'        # and redis-server, and Java 17 or 21
    python examples/kill_redis.py [MESSAGES]

Starts its own Redis and its own server, which keeps its messages in SQLite and writes an event journal. Ten of twelve
messages are received, Redis is killed and restarts empty, and the consumers continue with the receipt handles that they
have. The audit then reads the journal and the store; its last line is the verdict.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

REDIS = ["redis-server", "--port", "6399", "--save", "", "--maxmemory-policy", "noeviction"]
SERVER = [sys.executable, "-m", "cqs", "serve", "--redis", "redis://127.0.0.1:6399", "--journal", "full"]
ACCESS = {"region_name": "us-east-1", "aws_access_key_id": "000000000000", "aws_secret_access_key": "any"}


def receive(sqs: Any, queue: str) -> list[dict[str, str]]:
    """Up to ten receipt handles, as entries of a batch delete; none after two seconds without a message."""
    messages = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=2).get("Messages", [])
    return [{"Id": str(at), "ReceiptHandle": one["ReceiptHandle"]} for at, one in enumerate(messages)]


def main(messages: int) -> int:
    data = Path(tempfile.mkdtemp(prefix="kill-redis-"), "data")
    redis = subprocess.Popen(REDIS, stdout=subprocess.DEVNULL)
    server = subprocess.Popen([*SERVER, "--port", "9399", "--data-dir", str(data), "--log-level", "error"])
    until_it_answers = Config(retries={"mode": "standard", "total_max_attempts": 12})
    sqs = boto3.client("sqs", endpoint_url="http://127.0.0.1:9399", config=until_it_answers, **ACCESS)
    queue = sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "120"})["QueueUrl"]
    for first in range(0, messages, 10):
        entries = [{"Id": str(at), "MessageBody": f"order {at}"} for at in range(first, first + 10)]
        sqs.send_message_batch(QueueUrl=queue, Entries=entries)
    held = [receive(sqs, queue) for _ in range(messages // 12)]

    redis.kill()
    redis.wait()
    print(f"{messages:,} sent, {sum(map(len, held)):,} in flight, Redis killed", flush=True)
    redis = subprocess.Popen(REDIS, stdout=subprocess.DEVNULL)

    for receipts in held:
        sqs.delete_message_batch(QueueUrl=queue, Entries=receipts)
    while receipts := receive(sqs, queue):
        sqs.delete_message_batch(QueueUrl=queue, Entries=receipts)
    for process in (server, redis):
        process.terminate()
        process.wait()
    audit = [sys.executable, "-m", "spark_jobs", str(data / "journal"), "--data-dir", str(data), "--drained"]
    return subprocess.call([*audit, "--output", str(data.with_name("audit"))])


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 12_000))
