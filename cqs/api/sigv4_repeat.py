"""What a request shares with its client's last accepted request, and so need not be verified again.

    same claim, same X-Amz-Date, same header names       →  scope, day, and which headers are signed are unchanged
    the very same credential                             →  so is the signing key
    the clock, the body, the signed values, the signature:  verified every time

This shortcut can only accept. Anything that differs (including a wrong signature) takes the full verification path,
which makes all refusals. A client may make thousands of calls in a second, and the full path takes a quarter longer.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import NamedTuple

from cqs.api.request import Head
from cqs.api.sigv4_canonical import SignedHeaders
from cqs.api.sigv4_claim import Said
from cqs.api.sigv4_key import SigningKey
from cqs.identity import Credential

KEPT_MAX = 1_024
SIGNATURE_LENGTH = 64
_TARGET = b"/", b""
"""Path and query of a repeat."""


class Accepted(NamedTuple):
    """A request that was accepted. `names` are those of all its headers, in order."""

    date: bytes
    at_ms: int
    preamble: bytes
    signed: SignedHeaders
    names: tuple[bytes, ...]
    credential: Credential
    key: SigningKey

    def is_signed(self, method: bytes, head: Head, body: bytes, signature: bytes) -> bool:
        """Whether this is the signature of a request with these headers and this body."""
        payload = hashlib.sha256(body).hexdigest().encode()
        canonical = self.signed.canonical_of_known(method, *_TARGET, head, payload)
        to_sign = self.preamble + hashlib.sha256(canonical).hexdigest().encode()
        return hmac.compare_digest(self.key.sign(to_sign).encode(), signature)


class Repeats:
    """The last accepted request of each client, by its Authorization header without the signature."""

    def __init__(self) -> None:
        self._accepted: dict[bytes, Accepted] = {}

    def find(self, head: Head) -> Accepted | None:
        """The accepted request, if this one repeats everything that `Accepted` records."""
        known = self._accepted.get(head.get(b"authorization", b"")[:-SIGNATURE_LENGTH])
        if known is None or known.date != head.get(b"x-amz-date") or known.names != tuple(head):
            return None
        return known

    def keep(self, head: Head, said: Said, credential: Credential, key: SigningKey) -> None:
        """Records an accepted request. Requests with a session token are not recorded, because the token is checked
        every time."""
        date = head.get(b"x-amz-date")
        if date is None or credential.session_token or b"x-amz-security-token" in head:
            return
        if len(self._accepted) >= KEPT_MAX:
            self._accepted.clear()
        name = head[b"authorization"][:-SIGNATURE_LENGTH]
        signed = said.claim.signed
        self._accepted[name] = Accepted(date, said.stamp.at_ms, said.preamble, signed, tuple(head), credential, key)
