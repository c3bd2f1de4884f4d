"""A client of an SQS endpoint with its own connection: Amazon's JSON protocol, standard library only, so that it runs
in any Spark executor. It can lose calls on purpose.

A body describes itself, so that a receiver can check it without knowing the sender:

    run sender index md5-of-padding padding
"""

from __future__ import annotations

import hashlib
import http.client
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from cqs.events import INDEX_ATTRIBUTE, RUN_ATTRIBUTE, SENDER_ATTRIBUTE

TIMEOUT_S = 60
_TEXT = "String"


class CallFailed(Exception):
    """The server refused the call: it had no effect."""


class OutcomeUnknown(Exception):
    """No answer: the call may have taken effect."""

    outcome = "unknown"


class Dropped(OutcomeUnknown):
    """No answer, on purpose."""

    outcome = "dropped"


@dataclass(frozen=True, slots=True)
class Content:
    """What a body says about itself."""

    run: str
    sender: str
    index: int
    is_intact: bool


def body_of(run: str, sender: str, index: int, size: int, rng: random.Random) -> str:
    """A body of about `size` bytes, but at least its head."""
    head = f"{run} {sender} {index} "
    padding = rng.randbytes(max(1, (size - len(head) - 33) // 2 + 1)).hex()[: max(1, size - len(head) - 33)]
    return f"{head}{hashlib.md5(padding.encode(), usedforsecurity=False).hexdigest()} {padding}"


def content_of(body: str) -> Content | None:
    """What the body says; None when no client wrote it."""
    parts = body.split(" ", 4)
    if len(parts) != 5 or not parts[2].isdigit():
        return None
    digest = hashlib.md5(parts[4].encode(), usedforsecurity=False).hexdigest()
    return Content(parts[0], parts[1], int(parts[2]), digest == parts[3])


def attributes_of(content: Content) -> dict[str, str]:
    """The message attributes, texts by name, that carry the same information outside the body."""
    return {RUN_ATTRIBUTE: content.run, SENDER_ATTRIBUTE: content.sender, INDEX_ATTRIBUTE: str(content.index)}


def attribute_bytes(content: Content) -> int:
    """What they add to a message's size as SQS counts it: names, types and values."""
    return sum(len(name) + len(_TEXT) + len(text) for name, text in attributes_of(content).items())


def _decoded(raw: bytes, members: Sequence[str]) -> dict[str, Any]:
    """Raises CallFailed if it is not the response of an SQS server."""
    try:
        decoded: Any = json.loads(raw) if raw else {}
    except ValueError:
        decoded = None
    if not isinstance(decoded, dict) or any(name not in decoded for name in members):
        raise CallFailed(f"it answers something else than SQS: {raw[:200]!r}")
    return decoded


class Client:
    """Not thread-safe. `drop_probability`: half of the lost calls lose the request, half the answer."""

    def __init__(self, endpoint: str, name: str, rng: random.Random, drop_probability: float = 0.0) -> None:
        parts = urlsplit(endpoint)
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port, self._path = parts.hostname or "127.0.0.1", parts.port, parts.path or "/"
        self._rng = rng
        self.drop_probability = drop_probability
        self._connection: http.client.HTTPConnection | None = None
        self._name = name

    def create_queue(self, name: str, visibility_s: int) -> str:
        """Its URL."""
        attributes = {"VisibilityTimeout": str(visibility_s)}
        if name.endswith(".fifo"):
            attributes["FifoQueue"] = "true"
        request = {"QueueName": name, "Attributes": attributes}
        return str(self._call("CreateQueue", request, "QueueUrl")["QueueUrl"])

    def send(self, url: str, body: str, content: Content, group: str = "", dedup_id: str = "", delay_s: int = 0) -> str:
        """The message id. Raises CallFailed, OutcomeUnknown."""
        says = attributes_of(content)
        request: dict[str, Any] = {
            "QueueUrl": url,
            "MessageBody": body,
            "MessageAttributes": {name: {"DataType": _TEXT, "StringValue": text} for name, text in says.items()},
        }
        if delay_s:
            request["DelaySeconds"] = delay_s
        if group:
            request["MessageGroupId"] = group
        if dedup_id:
            request["MessageDeduplicationId"] = dedup_id
        return str(self._call("SendMessage", request, "MessageId")["MessageId"])

    def receive(self, url: str, count_max: int, wait_s: int) -> list[dict[str, Any]]:
        """Messages as SQS returns them. Raises as `send`."""
        request = {"QueueUrl": url, "MaxNumberOfMessages": count_max, "WaitTimeSeconds": wait_s}
        return list(self._call("ReceiveMessage", request).get("Messages") or [])

    def delete(self, url: str, receipt: str) -> None:
        """Raises as `send`."""
        self._call("DeleteMessage", {"QueueUrl": url, "ReceiptHandle": receipt})

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _call(self, action: str, request: dict[str, Any], *members: str) -> dict[str, Any]:
        """The response, which has these members."""
        is_lost = self._rng.random() < self.drop_probability
        if is_lost and self._rng.random() < 0.5:
            raise Dropped("request dropped")
        connection = self._connection
        if connection is None:
            connection = self._connection = self._kind(self._host, self._port, timeout=TIMEOUT_S)
        try:
            connection.request("POST", self._path, json.dumps(request).encode(), self._headers(action))
            if is_lost:
                raise Dropped("answer dropped")
            answer = connection.getresponse()
            raw = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise OutcomeUnknown(str(error)) from error
        except OutcomeUnknown:
            self.close()
            raise
        if answer.status >= 500:
            raise OutcomeUnknown(f"{answer.status} {raw[:200]!r}")
        if answer.status != 200:
            raise CallFailed(f"{answer.status} {raw[:200]!r}")
        return _decoded(raw, members)

    def _headers(self, action: str) -> dict[str, str]:
        credential = f"Credential={self._name}/20260101/us-east-1/sqs/aws4_request"
        return {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"AmazonSQS.{action}",
            "Authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host;x-amz-date, Signature=0",
            "X-Amz-Date": "20260101T000000Z",
        }
