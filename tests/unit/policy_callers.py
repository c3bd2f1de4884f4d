"""Callers for tests of policies, and the queue they want."""

from __future__ import annotations

from datetime import datetime

from cqs.identity import Caller, Circumstances

OWNER = "111122223333"
QUEUE_ARN = f"arn:aws:sqs:us-east-1:{OWNER}:orders"


def caller_of(text: str, circumstances: str = "") -> Caller:
    """`user@account` or `account`, in circumstances like "tls ip=10.0.0.1 now=2026-11-27T12:00:00Z"."""
    user, _, account = text.rpartition("@")
    told = dict(word.partition("=")[::2] for word in circumstances.split())
    now = datetime.fromisoformat(told.get("now", "2026-11-27T12:00:00Z"))
    return Caller(
        account=account,
        user=user,
        circumstances=Circumstances(
            now_ms=int(now.timestamp() * 1_000) + 999,
            source_ip=told.get("ip"),
            is_secure="tls" in told,
            user_agent=told.get("ua"),
            referer=told.get("ref"),
            source_arn=told.get("arn"),
        ),
    )
