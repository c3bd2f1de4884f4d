"""Data to show: queues of all kinds, messages in every state, dead letters, reports, and hostile texts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from tests.console.hostile import PLAIN_TEXTS
from tests.drills.report import DOCS

ACCOUNT = "000000000000"


def client(url: str) -> Any:
    """A boto3 client for an open server."""
    return boto3.client(
        "sqs",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key="any",
        config=Config(retries={"max_attempts": 0}),
    )


def make_queue(sqs: Any, name: str, **attributes: object) -> str:
    """Creates a queue and returns its URL."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in attributes.items()}
    return str(sqs.create_queue(QueueName=name, Attributes=texts, tags={"team": name.split("-")[0]})["QueueUrl"])


def send(sqs: Any, url: str, bodies: Sequence[str]) -> None:
    """Sends the messages, ten a call."""
    entries = [{"Id": str(place), "MessageBody": body} for place, body in enumerate(bodies)]
    for start in range(0, len(entries), 10):
        sqs.send_message_batch(QueueUrl=url, Entries=entries[start : start + 10])


def own(name: str, rest: str = "") -> str:
    """The path of a queue's page in the console."""
    return f"/q/{ACCOUNT}/{name}{rest}"


def fill(url: str, folder: Path) -> None:
    """Creates all the data."""
    sqs = client(url)
    make_queue(sqs, "orders-dead")
    target = {"deadLetterTargetArn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:orders-dead", "maxReceiveCount": 1}
    orders = make_queue(sqs, "orders", RedrivePolicy=target, VisibilityTimeout="600")
    for number in range(6):
        body = json.dumps({"order": number, "customer": {"name": "ada"}, "items": [{"sku": f"A-{number}"}]})
        sqs.send_message(QueueUrl=orders, MessageBody=body, MessageAttributes={"source": _text("web")})
    for _ in range(2):
        sqs.receive_message(QueueUrl=orders, MaxNumberOfMessages=10, VisibilityTimeout=0)
    for number in range(12):
        sqs.send_message(QueueUrl=orders, MessageBody=f"order {number}")
    sqs.receive_message(QueueUrl=orders, MaxNumberOfMessages=3)
    sqs.send_message(QueueUrl=orders, MessageBody="later", DelaySeconds=900)
    line = make_queue(sqs, "ledger.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    for number in range(4):
        sqs.send_message(QueueUrl=line, MessageBody=f"entry {number}", MessageGroupId=f"account-{number % 2}")
    hostile = make_queue(sqs, "hostile")
    sqs.tag_queue(QueueUrl=hostile, Tags={text[:100]: text[:200] for text in PLAIN_TEXTS})
    for text in PLAIN_TEXTS:
        attributes = {"error": _text(text)}
        sqs.send_message(QueueUrl=hostile, MessageBody=text, MessageAttributes=attributes)
    for number in range(60):
        make_queue(sqs, f"team{number % 7}-queue-{number:02}")
    reports = folder / "reports"
    reports.mkdir()
    (reports / "audit.html").write_text("<h1>Loss: 0</h1><p style='color: green'>Nothing was lost.</p>")
    (reports / "report.json").write_text(
        json.dumps({"title": "nightly", "verdict": {"state": "proven", "lost": 0}, "totals": {"acknowledged": 1_000}})
    )
    shutil.copy(DOCS / "drills.json", reports)
    (reports / "audit.md").write_text("# Audit\n\n0 lost, 0 twice.\n")


def _text(value: str) -> dict[str, str]:
    return {"DataType": "String", "StringValue": value}
