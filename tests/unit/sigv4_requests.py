"""Requests signed by botocore, and ways to tamper with them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple
from unittest import mock
from urllib.parse import urlsplit

from botocore import auth as botocore_auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials

from cqs.api.sigv4 import Verifier
from cqs.identity import Caller, Credential
from cqs.testing.clock import ManualClock

KEY_ID, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
NOON_S = 1_795_780_800  # 2026-11-27T12:00:00Z

ALICE = Credential(key_id=KEY_ID, secret=SECRET.encode(), caller=Caller(account="111122223333", user="alice"))


class Raw(NamedTuple):
    """A request as it comes off the wire."""

    method: bytes
    target: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Keys:
    """Access keys that tests change as they like."""

    def __init__(self, *credentials: Credential) -> None:
        self.known = {credential.key_id: credential for credential in credentials}

    def find(self, key_id: str) -> Credential | None:
        return self.known.get(key_id)


def verifier(
    clock_s: int = NOON_S, keys: Keys | None = None, region: str | None = "us-east-1", service: str = "sqs"
) -> Verifier:
    return Verifier(keys or Keys(ALICE), ManualClock(clock_s * 1_000), region=region, service=service)


def frozen_utc(at_s: int) -> Callable[[], object]:
    return lambda: datetime.fromtimestamp(at_s, UTC)


def sign(
    method: str = "POST",
    url: str = "http://localhost:9324/",
    headers: dict[str, str] | None = None,
    body: bytes = b'{"QueueUrl":"q"}',
    *,
    at_s: int = NOON_S,
    expires_s: int | None = None,
    token: str | None = None,
    region: str = "us-east-1",
    key_id: str = KEY_ID,
    secret: str = SECRET,
) -> Raw:
    """The request that botocore's own signer makes: by header, or presigned when `expires_s` is given (it then
    moves the members of a JSON body into the query)."""
    request = AWSRequest(method, url, headers={"Host": urlsplit(url).netloc, **(headers or {})}, data=body)
    credentials = BotocoreCredentials(key_id, secret, token)
    signer = (
        botocore_auth.SigV4Auth(credentials, "sqs", region)
        if expires_s is None
        else botocore_auth.SigV4QueryAuth(credentials, "sqs", region, expires=expires_s)
    )
    with mock.patch.object(botocore_auth, "get_current_datetime", frozen_utc(at_s)):
        signer.add_auth(request)
    parts = urlsplit(request.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    raw = [(name.encode(), value.encode()) for name, value in request.headers.items()]
    return Raw(method.encode(), target.encode(), raw, body if expires_s is None else b"")


SEND = {
    "X-Amz-Target": "AmazonSQS.SendMessage",
    "Content-Type": "application/x-amz-json-1.0",
    "x-amzn-query-mode": "true",
}


def sign_by_hand(raw: Raw, *names: str, at_s: int = NOON_S) -> Raw:
    """Returns a POST to / with a valid signature that covers only these headers, which no SDK would do."""
    values = {name.lower().decode(): value.decode() for name, value in raw.headers}
    lines = "".join(f"{name}:{values[name]}\n" for name in names)
    hashed = hashlib.sha256(raw.body).hexdigest()
    canonical = f"POST\n/\n\n{lines}\n{';'.join(names)}\n{hashed}"
    time = datetime.fromtimestamp(at_s, UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{time[:8]}/us-east-1/sqs/aws4_request"
    to_sign = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    claim = f"AWS4-HMAC-SHA256 Credential={KEY_ID}/{scope}, SignedHeaders={';'.join(names)}, Signature={signature}"
    return replaced(raw, b"Authorization", claim.encode())


def replaced(raw: Raw, name: bytes, value: bytes | None) -> Raw:
    """The request with one header changed, added or (None) left out."""
    headers = [header for header in raw.headers if header[0].lower() != name.lower()]
    return raw._replace(headers=headers if value is None else [*headers, (name, value)])


def authorization(raw: Raw) -> bytes:
    return next(value for name, value in raw.headers if name == b"Authorization")


def edited(raw: Raw, old: bytes, new: bytes) -> Raw:
    """The request with a part of its Authorization header replaced."""
    assert old in authorization(raw)
    return replaced(raw, b"Authorization", authorization(raw).replace(old, new))
