"""Receipt handles: they fence a lease, are opaque to clients, and are authenticated.

    ┌─────────────┬───────────────┬────────────────────┬───────────────────┬──────────┐
    │ address 16  │ queue uid 6   │ receive number 7   │ received (ms) 6   │ MAC 10   │   45 bytes, base64
    └─────────────┴───────────────┴────────────────────┴───────────────────┴──────────┘

The receive number is new for each receive and never repeats within a shard, so the cache can tell the current lease
from earlier ones. The MAC (keyed BLAKE2b, one key for the whole cluster) invalidates handles of other queues or
clusters and handles with flipped bits. Handles are not secret, only unforgeable.
"""

from __future__ import annotations

import hashlib
import hmac
from binascii import Error, a2b_base64, b2a_base64
from typing import NamedTuple

_MAC_BYTES = 10
_NUMBERS_START_MS = 1_577_836_800_000
_NUMBERS_SHIFT = 21
_BYTES = 16 + 6 + 7 + 6 + _MAC_BYTES
TEXT_LENGTH = _BYTES // 3 * 4


def first_receive_number(now_ms: int) -> int:
    """Where receive numbers given out from now on begin: seconds since 2020, shifted. Fits in 53 bits, so that Lua can
    count it, and exceeds every earlier number unless more than 2,000,000 a second were given out."""
    return max(0, now_ms - _NUMBERS_START_MS) // 1_000 << _NUMBERS_SHIFT


class Receipt(NamedTuple):
    """The content of a handle."""

    address: int
    queue_uid: int
    receive_number: int
    received_ms: int


class Receipts:
    """Writes and reads handles with the cluster's key (16 to 64 bytes)."""

    def __init__(self, key: bytes) -> None:
        self._keyed = hashlib.blake2b(key=key, digest_size=_MAC_BYTES)

    def write(self, receipt: Receipt) -> str:
        plain = (
            receipt.address << 152 | receipt.queue_uid << 104 | receipt.receive_number << 48 | receipt.received_ms
        ).to_bytes(_BYTES - _MAC_BYTES, "big")
        return b2a_base64(plain + self._mac(plain), newline=False).decode()

    def read(self, handle: str, queue_uid: int) -> Receipt | None:
        """The content of the handle, or None if this cluster did not issue it for this queue."""
        if len(handle) != TEXT_LENGTH or not handle.isascii():
            return None
        try:
            raw = a2b_base64(handle, strict_mode=True)
        except (Error, ValueError):
            return None
        if len(raw) != _BYTES:
            return None
        plain = raw[:-_MAC_BYTES]
        if not hmac.compare_digest(raw[-_MAC_BYTES:], self._mac(plain)):
            return None
        number = int.from_bytes(plain, "big")
        receipt = Receipt(
            number >> 152, number >> 104 & (1 << 48) - 1, number >> 48 & (1 << 56) - 1, number & (1 << 48) - 1
        )
        return receipt if receipt.queue_uid == queue_uid else None

    def _mac(self, plain: bytes) -> bytes:
        mac = self._keyed.copy()
        mac.update(plain)
        return mac.digest()
