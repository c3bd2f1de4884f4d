"""The signing key for one day, region and service, and the signatures made with it.

    day, region, service, "aws4_request"  ─ HMAC, each keyed by the previous result ─► 32 bytes

    HMAC = SHA-256(key ^ outer ‖ SHA-256(key ^ inner ‖ text))
                   └ one block         └ one block: both hashed once, then copied for each signature

This halves the cost of a signature compared with `hmac.digest`; a test checks that both give the same results.
"""

from __future__ import annotations

import hashlib
import hmac

_BLOCK_BYTES = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


class SigningKey:
    """Signs texts. Its `repr` does not reveal the key."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, secret: bytes, day: bytes, region: bytes, service: bytes) -> None:
        key = b"AWS4" + secret
        for part in (day, region, service, b"aws4_request"):
            key = hmac.digest(key, part, "sha256")
        block = key.ljust(_BLOCK_BYTES, b"\0")
        self._inner = hashlib.sha256(block.translate(_INNER))
        self._outer = hashlib.sha256(block.translate(_OUTER))

    def sign(self, text: bytes) -> str:
        """64 hexadecimal digits."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(text)
        outer.update(inner.digest())
        return outer.hexdigest()
