"""What a cache server reports about itself, for people."""

from __future__ import annotations

import msgspec


class ServerReport(msgspec.Struct, frozen=True, kw_only=True):
    """None = the server did not answer."""

    problems: tuple[str, ...] = ()
    """What is wrong with the server, in words."""
    version: str = ""
    used_bytes: int | None = None
    """All memory the server uses."""
    budget_bytes: int = 0
    """Used memory above which bodies are no longer kept."""
    keys: int | None = None
    clients: int | None = None
    """Connections to the server, from anywhere."""
    is_left_alone: bool = False
    """The circuit breaker is open: calls fail at once for a while."""
