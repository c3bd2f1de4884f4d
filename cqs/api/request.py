"""What passes between the HTTP lanes and `dispatch`: raw bytes in both directions, so that signatures are verified over
what was actually received, and so that the two lanes can be compared byte for byte."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

Headers = list[tuple[bytes, bytes]]
Head = Mapping[bytes, bytes]
"""Header values by lower-case name; for a repeated name, the last value."""


def _always() -> bool:
    return True


class Request(msgspec.Struct, frozen=True, gc=False):
    """An HTTP request as received: `target` and `headers` not decoded, the body complete."""

    method: bytes
    target: bytes
    headers: Headers
    body: bytes = b""
    peer: str = ""
    """Address of the client, or of the proxy in front of the server."""
    is_client_there: Callable[[], bool] = _always
    head: Head | None = None
    """What `head_of` would return, if the lane has it and no name is repeated; `headers` may be empty then."""
    is_secure: bool = False
    """Whether this connection uses TLS."""


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The reply. The lane adds Content-Length, Date and Server. If it can't write the reply, it awaits `undelivered`,
    once."""

    status: int
    headers: Headers
    body: bytes
    undelivered: Callable[[], Awaitable[None]] | None = None


def head_of(headers: Headers) -> Head:
    return {name.lower(): value for name, value in headers}
