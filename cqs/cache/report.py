"""What a cache server tells of itself, for people."""

from __future__ import annotations

import msgspec


class ServerReport(msgspec.Struct, frozen=True, kw_only=True):
    """None = the server did not answer."""

    problems: tuple[str, ...] = ()
    """What is wrong with it, in words."""
    version: str = ""
    used_bytes: int | None = None
    """All memory that it uses."""
    budget_bytes: int = 0
    """Above this used memory bodies are not kept any more."""
    keys: int | None = None
    clients: int | None = None
    """Connections to it, from anywhere."""
    is_left_alone: bool = False
    """The breaker is open: calls fail at once, for a while."""
