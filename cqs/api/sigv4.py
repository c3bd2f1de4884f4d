"""Verifies AWS Signature Version 4, in a header or in a presigned URL, on the raw bytes of a request.

    Authorization: AWS4-HMAC-SHA256 Credential=<key id>/<day>/<region>/sqs/aws4_request,
                   SignedHeaders=host;x-amz-date, Signature=<64 hex>
                   └── parsed once per client and day (cached) ┘
    canonical request = method, path, query, signed headers, their names, SHA-256 of the body      → its SHA-256
    string to sign    = algorithm, time, scope, that hash         → HMAC with the day's signing key (cached)

Everything that matters must be signed: the host, the date used and every x-amz-* header sent. Otherwise a captured send
could become a purge by replacing X-Amz-Target. (content-type is optional: old SDKs leave it out.) The server always
computes the hash of the body itself. A captured request stays valid for 15 minutes: SDKs sign to the second, so two
equal sends within one second carry the same signature, and rejecting repeated signatures would reject honest clients.
Use TLS to prevent replay.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Protocol

from cqs.api import sigv4_claim as claims
from cqs.api.request import Head
from cqs.api.sigv4_canonical import Headers, by_name, canonical_path, canonical_query, query_pairs
from cqs.api.sigv4_claim import ALGORITHM, CLAIM_BYTES_MAX, Claim, Said, Stamp
from cqs.api.sigv4_key import SigningKey
from cqs.api.sigv4_repeat import SIGNATURE_LENGTH, Accepted, Repeats
from cqs.clock import Clock
from cqs.errors import IncompleteSignature, InvalidClientTokenId, RequestExpired, SignatureDoesNotMatch
from cqs.identity import Caller, Credential

SKEW_S_MAX = 900
SKEW_MS_MAX = SKEW_S_MAX * 1_000
EXPIRES_S_MAX = 604_800
SIGNING_KEYS_MAX = 4_096

_UNSIGNED = b"UNSIGNED-PAYLOAD"
_PAYLOAD = b"x-amz-content-sha256"
_TERMINATOR = b"aws4_request"
_EXPIRES = re.compile(rb"[0-9]{1,6}")
_NO_SESSIONS = "Session tokens are not known to this server: sign with a long-term access key."
_NOBODY = Credential(key_id="", secret=b"a secret that no client has", caller=Caller(account=""))


class Credentials(Protocol):
    """The source of access keys."""

    def find(self, key_id: str) -> Credential | None:
        """The key, or None when it is unknown or disabled."""


class Verifier:
    """Determines who signed a request. Belongs to one event loop; performs no I/O."""

    def __init__(
        self,
        credentials: Credentials,
        clock: Clock,
        *,
        region: str | None = None,
        service: str = "sqs",
        is_unsigned_payload_allowed: bool = False,
        is_verbose: bool = False,
    ) -> None:
        """`region` None = any. `is_verbose` includes what should have been signed in the error text, as AWS does."""
        self._credentials = credentials
        self._clock = clock
        self._region = None if region is None else region.encode()
        self._service = service.encode()
        self._is_unsigned_payload_allowed = is_unsigned_payload_allowed
        self._is_verbose = is_verbose
        self._repeats = Repeats()
        self._keys: dict[tuple[str, bytes], tuple[bytes, SigningKey]] = {}

    def verify(
        self,
        method: bytes,
        target: bytes,
        headers: Headers,
        body: bytes,
        host: bytes | None = None,
        head: Head | None = None,
    ) -> Credential:
        """The credential that signed this request. `target` is the raw request target; `host` replaces the Host header
        where a trusted proxy reports which host was signed; `head` holds the headers by lower-case name, if none is
        repeated.

        Raises MissingAuthenticationToken (unsigned), IncompleteSignature (malformed, or Version 2), RequestExpired (a
        presigned URL), InvalidClientTokenId (unknown or disabled key, wrong session token), SignatureDoesNotMatch (all
        else, such as a wrong clock)."""
        if head is not None and host is None and target == b"/":
            known = self._repeats.find(head)
            if known is not None and self._is_repeat(known, method, head, body):
                return known.credential
        values = by_name(headers) if head is None else head
        if host is not None:
            values = {**values, b"host": host}
        path, _, query = (target, b"", b"") if target == b"/" else target.partition(b"?")
        authorization = values.get(b"authorization")
        if authorization is None:
            if b"X-Amz-" not in query:
                raise claims.unsigned(query, values, body)
            return self._verify_presigned(method, path, query, values, body)
        if query and b"X-Amz-Signature=" in query:
            raise IncompleteSignature("The request is signed twice, by a header and by the query.")
        claim_text, _, signature = authorization.rpartition(b"Signature=")
        if len(signature) != SIGNATURE_LENGTH or len(claim_text) > CLAIM_BYTES_MAX:
            raise claims.malformed(authorization)
        said = claims.said_in_headers(claim_text, values)
        now_ms = self._clock.now_ms()
        if not -SKEW_MS_MAX <= now_ms - said.stamp.at_ms <= SKEW_MS_MAX:
            raise _off(said.stamp, now_ms)
        token = values.get(b"x-amz-security-token")
        query_line = canonical_query(query_pairs(query)) if query else b""
        target_lines = (method, path if path == b"/" else canonical_path(path), query_line)
        credential, key = self._decide(said, signature, token, target_lines, values, body)
        if head is not None and host is None:
            self._repeats.keep(head, said, credential, key)
        return credential

    def present(self, key_id: str) -> Credential:
        """The key as of now. Raises InvalidClientTokenId when it is unknown or disabled, ServiceUnavailable."""
        credential = self._credentials.find(key_id)
        if credential is None:
            raise InvalidClientTokenId
        return credential

    def _is_repeat(self, known: Accepted, method: bytes, head: Head, body: bytes) -> bool:
        """Whether a request that repeats an accepted one is valid too; if not, it takes the full verification path."""
        return (
            -SKEW_MS_MAX <= self._clock.now_ms() - known.at_ms <= SKEW_MS_MAX
            and self._credentials.find(known.credential.key_id) is known.credential
            and known.is_signed(method, head, body, head[b"authorization"][-SIGNATURE_LENGTH:])
        )

    def _verify_presigned(self, method: bytes, path: bytes, query: bytes, values: Head, body: bytes) -> Credential:
        pairs = query_pairs(query)
        members = claims.members_of_query(pairs)
        if members[b"X-Amz-Algorithm"] != ALGORITHM:
            raise IncompleteSignature("X-Amz-Algorithm must be AWS4-HMAC-SHA256.")
        signature, expires = members[b"X-Amz-Signature"], members[b"X-Amz-Expires"]
        if len(signature) != SIGNATURE_LENGTH:
            raise IncompleteSignature("X-Amz-Signature must be 64 lower-case hexadecimal digits.")
        if not _EXPIRES.fullmatch(expires) or not 1 <= int(expires) <= EXPIRES_S_MAX:
            raise IncompleteSignature(f"X-Amz-Expires must be a number of seconds between 1 and {EXPIRES_S_MAX}.")
        if len(members[b"X-Amz-Credential"]) + len(members[b"X-Amz-SignedHeaders"]) > CLAIM_BYTES_MAX:
            raise IncompleteSignature("X-Amz-Credential and X-Amz-SignedHeaders are too long.")
        claim = claims.claim_of(members[b"X-Amz-Credential"], members[b"X-Amz-SignedHeaders"])
        stamp = claims.stamp_of_iso(members[b"X-Amz-Date"])
        now_ms = self._clock.now_ms()
        if now_ms < stamp.at_ms - SKEW_MS_MAX:
            raise _off(stamp, now_ms)
        if now_ms > stamp.at_ms + int(expires) * 1_000:
            raise RequestExpired("Request has expired: X-Amz-Date plus X-Amz-Expires lies in the past.")
        token = members.get(b"X-Amz-Security-Token", values.get(b"x-amz-security-token"))
        unsigned_query = canonical_query(pair for pair in pairs if pair[0] != b"X-Amz-Signature")
        target_lines = (method, canonical_path(path), unsigned_query)
        return self._decide(claims.said_of(claim, stamp), signature, token, target_lines, values, body)[0]

    def _decide(
        self,
        said: Said,
        signature: bytes,
        token: bytes | None,
        target_lines: tuple[bytes, bytes, bytes],
        values: Head,
        body: bytes,
    ) -> tuple[Credential, SigningKey]:
        claim = said.claim
        payload = self._payload(values, body) if _PAYLOAD in values else hashlib.sha256(body).hexdigest().encode()
        canonical = claim.signed.canonical(target_lines, values, payload)
        to_sign = said.preamble + hashlib.sha256(canonical).hexdigest().encode()
        credential = self._credentials.find(claim.key_id)
        if not said.is_of_day:
            raise self._wrong_scope(claim, said.stamp)
        key = self._signing_key(credential or _NOBODY, said)
        is_equal = hmac.compare_digest(key.sign(to_sign).encode(), signature)
        if credential is None:
            raise InvalidClientTokenId(_NO_SESSIONS) if token else InvalidClientTokenId()
        if not is_equal:
            raise self._mismatch(canonical, to_sign)
        if token is not None or credential.session_token:
            _check_session(credential, token)
        return credential, key

    def _wrong_scope(self, claim: Claim, stamp: Stamp) -> SignatureDoesNotMatch:
        if claim.day != stamp.text[:8]:
            return SignatureDoesNotMatch(
                "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
                f"'{claim.day.decode()}' != '{stamp.text[:8].decode()}', from '{stamp.text.decode()}'."
            )
        if self._region is not None and claim.region != self._region:
            return SignatureDoesNotMatch(f"Credential should be scoped to a valid region: '{self._region.decode()}'.")
        if claim.service != self._service:
            return SignatureDoesNotMatch(f"Credential should be scoped to correct service: '{self._service.decode()}'.")
        return SignatureDoesNotMatch("Credential should be scoped with a valid terminator: 'aws4_request'.")

    def _payload(self, values: Head, body: bytes) -> bytes:
        told = values[_PAYLOAD]
        if told == _UNSIGNED and self._is_unsigned_payload_allowed:
            return _UNSIGNED
        if told == _UNSIGNED or told.startswith(b"STREAMING-"):
            raise SignatureDoesNotMatch("The body must be signed: x-amz-content-sha256 must be its SHA-256.")
        return hashlib.sha256(body).hexdigest().encode()

    def _signing_key(self, credential: Credential, said: Said) -> SigningKey:
        """The signing key for the claim's scope. Cached, so that a scope is checked once per access key; a new secret
        makes a new signing key. Raises SignatureDoesNotMatch when the scope is not one of this server."""
        claim = said.claim
        name = (credential.key_id, claim.scope)
        kept = self._keys.get(name)
        if kept is not None and kept[0] is credential.secret:
            return kept[1]
        is_any_region = self._region is None or claim.region == self._region
        if not (claim.service == self._service and claim.terminator == _TERMINATOR and is_any_region):
            raise self._wrong_scope(claim, said.stamp)
        key = SigningKey(credential.secret, claim.day, claim.region, self._service)
        self._keys.pop(name, None)
        if len(self._keys) >= SIGNING_KEYS_MAX:
            del self._keys[next(iter(self._keys))]
        self._keys[name] = (credential.secret, key)
        return key

    def _mismatch(self, canonical: bytes, to_sign: bytes) -> SignatureDoesNotMatch:
        error = SignatureDoesNotMatch()
        if not self._is_verbose:
            return error
        return SignatureDoesNotMatch(
            f"{error}\n\nThe Canonical String for this request should have been\n'{canonical.decode('latin-1')}'\n\n"
            f"The String-to-Sign should have been\n'{to_sign.decode('latin-1')}'\n"
        )


def _off(stamp: Stamp, now_ms: int) -> SignatureDoesNotMatch:
    """The error for a time too far from this server's, as in SQS: for RequestExpired, Go's SDK corrects no clock."""
    signed, now_s = stamp.text.decode(), now_ms // 1_000
    if now_ms > stamp.at_ms:
        limit = f"{claims.iso_of(now_s - SKEW_S_MAX)} ({claims.iso_of(now_s)} - 15 min.)"
        return SignatureDoesNotMatch(f"Signature expired: {signed} is now earlier than {limit}")
    limit = f"{claims.iso_of(now_s + SKEW_S_MAX)} ({claims.iso_of(now_s)} + 15 min.)"
    return SignatureDoesNotMatch(f"Signature not yet current: {signed} is still later than {limit}")


def _check_session(credential: Credential, token: bytes | None) -> None:
    if not credential.session_token:
        if token is not None:
            raise InvalidClientTokenId(_NO_SESSIONS)
    elif token is None or not hmac.compare_digest(credential.session_token.encode(), token):
        raise InvalidClientTokenId
