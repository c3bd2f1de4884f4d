"""Small scripts that write what nodes note in a server, also in a full one.

A server without memory refuses a script's first write, unless the script begins with a flag, which Redis 6.2 does not
know. A server that can't be noted in may not be used at all; so notes are told apart from messages, which it refuses.
"""

from __future__ import annotations

from cqs.cache.redis.connection import Send
from cqs.cache.redis.replies import Refused, Reply
from cqs.cache.redis.script import Script

_FULL = "OOM"


class Note:
    """A script that writes a few bytes."""

    def __init__(self, text: str) -> None:
        self._plain = Script(text)
        self._when_full = Script(f"#!lua flags=allow-oom\n{text}")

    async def write(self, send: Send, keys: tuple[bytes, ...], *words: bytes | str | int) -> Reply:
        """What the script returns. Raises CacheUnavailable."""
        try:
            return await send(b"EVAL", self._plain.text, len(keys), *keys, *words)
        except Refused as error:
            if _FULL not in str(error):
                raise
        return await send(b"EVAL", self._when_full.text, len(keys), *keys, *words)
