"""Signs requests with AWS Signature Version 4, for servers that check signatures: one POST, with its body in memory.

canonical request ─ SHA-256 ─► string to sign ─ HMAC with the day's key ─► Authorization
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime

import msgspec

SERVICE = "sqs"


class Keys(msgspec.Struct, frozen=True):
    """The credentials for signing. `token` "" = none."""

    key_id: str
    secret: str
    token: str = ""

    def __repr__(self) -> str:
        return f"Keys({self.key_id!r})"


def signed(
    keys: Keys, region: str, path: str, headers: Mapping[str, str], body: bytes, now: datetime
) -> dict[str, str]:
    """The headers plus date and signature. `headers` must include Host; `now` is in UTC."""
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    every = {**headers, "X-Amz-Date": stamp}
    if keys.token:
        every["X-Amz-Security-Token"] = keys.token
    fields = sorted((name.lower(), " ".join(value.split())) for name, value in every.items())
    names = ";".join(name for name, _ in fields)
    lines = [f"{name}:{value}\n" for name, value in fields]
    canonical = f"POST\n{path}\n\n{''.join(lines)}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{stamp[:8]}/{region}/{SERVICE}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = ("AWS4" + keys.secret).encode()
    for part in scope.split("/"):
        key = _hmac(key, part)
    signature = _hmac(key, f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{digest}").hex()
    every["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={keys.key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return every


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
