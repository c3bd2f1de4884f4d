"""Every key of CQS must expire: checks the keys that a test has left behind."""

from __future__ import annotations

from typing import cast

import redis

from cqs.cache.redis.keys import SERVER_KEYS, SHARD_KEYS

_NO_EXPIRY = -1
_NAMES = {name.encode() for name in SHARD_KEYS}


def check(server: redis.Redis) -> None:
    """Fails if a key has no expiry or is not listed in `keys.py`."""
    found = cast("list[bytes]", server.keys())
    leaked = [key for key in found if server.pttl(key) == _NO_EXPIRY]
    unknown = [key for key in found if not is_known(key)]
    assert not leaked, f"keys without an expiry: {leaked}"
    assert not unknown, f"keys that keys.py does not list: {unknown}"


def is_known(key: bytes) -> bool:
    if key in SERVER_KEYS:
        return True
    tag, _, name = key.partition(b"}:")
    return tag.startswith(b"cqs:{") and (name in _NAMES or name.startswith(b"attempt:"))
