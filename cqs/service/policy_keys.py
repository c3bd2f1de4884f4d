"""The condition keys of policies: the types each may be compared as, and its value for a caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache

from cqs.identity import Caller


class Kind(Enum):
    """The type that an operator compares."""

    STRING = "String"
    NUMERIC = "Numeric"
    DATE = "Date"
    BOOL = "Bool"
    IP = "IpAddress"
    ARN = "Arn"


@dataclass(frozen=True, slots=True)
class Key:
    """A condition key: its name, the types it may be compared as, and its value for a caller."""

    name: str
    kinds: frozenset[Kind]
    value_of: Callable[[Caller], str | None]


def _key(name: str, kinds: set[Kind], value_of: Callable[[Caller], str | None]) -> tuple[str, Key]:
    return name.lower(), Key(name, frozenset(kinds), value_of)


def _source_account(caller: Caller) -> str | None:
    parts = (caller.circumstances.source_arn or "").split(":")
    return parts[4] if len(parts) > 5 and parts[4] else None


def _current_time(caller: Caller) -> str:
    return _iso_of(caller.circumstances.now_ms // 1_000)


@lru_cache(maxsize=8)
def _iso_of(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


KEYS = dict(
    (
        _key("aws:SourceIp", {Kind.IP, Kind.STRING}, lambda caller: caller.circumstances.source_ip),
        _key(
            "aws:SecureTransport", {Kind.BOOL, Kind.STRING}, lambda caller: str(caller.circumstances.is_secure).lower()
        ),
        _key("aws:CurrentTime", {Kind.DATE, Kind.STRING}, _current_time),
        _key(
            "aws:EpochTime",
            {Kind.DATE, Kind.NUMERIC, Kind.STRING},
            lambda caller: str(caller.circumstances.now_ms // 1_000),
        ),
        _key("aws:SourceArn", {Kind.ARN, Kind.STRING}, lambda caller: caller.circumstances.source_arn),
        _key("aws:SourceAccount", {Kind.STRING, Kind.NUMERIC}, _source_account),
        _key("aws:PrincipalArn", {Kind.ARN, Kind.STRING}, lambda caller: caller.arn),
        _key("aws:PrincipalAccount", {Kind.STRING, Kind.NUMERIC}, lambda caller: caller.account),
        _key("aws:username", {Kind.STRING}, lambda caller: caller.user or None),
        _key("aws:userid", {Kind.STRING}, lambda caller: caller.user_id or None),
        _key("aws:UserAgent", {Kind.STRING}, lambda caller: caller.circumstances.user_agent),
        _key("aws:Referer", {Kind.STRING}, lambda caller: caller.circumstances.referer),
    )
)
"""By lower-case name: keys are case-insensitive."""
