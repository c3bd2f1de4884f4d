"""What a request claims about its own signature: whose key, for which day, region and service, over which headers,
when.

Nothing here is trusted yet; `cqs.api.sigv4` verifies it. A client repeats its claim verbatim all day, so claims are
parsed once and cached in a bounded cache.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from cqs.api.request import Head
from cqs.api.sigv4_canonical import SignedHeaders
from cqs.errors import IncompleteSignature, MissingAuthenticationToken

ALGORITHM = b"AWS4-HMAC-SHA256"
CLAIM_BYTES_MAX = 2_048
NO_V2 = "Signature Version 2 is not supported. Sign with Signature Version 4 (AWS4-HMAC-SHA256)."

_ISO_TIME = re.compile(rb"[0-9]{8}T[0-9]{6}Z")
_SIGNED_NAMES = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+(;[!#$%&'*+.^_`|~0-9a-z-]+)*")
_VISIBLE = re.compile(rb"[!-~]+")
_TIME_FORMAT = "%Y%m%dT%H%M%SZ"
_MEMBERS = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Date",
    "X-Amz-Expires",
    "X-Amz-SignedHeaders",
    "X-Amz-Signature",
)


class Claim(NamedTuple):
    """A claim, not yet verified. `scope` is day/region/service/terminator as sent."""

    key_id: str
    scope: bytes
    day: bytes
    region: bytes
    service: bytes
    terminator: bytes
    signed: SignedHeaders


class Stamp(NamedTuple):
    """When a request was signed: the text that is signed, and milliseconds since the epoch."""

    text: bytes
    at_ms: int


class Said(NamedTuple):
    """A claim with its time: the same for all requests that a client signs within one second."""

    claim: Claim
    stamp: Stamp
    preamble: bytes
    """The part of the string to sign that precedes the digest."""
    is_of_day: bool
    """Whether the scope's day matches the time."""


def said_of(claim: Claim, stamp: Stamp) -> Said:
    preamble = b"\n".join((ALGORITHM, stamp.text, claim.scope, b""))
    return Said(claim, stamp, preamble, claim.day == stamp.text[:8])


@lru_cache(maxsize=1_024)
def claim_of(credential: bytes, signed_text: bytes) -> Claim:
    """Raises IncompleteSignature when either is malformed."""
    parts = credential.rsplit(b"/", 4)
    if len(parts) != 5 or not all(parts) or not _VISIBLE.fullmatch(credential):
        raise IncompleteSignature(
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term."
        )
    signed = tuple(signed_text.split(b";"))
    if not _SIGNED_NAMES.fullmatch(signed_text) or any(a >= b for a, b in pairwise(signed)):
        raise IncompleteSignature("SignedHeaders must be lower-case names, sorted, each once, joined by semicolons.")
    key_id, day, region, service, terminator = parts
    scope = credential[len(key_id) + 1 :]
    return Claim(key_id.decode(), scope, day, region, service, terminator, SignedHeaders(signed))


@lru_cache(maxsize=1_024)
def claim_of_header(head: bytes) -> Claim:
    """The claim in an Authorization header up to its signature."""
    algorithm, _, text = head.partition(b" ")
    members = {}
    for member in text.split(b","):
        name, _, value = member.strip(b" ").partition(b"=")
        if name in members:
            raise malformed(head + b"Signature=")
        members[name] = value
    is_ended = members.pop(b"", None) is not None
    if not is_ended or algorithm != ALGORITHM or members.keys() != {b"Credential", b"SignedHeaders"}:
        raise malformed(head + b"Signature=")
    return claim_of(members[b"Credential"], members[b"SignedHeaders"])


def members_of_query(pairs: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """The X-Amz-* members of a presigned URL. Raises IncompleteSignature when one is missing or repeated."""
    said: dict[bytes, bytes] = {}
    for name, value in pairs:
        if name.startswith(b"X-Amz-"):
            if name in said:
                raise IncompleteSignature(f"The query has {name.decode('latin-1')} more than once.")
            said[name] = value
    missing = [name for name in _MEMBERS if name.encode() not in said]
    if missing:
        raise IncompleteSignature(f"A presigned request requires {', '.join(missing)}.")
    return said


@lru_cache(maxsize=256)
def stamp_of_iso(text: bytes) -> Stamp:
    """Raises IncompleteSignature unless it is a time like 20261127T120000Z."""
    try:
        if not _ISO_TIME.fullmatch(text):
            raise ValueError
        at = datetime.strptime(text.decode(), _TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        raise IncompleteSignature("Date must be in ISO-8601 'basic format', as in 20261127T120000Z.") from None
    return Stamp(text, int(at.timestamp()) * 1_000)


def said_in_headers(claim_text: bytes, values: Head) -> Said:
    """The claim of an Authorization header up to its signature, at the time in X-Amz-Date, else in Date. Raises
    IncompleteSignature when it is malformed, or when the time is missing or not signed."""
    date = values.get(b"x-amz-date")
    if date is not None:
        return _said_at(claim_text, date)
    claim = claim_of_header(claim_text)
    return said_of(claim, _stamp_of_date(values.get(b"date"), claim.signed.names))


@lru_cache(maxsize=1_024)
def _said_at(claim_text: bytes, date: bytes) -> Said:
    claim = claim_of_header(claim_text)
    if b"x-amz-date" not in claim.signed.names:
        raise IncompleteSignature("The date used, 'x-amz-date', must be a 'SignedHeader'.")
    return said_of(claim, stamp_of_iso(date.strip()))


def _stamp_of_date(text: bytes | None, signed: tuple[bytes, ...]) -> Stamp:
    if text is None:
        raise IncompleteSignature(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
        )
    if b"date" not in signed:
        raise IncompleteSignature("The date used, 'date', must be a 'SignedHeader'.")
    if _ISO_TIME.fullmatch(text.strip()):
        return stamp_of_iso(text.strip())
    try:
        at = parsedate_to_datetime(text.decode("ascii"))
        return stamp_of_iso(iso_of(int(at.timestamp())).encode())
    except (ValueError, OverflowError, OSError):
        raise IncompleteSignature("The 'Date' header is not a date.") from None


def iso_of(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime(_TIME_FORMAT)


def malformed(authorization: bytes) -> IncompleteSignature:
    """The error for an Authorization header that is not a valid Version 4 header."""
    if authorization.startswith(b"AWS "):
        return IncompleteSignature(NO_V2)
    if not authorization.startswith(ALGORITHM + b" "):
        return IncompleteSignature("Authorization must start with 'AWS4-HMAC-SHA256'.")
    missing = [
        name for name in ("Credential", "SignedHeaders", "Signature") if f"{name}=".encode() not in authorization
    ]
    if missing:
        return IncompleteSignature(" ".join(f"Authorization header requires '{name}' parameter." for name in missing))
    return IncompleteSignature(
        "Authorization must be Credential=…, SignedHeaders=…, Signature=<64 hexadecimal digits>."
    )


def unsigned(query: bytes, values: Head, body: bytes) -> IncompleteSignature | MissingAuthenticationToken:
    """The error for a request that carries no Version 4 signature."""
    form = body if b"urlencoded" in values.get(b"content-type", b"") else b""
    if b"SignatureVersion=" in query or b"SignatureVersion=" in form or b"AWSAccessKeyId=" in query:
        return IncompleteSignature(NO_V2)
    return MissingAuthenticationToken()
