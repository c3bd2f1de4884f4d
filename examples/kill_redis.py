"""Kill Redis while ten thousand messages are in flight, and have Spark say what was lost.

    pip install boto3 'cqs-server[redis,spark]'        # and redis-server, and Java 17
    python examples/kill_redis.py [MESSAGES]

Starts a Redis and a server of its own, which keeps its messages in SQLite and an event journal beside it. Ten in twelve
messages are received, Redis is killed and comes back empty, and the consumers go on with the receipts that they have.
The audit then reads journal and store; its last line is the verdict.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3

REDIS, PORT = 6399, 9399
ACCESS = {"region_name": "us-east-1", "aws_access_key_id": "000000000000", "aws_secret_access_key": "any"}


def start_redis() -> subprocess.Popen[bytes]:
    """With nothing in it, and nothing on disk."""
    command = ["redis-server", "--port", str(REDIS), "--save", "", "--maxmemory-policy", "noeviction"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def start_server(data: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "cqs", "serve", "--port", str(PORT), "--redis", f"redis://127.0.0.1:{REDIS}"]
    server = subprocess.Popen([*command, "--data-dir", str(data), "--journal", "full", "--log-level", "error"])
    for _ in range(300):
        try:
            urlopen(f"http://127.0.0.1:{PORT}/ready")
        except OSError:
            time.sleep(0.1)
        else:
            break
    return server


def receive(sqs: Any, queue: str) -> list[dict[str, str]]:
    """Up to ten receipts, as entries of a batch delete; none after two seconds without a message."""
    messages = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=2).get("Messages", [])
    return [{"Id": str(at), "ReceiptHandle": one["ReceiptHandle"]} for at, one in enumerate(messages)]


def main(messages: int) -> int:
    folder = Path(tempfile.mkdtemp(prefix="kill-redis-"))
    redis, server = start_redis(), start_server(folder / "data")
    sqs = boto3.client("sqs", endpoint_url=f"http://127.0.0.1:{PORT}", **ACCESS)
    queue = sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "120"})["QueueUrl"]
    for first in range(0, messages, 10):
        entries = [{"Id": str(at), "MessageBody": f"order {at}"} for at in range(first, first + 10)]
        sqs.send_message_batch(QueueUrl=queue, Entries=entries)
    held = [receive(sqs, queue) for _ in range(messages // 12)]

    redis.kill()
    redis.wait()
    print(f"{messages:,} sent, {sum(map(len, held)):,} in flight, Redis killed", flush=True)
    redis = start_redis()

    for receipts in held:
        sqs.delete_message_batch(QueueUrl=queue, Entries=receipts)
    while receipts := receive(sqs, queue):
        sqs.delete_message_batch(QueueUrl=queue, Entries=receipts)
    for process in (server, redis):
        process.terminate()
        process.wait()
    audit = [sys.executable, "-m", "spark_jobs", str(folder / "data" / "journal"), "--data-dir", str(folder / "data")]
    return subprocess.call([*audit, "--drained", "--output", str(folder / "audit")])


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 12_000))
