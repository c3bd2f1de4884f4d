"""A Lua script in the form Redis needs."""

from __future__ import annotations

from hashlib import sha1


class Script:
    """A Lua script and its SHA-1, which EVALSHA takes."""

    __slots__ = ("sha", "text")

    def __init__(self, text: str) -> None:
        self.text = text.encode()
        self.sha = sha1(self.text, usedforsecurity=False).hexdigest().encode()
